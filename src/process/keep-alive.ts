/**
 * How long the engine has been silent, as the shim observes it. Only a change of the keep-alive file counts, measured with a
 * monotonic clock. The file's timestamp is compared but never interpreted, so a jump of the wall clock neither ends an
 * agent nor keeps it running.
 */
import { statSync } from 'node:fs'
import { readRegularSync } from '../platform/regular-file.ts'

const readableBytes = 4096

const stateOf = (path: string): string | undefined => {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true })
    return `${mtimeNs} ${size} ${ino} ${size <= readableBytes ? readRegularSync(path).toString('latin1') : ''}`
  } catch {
    return undefined // absent is no change, so the last known state stays
  }
}

export interface KeepAliveWatch {
  silentMs(): number
}

export const watchKeepAlive = (path: string, now: () => number): KeepAliveWatch => {
  let known = stateOf(path)
  let changedAt = now()
  return {
    silentMs() {
      const latest = stateOf(path)
      if (latest !== undefined && latest !== known) {
        known = latest
        changedAt = now()
      }
      return now() - changedAt
    },
  }
}
