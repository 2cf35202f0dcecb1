/**
 * Files of the owner's checkout that git ignores, and their copies in a clone: those that `.worktreeinclude` names, and those that a
 * check was found to miss. Nothing that the clone has is replaced.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { isSecretFile } from '../recovery/probes/absent-files.ts'
import { lstatInside } from './lstat-inside.ts'
import { copyFiles } from './copy-files.ts'
import { fieldsOf, git, type GitOptions } from './git.ts'
import type { Repository } from './repository-types.ts'

/** As other tools read it: patterns in the syntax of .gitignore for ignored files that a further worktree needs as well. */
export const includeFile = '.worktreeinclude'

/** More names would make a failure message match by accident. */
const mostEntries = 20_000
/** Of one folder. A larger one is data, which its owner has to name. */
const mostBytes = 256 * 1024 * 1024
const mostFiles = 5_000

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

/** The plain files of an ignored folder, without secrets: nobody named these. A text = why it is not copied. */
const filesIn = async (repository: Repository, folder: string): Promise<string[] | string> => {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '-z', '--', folder]
  const variables = { GIT_LITERAL_PATHSPECS: '1' }
  const listed = fieldsOf((await git(args, { ...inCheckout(repository), variables })).stdout)
  if (listed.length > mostFiles) return `${folder} has more than ${mostFiles} files`
  const files: string[] = []
  let bytes = 0
  for (const path of listed) {
    const found = await lstatInside(repository.root, path)
    if (found?.isFile() !== true || isSecretFile(path)) continue
    bytes += found.size
    if (bytes > mostBytes) return `${folder} is larger than ${mostBytes / 1024 ** 2} MiB`
    files.push(path)
  }
  return files
}

/** For one git command line. */
const atOnce = 500

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

const layFiles = async (
  repository: Repository,
  workspace: string,
  files: readonly string[],
): Promise<string | undefined> => {
  const absent: string[] = []
  for (const path of files) if (!(await isThere(join(workspace, path)))) absent.push(path)
  for (let at = 0; at < absent.length; at += atOnce) {
    const { problem } = await copyFiles({ repository, workspace, names: absent.slice(at, at + atOnce) })
    if (problem !== undefined) return problem
  }
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
    const found = await lstatInside(repository.root, path)
    if (found === undefined) return { problem: `${path} is no longer in the checkout` }
    const files = found.isDirectory() ? await filesIn(repository, path) : [path]
    const problem = typeof files === 'string' ? files : await layFiles(repository, workspace, files)
    if (problem !== undefined) return { problem }
  }
  return {}
}
