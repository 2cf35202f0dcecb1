/** A folder for Unix sockets that is ours alone and whose path fits the name of a socket. */
import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** 108 bytes with the last zero on Linux, 104 on macOS. */
export const longestSocketPath = 103

/** Whether a folder is ours alone: another user who made it before us could put a server of his own there. */
const isPrivate = (folder: string, uid: number | undefined): boolean => {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && (uid === undefined || found.uid === uid) && (found.mode & 0o077) === 0
}

export interface SocketFolderRequest {
  /** Where the socket belongs, as long as its path is short enough. */
  beside: string
  /** Of the socket. */
  name: string
  runtimeFolder: string | undefined
  uid: number | undefined
  /** Makes a folder of mode 0700. May throw: then the next place is tried. */
  make: (folder: string) => void
}

/**
 * Beside its data, where it stays as long as they do; where that path is too long, in the runtime folder of the user (which may go when the
 * user logs out) or below the temporary folder. `tried`: the places, in their order.
 */
export const findSocketFolder = ({
  beside,
  name,
  runtimeFolder = '',
  uid,
  make,
}: SocketFolderRequest): { folder: string | undefined; tried: string[] } => {
  const own = `unstuck-${createHash('sha256').update(beside).digest('hex').slice(0, 12)}`
  const tried = [join(beside, 'run'), ...[runtimeFolder, tmpdir(), '/tmp'].map((base) => join(base, own))]
  const fits = (folder: string): boolean => Buffer.byteLength(join(folder, name)) <= longestSocketPath
  for (const folder of tried.filter((path) => path.startsWith('/') && fits(path))) {
    try {
      make(folder)
    } catch {
      continue // this place cannot be written
    }
    if (isPrivate(folder, uid)) return { folder, tried }
  }
  return { folder: undefined, tried }
}
