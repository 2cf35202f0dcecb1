/**
 * Reads a file whose name another program can replace. A plain read of a pipe waits for a writer, for ever, and one of a device can
 * wait as well or never end; either would stop the whole engine. So the file is opened without waiting, and is read through the
 * handle that was looked at: what stands under the name by then no longer matters.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'

export interface ReadOptions {
  /** The largest file that is accepted, in bytes. */
  most?: number
  /** A symbolic link is refused. */
  noLink?: boolean
}

/** No file that Unstuck reads as a whole is near this size; a larger one would only fill the memory. */
const usualMost = 256 * 1024 * 1024

/** Codes of the system, and two of this file: `ENOTREGULAR` and `EFBIG`. */
type ReadError = NodeJS.ErrnoException

const failure = (code: string, message: string): ReadError => Object.assign(new Error(message), { code })

const notRegular = (kind: string): ReadError => failure('ENOTREGULAR', `it is ${kind}, not a regular file`)

const kindOf = (found: Stats): string =>
  found.isDirectory() ? 'a folder' : found.isFIFO() ? 'a named pipe' : found.isSocket() ? 'a socket' : 'a device'

const flagsOf = ({ noLink = false }: ReadOptions): number =>
  constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | (noLink ? constants.O_NOFOLLOW : 0)

/** A socket cannot be opened, and the error of the system does not say why. */
const explained = (path: string, error: unknown): unknown => {
  const { code } = error as ReadError
  if (code === 'ELOOP') return failure('ELOOP', 'it is a symbolic link')
  const found = code === 'ENXIO' ? statSync(path, { throwIfNoEntry: false }) : undefined
  return found === undefined || found.isFile() ? error : notRegular(kindOf(found))
}

const sizeText = (bytes: number): string => (bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`)

const expectReadable = (found: Stats, { most = Infinity }: ReadOptions): void => {
  if (!found.isFile()) throw notRegular(kindOf(found))
  if (found.size > most) throw failure('EFBIG', `it is larger than ${sizeText(most)}`)
}

/** The descriptor of a regular file, for one that is read in parts. Throws an error with a code, as `openSync` does. */
export const openRegularSync = (path: string, options: ReadOptions = {}): number => {
  let file: number
  try {
    file = openSync(path, flagsOf(options))
  } catch (error) {
    throw explained(path, error)
  }
  try {
    expectReadable(fstatSync(file), options)
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/** Throws an error with a code, as `readFileSync` does. */
export const readRegularSync = (path: string, options: ReadOptions = {}): Buffer => {
  const file = openRegularSync(path, { most: usualMost, ...options })
  try {
    const found = fstatSync(file)
    // Not more than it had: a program that goes on writing must not fill the memory.
    const bytes = Buffer.alloc(found.size)
    let end = 0
    for (let got = -1; got !== 0 && end < bytes.length; end += got)
      got = readSync(file, bytes, end, bytes.length - end, end)
    return bytes.subarray(0, end)
  } finally {
    closeSync(file)
  }
}

export const readRegularTextSync = (path: string, options?: ReadOptions): string =>
  readRegularSync(path, options).toString('utf8')

/** As `readRegularSync`: a pipe would block one of the few threads that all asynchronous file calls of the process share. */
export const readRegular = async (path: string, given: ReadOptions = {}): Promise<Buffer> => {
  const options = { most: usualMost, ...given }
  const file = await open(path, flagsOf(options)).catch((error: unknown) => {
    throw explained(path, error)
  })
  try {
    const found = await file.stat()
    expectReadable(found, options)
    const bytes = Buffer.alloc(found.size)
    let end = 0
    for (let got = -1; got !== 0 && end < bytes.length; end += got)
      got = (await file.read(bytes, end, bytes.length - end, end)).bytesRead
    return bytes.subarray(0, end)
  } finally {
    await file.close()
  }
}

export const readRegularText = async (path: string, options?: ReadOptions): Promise<string> =>
  (await readRegular(path, options)).toString('utf8')
