/** Reads the kernel's files below /proc and /sys, the source of this folder's facts on Linux. */
import { readFileSync } from 'node:fs'

export const isLinux = process.platform === 'linux'

export const readOrUndefined = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // the process ended meanwhile, or belongs to another user
  }
}
