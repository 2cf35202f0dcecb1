/**
 * Opens the folder that work starts from. Opening only reads. A folder without a repository is a valid result (direct mode). A
 * path from which no work can start is an error that says what to use instead.
 */
import { createHash } from 'node:crypto'
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../errors.ts'
import { shellQuoted } from '../recovery/command/replacement.ts'
import type { Repository } from './repository-types.ts'
import { git } from './git.ts'

/** `<basename>-<12 hex>`. Equal for all worktrees of one repository, because it is derived from the common directory. */
export const repositoryId = (place: { commonDir: string | null; root: string }): string => {
  const hashed = place.commonDir ?? place.root
  const named = place.commonDir === null || basename(place.commonDir) !== '.git' ? hashed : dirname(hashed)
  const name = basename(named, '.git')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
  return `${name.slice(0, 60) || 'root'}-${createHash('sha256').update(hashed).digest('hex').slice(0, 12)}`
}

const exists = async (path: string): Promise<boolean> => {
  try {
    await lstat(path)
    return true
  } catch {
    return false // a path that cannot be read does not count as a repository
  }
}

const hasRepositoryAbove = async (folder: string): Promise<boolean> => {
  // git ignores a folder named .git without HEAD.
  const git = await lstat(join(folder, '.git')).catch(() => undefined)
  if (git?.isFile() === true || (await exists(join(folder, '.git', 'HEAD')))) return true
  const parent = dirname(folder)
  return parent === folder ? false : hasRepositoryAbove(parent)
}

const folderOf = async (path: string): Promise<string> => {
  const absolute = resolve(path)
  const found = await stat(absolute).catch(() => undefined)
  if (found === undefined)
    throw new AppError('DIRECTORY_MISSING', `${absolute} does not exist; give the folder of a repository`)
  if (!found.isDirectory())
    throw new AppError('INPUT_INVALID', `${absolute} is not a folder; give the folder of a repository`)
  return realpath(absolute)
}

const plainFolder = (root: string): Repository => ({
  root,
  commonDir: null,
  id: repositoryId({ commonDir: null, root }),
  branch: null,
  head: null,
})

const ask = async (folder: string, args: string[]): Promise<string | null> => {
  // Only here git searches upwards for a repository, because the user may be in a sub-folder.
  const options = {
    cwd: folder,
    owner: 'user',
    okCodes: [0, 1, 128],
    variables: { GIT_CEILING_DIRECTORIES: '' },
  } as const
  const { code, stdout } = await git(args, { ...options, okCodes: [...options.okCodes] })
  return code === 0 ? stdout.replace(/\n$/, '') : null
}

const refuse = async (folder: string): Promise<Repository> => {
  if (!(await hasRepositoryAbove(folder))) return plainFolder(folder)
  const options = { cwd: folder, owner: 'user', okCodes: [0, 128], variables: { GIT_CEILING_DIRECTORIES: '' } } as const
  const { stderr } = await git(['rev-parse', '--git-dir'], { ...options, okCodes: [...options.okCodes] })
  if (stderr.includes('dubious ownership'))
    throw new AppError(
      'REPOSITORY_STATE',
      `the repository ${folder} belongs to another user, and git opens it only for that user. If you trust what is in it: git config --global --add safe.directory ${shellQuoted(folder)}`,
    )
  throw new AppError('REPOSITORY_STATE', `git cannot open the repository of ${folder}: ${stderr.trim().slice(0, 500)}`)
}

/** Each of these is a start of git, so they are asked for together; a path with a line break in it makes them ask one by one. */
const placesOf = async (
  folder: string,
): Promise<{ bare: string; common: string | null; top: string | null } | null> => {
  const together = await ask(folder, ['rev-parse', '--is-bare-repository', '--git-common-dir', '--show-toplevel'])
  const [bare, common, top, ...more] = together?.split('\n') ?? []
  if (bare !== undefined && common !== undefined && top !== undefined && more.length === 0) return { bare, common, top }
  const isBare = await ask(folder, ['rev-parse', '--is-bare-repository'])
  if (isBare === null) return null
  return {
    bare: isBare,
    common: await ask(folder, ['rev-parse', '--git-common-dir']),
    top: await ask(folder, ['rev-parse', '--show-toplevel']),
  }
}

/** Both are null before the first commit. */
const headOf = async (folder: string): Promise<{ branch: string | null; head: string | null }> => {
  const found = await ask(folder, ['rev-parse', 'HEAD^{commit}', '--symbolic-full-name', 'HEAD'])
  const [head = null, name = ''] = found?.split('\n') ?? []
  return { head, branch: name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null }
}

/** Opens the repository that contains `path` (also from a sub-folder or a linked worktree), else the plain folder itself. */
export const openRepository = async (path: string): Promise<Repository> => {
  const folder = await folderOf(path)
  const places = await placesOf(folder)
  if (places === null) return refuse(folder)
  const { bare, common, top } = places
  if (bare === 'true' || top === null || top === '') {
    throw new AppError('NOT_A_REPOSITORY', `${folder} is a bare repository or lies inside .git; give a checkout of it`)
  }
  const root = await realpath(top)
  if (folder !== root && !folder.startsWith(root === '/' ? '/' : `${root}/`)) {
    throw new AppError(
      'REPOSITORY_STATE',
      `The files of the repository of ${folder} are in ${root} (core.worktree); start from there`,
    )
  }
  const commonDir = await realpath(resolve(folder, common ?? '.git'))
  return { root, commonDir, id: repositoryId({ commonDir, root }), ...(await headOf(folder)) }
}

/**
 * The main worktree of the repository, for a linked one: it has the owner's settings and packages, and one engine serves all worktrees. A
 * repository without one (bare, with linked worktrees only) is returned as it is.
 */
export const mainWorktree = async (repository: Repository): Promise<Repository> => {
  const { commonDir, root } = repository
  if (commonDir === null || basename(commonDir) !== '.git' || dirname(commonDir) === root) return repository
  try {
    const main = await openRepository(dirname(commonDir))
    return main.commonDir === commonDir ? main : repository
  } catch (error) {
    if (error instanceof AppError) return repository
    throw error
  }
}

/** Hash function of the repository's objects. A clone or shadow that shares objects must use the same. */
export const objectFormatOf = async (repository: Repository): Promise<'sha1' | 'sha256'> => {
  if (repository.commonDir === null) return 'sha1'
  const found = await git(['rev-parse', '--show-object-format'], { cwd: repository.root, owner: 'user' })
  return found.stdout.trim() === 'sha256' ? 'sha256' : 'sha1'
}

/** The common directory. Throws NOT_A_REPOSITORY for a plain folder. */
export const commonDirOf = (repository: Repository): string => {
  if (repository.commonDir !== null) return repository.commonDir
  throw new AppError(
    'NOT_A_REPOSITORY',
    `${repository.root} is not a git repository; run "git init" there or use the direct mode`,
  )
}
