/** What tells a git directory from another one that was made later at the same path. */
import { stat } from 'node:fs/promises'
import type { Repository } from './contract.ts'

/**
 * Inode and time of birth: a number alone is given out again. A system that knows no time of birth says 0. Undefined = there is
 * no git directory at this path now. What was copied or restored from a backup is another directory too, so this alone
 * decides nothing.
 */
export const directoryOf = async ({ commonDir, root }: Repository): Promise<string | undefined> => {
  const found = await stat(commonDir ?? root, { bigint: true }).catch(() => undefined)
  return found?.isDirectory() === true ? `${found.ino}:${found.birthtimeNs}` : undefined
}
