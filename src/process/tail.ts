/**
 * Reads the segmented logs of a launch. Offsets count the bytes of the whole redacted stream, so a reader can stop and continue
 * from a stored offset in another process. It returns complete lines only; what the bounded log dropped is reported as a gap.
 */
import { closeSync, fstatSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openRegularSync } from '../platform/regular-file.ts'
import type { OutputStream } from './shim-protocol.ts'
import { createOverCheck } from './shim-client.ts'
import { segmentName } from './segment-log.ts'
import { createFolderWatch } from './folder-watch.ts'

export interface LogLines {
  /** Without their newlines. */
  lines: string[]
  /** Offset behind each line and its newline: where to continue after that line. */
  ends: number[]
  nextOffset: number
  /** Bytes that were dropped before the first of these lines. */
  gapBytes: number
}

const newline = 10
const readBytes = 1024 * 1024

const segmentStarts = (dir: string, stream: OutputStream): number[] => {
  let names: string[]
  try {
    names = readdirSync(dir)
  } catch {
    return [] // no folder (yet): nothing to read
  }
  const prefix = `${stream}-`
  return names
    .filter((name) => name.startsWith(prefix) && /^\d{12,}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .toSorted((a, b) => a - b)
}

/** Bytes from an offset up to the end of the last complete line; more than 1 MiB when a single line needs it. */
const readLines = (file: number, from: number, size: number): Buffer => {
  for (let want = Math.min(readBytes, size - from); ; want = Math.min(want * 2, size - from)) {
    const bytes = Buffer.allocUnsafe(want)
    const got = bytes.subarray(0, readSync(file, bytes, 0, want, from))
    const end = got.lastIndexOf(newline) + 1
    if (end > 0 || want >= size - from || got.length < want) return got.subarray(0, end)
  }
}

/** `exhausted` = nothing complete is left in the segment; undefined = the segment was dropped meanwhile. */
const readSegment = (path: string, from: number): { bytes: Buffer; exhausted: boolean } | undefined => {
  let file: number
  try {
    file = openRegularSync(path)
  } catch {
    return undefined // dropped between the listing and now
  }
  try {
    const { size } = fstatSync(file)
    if (from >= size) return { bytes: Buffer.alloc(0), exhausted: true }
    const bytes = readLines(file, from, size)
    return { bytes, exhausted: bytes.length === 0 }
  } finally {
    closeSync(file)
  }
}

const split = (bytes: Buffer, from: number, gapBytes: number): LogLines => {
  const lines: string[] = []
  const ends: number[] = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start)
    lines.push(bytes.toString('utf8', start, end))
    ends.push(from + end + 1)
    start = end + 1
  }
  return { lines, ends, nextOffset: from + bytes.length, gapBytes }
}

/** About 1 MiB of lines at most, from the offset on. No line = there is nothing more yet. */
export const readSegments = (dir: string, stream: OutputStream, offset: number): LogLines => {
  const starts = segmentStarts(dir, stream)
  let at = offset
  let index = Math.max(
    0,
    starts.findLastIndex((start) => start <= offset),
  )
  for (; index < starts.length; index++) {
    const start = starts[index] as number
    const from = Math.max(at, start)
    const part = readSegment(join(dir, segmentName(stream, start)), from - start)
    if (part !== undefined && part.bytes.length > 0) return split(part.bytes, from, from - offset)
    // Only a segment with a successor is complete; the last segment may still grow.
    at = Math.max(at, starts[index + 1] ?? at)
  }
  return { lines: [], ends: [], nextOffset: offset, gapBytes: 0 }
}

/** Bytes of the stream so far, including an incomplete last line. */
export const writtenBytes = (dir: string, stream: OutputStream): number => {
  const start = segmentStarts(dir, stream).at(-1)
  if (start === undefined) return 0
  return start + (statSync(join(dir, segmentName(stream, start)), { throwIfNoEntry: false })?.size ?? 0)
}

/** `nextOffset`: where to continue after this item. */
export type TailItem = { stream: OutputStream; nextOffset: number } & ({ line: string } | { gap: number })

export interface FollowOptions {
  signal?: AbortSignal
  /** Offsets to start from; 0 where absent. */
  from?: Partial<Record<OutputStream, number>>
}

const streams: OutputStream[] = ['stdout', 'stderr']

/** New items of both streams. It advances the offsets and returns whether there was any item. */
function* newItems(dir: string, offsets: Record<OutputStream, number>): Generator<TailItem, boolean> {
  let found = false
  for (const stream of streams) {
    const begin = offsets[stream]
    const part = readSegments(dir, stream, begin)
    if (part.lines.length === 0) continue
    found = true
    offsets[stream] = part.nextOffset
    yield* itemsOf(stream, begin, part)
  }
  return found
}

/** Follows both streams of a launch until the launch is over and everything is read, or the signal aborts. */
export async function* followStreams(dir: string, options: FollowOptions = {}): AsyncGenerator<TailItem> {
  const offsets: Record<OutputStream, number> = { stdout: options.from?.stdout ?? 0, stderr: options.from?.stderr ?? 0 }
  const over = createOverCheck(dir)
  const wake = createFolderWatch(dir, options.signal)
  try {
    while (options.signal?.aborted !== true) {
      const last = over() // checked before reading, so that output up to the end is not missed
      const found: boolean = yield* newItems(dir, offsets)
      if (!found && last) return
      if (!found) await wake.nextChange()
    }
  } finally {
    wake.close()
  }
}

function* itemsOf(
  stream: OutputStream,
  begin: number,
  { lines, ends, gapBytes, nextOffset }: LogLines,
): Generator<TailItem> {
  if (gapBytes > 0) yield { stream, gap: gapBytes, nextOffset: begin + gapBytes }
  for (const [index, line] of lines.entries()) yield { stream, line, nextOffset: ends[index] ?? nextOffset }
}
