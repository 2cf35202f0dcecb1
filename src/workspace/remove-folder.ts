/** Removes folders that agents have worked in. */
import { chmod, lstat, readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { refuseMounts } from '../platform/mounts.ts'

/** How many files of a folder are removed concurrently. */
const atOnce = 32

/** It may disappear meanwhile, because a program that ends still removes its own files. */
const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Names are bytes: read as text, one that is not UTF-8 would name no file, and its folder would stay. */
const below = (path: Buffer, name: Buffer): Buffer => Buffer.concat([path, Buffer.from('/'), name])

/**
 * Removes a folder of the file system `device`. Modes are changed only of folders that were seen to be on it, because
 * a mounted file system may belong to another user.
 */
const removeTree = async (path: Buffer, device: number): Promise<void> => {
  const found = await lstat(path).catch(ignoreMissing)
  if (found === undefined) return
  // Replaced since it was listed; a link in its place must not be followed.
  if (!found.isDirectory()) return unlink(path).catch(ignoreMissing)
  if (found.dev !== device)
    throw new Error(`${path.toString()} is on another file system and is not removed; unmount it, then try again`)
  // An agent may have removed its own permission to list the folder or to remove files from it.
  if ((found.mode & 0o700) !== 0o700) await chmod(path, 0o700).catch(ignoreMissing)
  const entries = (await readdir(path, { withFileTypes: true, encoding: 'buffer' }).catch(ignoreMissing)) ?? []
  const files = entries.filter((entry) => !entry.isDirectory())
  for (let at = 0; at < files.length; at += atOnce)
    await Promise.all(files.slice(at, at + atOnce).map(({ name }) => unlink(below(path, name)).catch(ignoreMissing)))
  for (const entry of entries) if (entry.isDirectory()) await removeTree(below(path, entry.name), device)
  await rmdir(path).catch(ignoreMissing)
}

/**
 * Removes a folder recursively, even if an agent removed the write permission of sub-folders. Symlinks are not followed. A folder in which
 * something is mounted stays as it is.
 */
export const removeFolder = async (path: string): Promise<void> => {
  const found = await lstat(path).catch(ignoreMissing)
  if (found?.isDirectory() !== true) return rm(path, { force: true })
  refuseMounts(path)
  try {
    await removeTree(Buffer.from(path), found.dev)
  } catch {
    await removeTree(Buffer.from(path), found.dev) // a program may have written into it meanwhile; a second failure is a real one
  }
}
