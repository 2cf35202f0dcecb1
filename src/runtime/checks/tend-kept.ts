/**
 * Bounds what is kept of checks (`kept-checks.ts`). Each tree, command and set of packages adds a file and nothing else ever
 * takes one away; what goes is found out again by running the check.
 */
import { join } from 'node:path'
import type { Context } from '../core/context.ts'
import { keptFolder } from './kept-checks.ts'

const mostMs = 14 * 24 * 3_600_000
const mostBytes = 16 * 1024 ** 2
/** A small file takes a whole one. */
const blockBytes = 4096

interface KeptFile {
  path: string
  bytes: number
  writtenAt: number
}

type Place = Pick<Context, 'ports' | 'stateDir' | 'clock'>

const newestFirst = ({ ports: { files }, stateDir }: Place): KeptFile[] => {
  const folder = keptFolder(stateDir)
  const names = files.existsSync(folder) ? files.readdirSync(folder) : []
  return names
    .map((name) => {
      const path = join(folder, name)
      const { mtimeMs, size } = files.statSync(path)
      return { path, bytes: Math.max(1, Math.ceil(size / blockBytes)) * blockBytes, writtenAt: mtimeMs }
    })
    .sort((one, other) => other.writtenAt - one.writtenAt)
}

/** What is too old, or beyond the room that there is for all. */
const beyondBounds = (place: Place): KeptFile[] => {
  const now = place.clock.now().getTime()
  let room = mostBytes
  return newestFirst(place).filter(({ bytes, writtenAt }) => {
    room -= bytes
    return room < 0 || now - writtenAt > mostMs
  })
}

export const keptTooLong = 'they are older than 14 days, or newer ones fill the 16 MB that there are for them'

/** Removes what is beyond the bounds, or all of it; `count` and `bytes` say what went, or with `dryRun` would. */
export const dropKept = (place: Place, how: { all: boolean; dryRun: boolean }): { count: number; bytes: number } => {
  const found = how.all ? newestFirst(place) : beyondBounds(place)
  if (!how.dryRun) for (const { path } of found) place.ports.files.rmSync(path, { recursive: true, force: true })
  return { count: found.length, bytes: found.reduce((sum, { bytes }) => sum + bytes, 0) }
}
