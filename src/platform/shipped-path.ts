/** Files that are shipped with the package. The compiled program lies deeper in it than its source. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Undefined = the installation is incomplete. */
export const shippedPath = (exists: (path: string) => boolean, ...parts: string[]): string | undefined => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, ...parts)
    if (exists(path)) return path
  }
  return undefined
}
