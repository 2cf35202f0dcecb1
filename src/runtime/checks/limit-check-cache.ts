/**
 * Limits the cache of check results (`check-cache.ts`), which grows by a file for each tree, command and set of packages. A removed
 * result costs one more run of its check.
 */
import { join } from 'node:path'
import type { Context } from '../core/context.ts'
import { checkCacheFolder } from './check-cache.ts'

const mostMs = 14 * 24 * 3_600_000
const mostBytes = 16 * 1024 ** 2
/** Bytes of a file system block, which the smallest file occupies. */
const blockBytes = 4096

interface KeptFile {
  path: string
  bytes: number
  writtenAt: number
}

type Place = Pick<Context, 'ports' | 'stateDir' | 'clock'>

const newestFirst = ({ ports: { files }, stateDir }: Place): KeptFile[] => {
  const folder = checkCacheFolder(stateDir)
  const names = files.existsSync(folder) ? files.readdirSync(folder) : []
  return names
    .map((name) => {
      const path = join(folder, name)
      const { mtimeMs, size } = files.statSync(path)
      return { path, bytes: Math.max(1, Math.ceil(size / blockBytes)) * blockBytes, writtenAt: mtimeMs }
    })
    .sort((one, other) => other.writtenAt - one.writtenAt)
}

/** Files that are too old, or that exceed the space for all of them; the newest are kept. */
const beyondBounds = (place: Place): KeptFile[] => {
  const now = place.clock.now().getTime()
  let room = mostBytes
  return newestFirst(place).filter(({ bytes, writtenAt }) => {
    room -= bytes
    return room < 0 || now - writtenAt > mostMs
  })
}

export const cacheLimitReason = 'they are older than 14 days, or newer results fill the 16 MB of this cache'

/** Removes the files beyond the limits, or all. Returns how many were removed, or with `dryRun` would be. */
export const dropCachedChecks = (
  place: Place,
  how: { all: boolean; dryRun: boolean },
): { count: number; bytes: number } => {
  const found = how.all ? newestFirst(place) : beyondBounds(place)
  if (!how.dryRun) for (const { path } of found) place.ports.files.rmSync(path, { recursive: true, force: true })
  return { count: found.length, bytes: found.reduce((sum, { bytes }) => sum + bytes, 0) }
}
