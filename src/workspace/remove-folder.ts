/** Removes folders that agents have worked in. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Makes sub-folders writable. They may disappear meanwhile, because a failed `rm` may still be removing other files. */
const openFolders = async (path: string): Promise<void> => {
  const found = await lstat(path).catch(ignoreMissing)
  if (found?.isDirectory() !== true) return
  await chmod(path, 0o700).catch(ignoreMissing)
  for (const entry of (await readdir(path, { withFileTypes: true }).catch(ignoreMissing)) ?? []) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name))
  }
}

/** Removes a folder recursively, even if an agent removed the write permission of sub-folders. Symlinks are not followed. */
export const removeFolder = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    await openFolders(path)
    await rm(path, { recursive: true, force: true }) // a second failure is a real one
  }
}
