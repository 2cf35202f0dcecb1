/**
 * Copies the owner's untracked files into a fresh clone, by exact name. Only plain files inside the repository are read, only
 * paths that git does not track are written, and no symlink is followed on either side.
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, realpath } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import type { Repository } from './repository-types.ts'
import { fieldsOf, git } from './git.ts'

export interface CopyRequest {
  /** Source of the files. */
  repository: Repository
  /** A fresh clone, in which no agent has worked yet. */
  workspace: string
  names: readonly string[]
}

/** Why the file cannot be copied; undefined = it can. */
const trouble = async (root: string, name: string): Promise<string | undefined> => {
  const found = await lstatInside(root, name)
  if (found === undefined) return `${join(root, name)} does not exist`
  if (found.isSymbolicLink()) return `${name} is a link; only plain files can be copied`
  if (!found.isFile()) return `${name} is not a plain file`
  // On a file system that ignores case, another spelling may lead into `.git`.
  const real = await realpath(join(root, name))
  return real.startsWith(root + sep) && !real.slice(root.length).toLowerCase().includes(`${sep}.git${sep}`)
    ? undefined
    : `${name} leads out of the repository`
}

/** Copies the files in order. Stops at the first one that cannot be copied and returns the reason as `problem`. */
export const copyFiles = async ({ repository, workspace, names }: CopyRequest): Promise<{ problem?: string }> => {
  if (names.length === 0) return {}
  const place = { cwd: workspace, gitDir: join(workspace, '.git'), workTree: workspace }
  const tracked = new Set(fieldsOf((await git(['ls-files', '-z', '--', ...names], place)).stdout))
  for (const name of names) {
    const problem = tracked.has(name)
      ? `git tracks ${name}, so the workspace already has the committed version`
      : await trouble(repository.root, name)
    if (problem !== undefined) return { problem }
    const to = join(workspace, name)
    await mkdir(dirname(to), { recursive: true })
    if ((await realpath(dirname(to))) !== join(await realpath(workspace), dirname(name)))
      return { problem: `${name} lies behind a link in the commit` }
    await copyFile(join(repository.root, name), to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  }
  return {}
}
