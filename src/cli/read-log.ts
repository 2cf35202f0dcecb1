/** Reads a log of any length for `unstuck classify`: its beginning and its end; the middle of a very long log is skipped. */
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../errors.ts'
import type { Io } from './io.ts'

const headBytes = 8 * 1024 * 1024
const tailBytes = 24 * 1024 * 1024
/** Bytes at the start that are searched for a zero byte, which text does not contain. */
const sniffed = 8 * 1024

interface Read {
  bytes: Buffer
  /** Bytes between the beginning and the end that were not kept. */
  skipped: number
}

/** PowerShell's ">" writes UTF-16 with this mark; such a text contains zero bytes and is not binary. */
const isUtf16 = (bytes: Buffer): boolean => bytes[0] === 0xff && bytes[1] === 0xfe

const isBinary = (bytes: Buffer): boolean => !isUtf16(bytes) && bytes.subarray(0, sniffed).includes(0)

const usage = (text: string): AppError =>
  new AppError('USAGE', `${text}; give the path of a log file, or "-" for standard input`)

const readEnds = async (stream: AsyncIterable<Buffer | string>, name: string): Promise<Read> => {
  const head: Buffer[] = []
  const tail: Buffer[] = []
  let [inHead, inTail, skipped] = [0, 0, 0]
  for await (const piece of stream) {
    const bytes = Buffer.from(piece)
    if (inHead === 0 && isBinary(bytes)) throw usage(`${name} is not a text file`)
    if (inHead < headBytes) {
      head.push(bytes)
      inHead += bytes.length
      continue
    }
    tail.push(bytes)
    inTail += bytes.length
    while (inTail - (tail[0]?.length ?? 0) >= tailBytes) {
      const gone = tail.shift()?.length ?? 0
      inTail -= gone
      skipped += gone
    }
  }
  // The end of the head and the start of the tail must not join into one line.
  const seam = skipped > 0 ? [Buffer.from('\n')] : []
  return { bytes: Buffer.concat([...head, ...seam, ...tail]), skipped }
}

const reasons: Record<string, string> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'cannot be read: permission denied',
}

const streamOf = (io: Io, file: string): AsyncIterable<Buffer | string> =>
  file === '-' ? process.stdin : createReadStream(resolve(io.cwd, file), { signal: io.signal })

export const readLog = async (io: Io, file: string): Promise<string> => {
  const name = file === '-' ? 'standard input' : file
  try {
    const { bytes, skipped } = await readEnds(streamOf(io, file), name)
    if (skipped > 0)
      io.error(
        `unstuck: ${name} is very long: only the first 8 MB and the last 24 MB were read; ${Math.round(skipped / 1024 / 1024)} MB in the middle were skipped\n`,
      )
    return bytes.toString(isUtf16(bytes) ? 'utf16le' : 'utf8')
  } catch (error) {
    if (error instanceof AppError) throw error
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw usage(`${name} ${reasons[code] ?? `cannot be read (${code})`}`)
  }
}
