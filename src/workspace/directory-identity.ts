/** Identifies a git directory, to distinguish it from another one that was created later at the same path. */
import { stat } from 'node:fs/promises'
import type { Repository } from './repository-types.ts'

/**
 * Inode and birth time, because file systems reuse inodes. The birth time is 0 where the system has none. Undefined = there is no
 * git directory at this path. A copy or a restored backup has another identity too, so a difference alone proves nothing.
 */
export const directoryIdentity = async ({
  commonDir,
  root,
}: Pick<Repository, 'commonDir' | 'root'>): Promise<string | undefined> => {
  const found = await stat(commonDir ?? root, { bigint: true }).catch(() => undefined)
  return found?.isDirectory() === true ? `${found.ino}:${found.birthtimeNs}` : undefined
}
