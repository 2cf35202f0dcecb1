/**
 * Files of the owner's checkout that git ignores, and their copies in a clone: those that `.worktreeinclude` names, and those that a
 * check was found to miss. Nothing that the clone has is replaced.
 */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import { copyFiles } from './copy-files.ts'
import { copyTree } from './copy-tree.ts'
import { settleLinks } from './copy-installed.ts'
import { diskUsageOf } from './disk-usage.ts'
import { fieldsOf, git, type GitOptions } from './git.ts'
import type { Repository } from './repository-types.ts'

/** As other tools read it: patterns in the syntax of .gitignore for ignored files that a further worktree needs as well. */
export const includeFile = '.worktreeinclude'

/** More names would make a failure message match by accident. */
const mostEntries = 20_000
/** Of one folder. A larger one is data, which its owner has to name. */
const mostBytes = 256 * 1024 * 1024

const inCheckout = ({ root }: Repository): GitOptions => ({
  cwd: root,
  owner: 'user',
  okCodes: [0, 128],
  variables: { GIT_LITERAL_PATHSPECS: '0' },
})

/** Ignored entries of the checkout; a folder of which everything is ignored is one entry, with a slash at its end. */
export const ignoredEntries = async (repository: Repository): Promise<string[]> => {
  if (repository.commonDir === null) return []
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  return fieldsOf((await git(args, inCheckout(repository))).stdout).slice(0, mostEntries)
}

/** The ignored plain files that the owner's `.worktreeinclude` names. */
export const includedFiles = async (repository: Repository): Promise<string[]> => {
  if (repository.commonDir === null) return []
  if ((await lstatInside(repository.root, includeFile))?.isFile() !== true) return []
  const list = async (...patterns: string[]): Promise<string[]> =>
    fieldsOf((await git(['ls-files', '--others', '--ignored', '-z', ...patterns], inCheckout(repository))).stdout)
  const [named, ignored] = await Promise.all([list(`--exclude-from=${includeFile}`), list('--exclude-standard')])
  const both = new Set(ignored)
  const files: string[] = []
  for (const path of named.filter((each) => both.has(each)).slice(0, mostEntries))
    if ((await lstatInside(repository.root, path))?.isFile() === true) files.push(path)
  return files
}

const layFolder = async (repository: Repository, workspace: string, path: string): Promise<string | undefined> => {
  const from = join(repository.root, path)
  if ((await diskUsageOf(from)) > mostBytes) return `${path} is larger than ${mostBytes / 1024 ** 2} MiB`
  await mkdir(dirname(join(workspace, path)), { recursive: true })
  await copyTree(from, join(workspace, path))
  await settleLinks(join(workspace, path), '', { userRoot: repository.root, place: path, notes: [] })
  return undefined
}

/** Copies files and folders into the clone. Stops at the first that cannot be copied and returns the reason as `problem`. */
export const layOwnersFiles = async (request: {
  repository: Repository
  workspace: string
  paths: readonly string[]
}): Promise<{ problem?: string }> => {
  const { repository, workspace, paths } = request
  for (const path of paths) {
    if ((await lstat(join(workspace, path)).catch(() => undefined)) !== undefined) continue
    const found = await lstatInside(repository.root, path)
    if (found === undefined) return { problem: `${path} is no longer in the checkout` }
    const problem = found.isDirectory()
      ? await layFolder(repository, workspace, path)
      : (await copyFiles({ repository, workspace, names: [path] })).problem
    if (problem !== undefined) return { problem }
  }
  return {}
}
