/** Disk usage of a folder. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes on disk that a folder uses; symlinks are not followed. */
export const diskUsageOf = async (path: string): Promise<number> => {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return 0
  const own = found.blocks * 512
  if (!found.isDirectory()) return own
  let sum = own
  for (const name of await readdir(path).catch(() => [])) sum += await diskUsageOf(join(path, name))
  return sum
}
