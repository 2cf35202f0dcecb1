/** The facts about a denial that a correction needs: which existing directory it was about, and whether that is allowed. */
import { dirname, isAbsolute, join, sep } from 'node:path'
import type { Denial } from '../harness/driver.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'
import type { Files } from './files.ts'

type Looks = Pick<Files, 'realpathSync' | 'statSync'>

const real = (files: Looks, path: string): string | undefined => {
  try {
    return files.realpathSync(path)
  } catch {
    return undefined // does not exist (any more)
  }
}

const inside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** The nearest existing folder at or above a path, as realpath: a symlink out of an allowed directory is no way in. */
export const existingDirectory = (files: Looks, path: string): string | undefined => {
  let candidate = path
  for (;;) {
    const found = real(files, candidate)
    if (found !== undefined) return files.statSync(found).isDirectory() ? found : dirname(found)
    const parent = dirname(candidate)
    if (parent === candidate) return undefined
    candidate = parent
  }
}

/** Directories as realpaths; one that does not exist allows nothing. */
export const realDirectories = (files: Looks, paths: readonly string[]): string[] =>
  paths.flatMap((path) => real(files, path) ?? [])

/** `allowed` holds realpaths. */
export const observeDenial = (
  files: Looks,
  denial: Denial,
  { workTree, allowed }: { workTree: string; allowed: readonly string[] },
): ObservedDenial => {
  const { callId: _callId, ...facts } = denial
  if (denial.kind !== 'scope' || denial.target === undefined) return facts
  const target = isAbsolute(denial.target) ? denial.target : join(workTree, denial.target)
  const directory = existingDirectory(files, target)
  if (directory === undefined) return facts
  const workspace = real(files, workTree)
  // Inside the workspace the path is allowed already: the mode is the problem, and no directory cures that.
  if (workspace !== undefined && inside(directory, workspace)) return { ...facts, kind: 'tool' }
  const allowedBy = allowed.find((root) => inside(directory, root))
  return { ...facts, directory, ...(allowedBy === undefined ? {} : { allowedBy }) }
}
