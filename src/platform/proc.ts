/** How the facts of this folder are read: on Linux from the files below /proc and /sys. */
import { readFileSync } from 'node:fs'

export const linux = process.platform === 'linux'

export const readOrUndefined = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // the process ended between listing and reading, or is not ours to read
  }
}
