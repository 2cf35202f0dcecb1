import { lstat } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import { join } from 'node:path'

/** `lstat` of a path whose parents are real folders; undefined if the path is missing or behind a symlink. */
export const lstatInside = async (root: string, path: string): Promise<Stats | undefined> => {
  const parts = path.split('/')
  let at = root
  for (const [index, part] of parts.entries()) {
    at = join(at, part)
    const found = await lstat(at).catch(() => undefined)
    if (found === undefined || index === parts.length - 1) return found
    if (!found.isDirectory()) return undefined
  }
  return undefined
}
