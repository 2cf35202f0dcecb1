/** Bounded reads of files that an agent may have written: never through a symlink, never from a pipe. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularText } from '../../platform/regular-file.ts'

const maxBytes = 64 * 1024 * 1024
/** How many files are checked concurrently. */
const atOnce = 64

export const boundedText = (path: string, limit = maxBytes): Promise<string | undefined> =>
  readRegularText(path, { most: limit, noLink: true }).catch(() => undefined)

export const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() === true

/** The folder `inside`, relative to `root`; undefined = some part of the path is not a plain folder. */
export const folderBelow = async (root: string, inside: string): Promise<string | undefined> => {
  let path = root
  for (const step of inside.split('/')) {
    path = join(path, step)
    if (!(await isFolder(path))) return undefined
  }
  return path
}

export const hasBytes = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined)
  return found !== undefined && (found.isSymbolicLink() || found.size > 0)
}

export const entryNames = async (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

export const parsedRecord = (text: string | undefined): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // a truncated manifest or marker counts as empty
  }
}

export const recordAt = (value: Record<string, unknown>, key: string): Record<string, Record<string, unknown>> => {
  const { [key]: found } = value
  return typeof found === 'object' && found !== null ? (found as Record<string, Record<string, unknown>>) : {}
}

export const filterConcurrently = async <T>(
  items: readonly T[],
  holds: (item: T) => Promise<boolean>,
): Promise<T[]> => {
  const found: T[] = []
  for (let at = 0; at < items.length; at += atOnce) {
    const part = items.slice(at, at + atOnce)
    const kept = await Promise.all(part.map(holds))
    found.push(...part.filter((_, index) => kept[index] === true))
  }
  return found
}

/** A tree compared with its lockfile. `unclear`: some part could not be compared, so the tree does not count as equal. */
export interface TreeComparison {
  differences: string[]
  unclear?: boolean
}

export const treeStateOf = ({ differences, unclear }: TreeComparison): 'same' | 'differs' | 'unknown' => {
  if (differences.length > 0) return 'differs'
  return unclear === true ? 'unknown' : 'same'
}

/**
 * Whether the direct dependencies of one kind were left out on purpose (`--production`, one package of many): all of them are
 * missing, and no old version is installed. Then they do not count as differences.
 */
export const wasLeftOut = (wanted: number, missing: number, old: number): boolean => missing === wanted && old === 0
