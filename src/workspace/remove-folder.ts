/** Removes folders that agents have worked in. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Folders may disappear meanwhile: `rm` rejects at its first failure while it is still removing elsewhere. */
const openFolders = async (path: string): Promise<void> => {
  const found = await lstat(path).catch(ignoreMissing)
  if (found?.isDirectory() !== true) return
  await chmod(path, 0o700).catch(ignoreMissing)
  for (const entry of (await readdir(path, { withFileTypes: true }).catch(ignoreMissing)) ?? []) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name))
  }
}

/** Removes a folder and all in it, also where an agent took the write permission of sub-folders. Symlinks are not followed. */
export const removeFolder = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    await openFolders(path)
    await rm(path, { recursive: true, force: true }) // a second failure is a real one
  }
}
