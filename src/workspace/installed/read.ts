/** Bounded reads of what may be an agent's: never through a link, never a pipe, never without an end. */
import { lstat, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const maxBytes = 64 * 1024 * 1024
/** How many files are asked for at once. */
const atOnce = 64

export const textOf = async (path: string, limit = maxBytes): Promise<string | undefined> => {
  const found = await lstat(path).catch(() => undefined)
  return found?.isFile() === true && found.size <= limit ? readFile(path, 'utf8').catch(() => undefined) : undefined
}

export const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() === true

/** `inside` relative to `root`: undefined where any step of the way is not a plain folder. */
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

export const namesIn = async (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

export const parsed = (text: string | undefined): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // a manifest or marker cut in half says nothing
  }
}

export const recordAt = (value: Record<string, unknown>, key: string): Record<string, Record<string, unknown>> => {
  const { [key]: found } = value
  return typeof found === 'object' && found !== null ? (found as Record<string, Record<string, unknown>>) : {}
}

export const filterAsync = async <T>(items: readonly T[], holds: (item: T) => Promise<boolean>): Promise<T[]> => {
  const found: T[] = []
  for (let at = 0; at < items.length; at += atOnce) {
    const part = items.slice(at, at + atOnce)
    const kept = await Promise.all(part.map(holds))
    found.push(...part.filter((_, index) => kept[index] === true))
  }
  return found
}

/** How a tree holds against its lockfile. `unclear`: something could not be told, so that the tree is not called the same. */
export interface Held {
  differences: string[]
  unclear?: boolean
}

export const stateOf = ({ differences, unclear }: Held): 'same' | 'differs' | 'unknown' => {
  if (differences.length > 0) return 'differs'
  return unclear === true ? 'unknown' : 'same'
}

/**
 * Wanted direct dependencies of one project and one kind. Where all of them are missing and nothing shows that the tree is an
 * old one, somebody left them out on purpose (`--production`, one package of many), and that is no difference.
 */
export const leftOut = (wanted: number, missing: number, old: number): boolean => missing === wanted && old === 0
