/**
 * How long the engine has been silent, seen from the shim. Only a change of the keep-alive file counts and only the
 * given clock (a monotonic one) measures: what time the file claims to be from is compared, never read as a time, so a
 * wall clock that jumps neither ends an agent nor keeps it alive.
 */
import { readFileSync, statSync } from 'node:fs'

const readableBytes = 4096

const look = (path: string): string | undefined => {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true })
    return `${mtimeNs} ${size} ${ino} ${size <= readableBytes ? readFileSync(path, 'latin1') : ''}`
  } catch {
    return undefined // absent: not a sign of life, so whatever was seen last stays
  }
}

export interface Pulse {
  silentMs(): number
}

export const createPulse = (path: string, now: () => number): Pulse => {
  let seen = look(path)
  let changedAt = now()
  return {
    silentMs() {
      const latest = look(path)
      if (latest !== undefined && latest !== seen) {
        seen = latest
        changedAt = now()
      }
      return now() - changedAt
    },
  }
}
