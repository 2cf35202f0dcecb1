/**
 * The bounded log of one stream, as files named `<stream>-<offset of the first byte>`. Offsets count the bytes of the whole redacted
 * stream, so they stay valid when the middle is dropped. Segments start and end at line boundaries. Half of the budget holds the
 * head and is never dropped; the other half holds the newest output. A failed write becomes a gap and never throws, because
 * a full disk must neither end the agent nor block its output.
 */
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { OutputStream } from './shim-protocol.ts'

export const segmentName = (stream: OutputStream, offset: number): string =>
  `${stream}-${String(offset).padStart(12, '0')}`

export interface SegmentLog {
  /** Whole lines only, each with its newline. */
  append(lines: Buffer): void
  close(): void
}

interface Segment {
  path: string
  start: number
  size: number
  file: number
}

const newline = 10
const largestSegment = 4 * 1024 * 1024

const writeAll = (file: number, bytes: Buffer): void => {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
}

/** Drops the oldest segments behind the head until one more segment fits. */
const createTail = (budget: number, segmentBytes: number): { add(segment: Segment): void } => {
  const kept: Segment[] = []
  let bytes = 0
  return {
    add(segment) {
      if (segment.start + segmentBytes <= budget) return
      kept.push(segment)
      bytes += segment.size
      while (bytes + segmentBytes > budget && kept.length > 0) {
        const oldest = kept.shift() as Segment
        bytes -= oldest.size
        rmSync(oldest.path, { force: true })
      }
    },
  }
}

interface Writer {
  /** Bytes that still fit into the current segment. */
  room(): number
  isEmpty(): boolean
  write(bytes: Buffer): void
  close(): void
}

const createWriter = (
  dir: string,
  stream: OutputStream,
  segmentBytes: number,
  tail: { add(segment: Segment): void },
): Writer => {
  let offset = 0
  let current: Segment | undefined
  const close = (): void => {
    if (current === undefined) return
    closeSync(current.file)
    tail.add(current)
    current = undefined
  }
  const open = (): Segment => {
    const path = join(dir, segmentName(stream, offset))
    return { path, start: offset, size: 0, file: openSync(path, 'w', 0o600) }
  }
  const write = (bytes: Buffer): void => {
    try {
      current ??= open()
      writeAll(current.file, bytes)
      current.size += bytes.length
    } catch {
      // Most likely the disk is full. The whole write becomes a gap, because half a line must not remain.
      if (current !== undefined) ftruncateSync(current.file, current.size)
      offset += bytes.length
      return close()
    }
    offset += bytes.length
    if (current.size >= segmentBytes) close()
  }
  return { room: () => segmentBytes - (current?.size ?? 0), isEmpty: () => current === undefined, write, close }
}

export const createSegmentLog = (dir: string, stream: OutputStream, maxBytes: number): SegmentLog => {
  const segmentBytes = Math.max(1, Math.min(largestSegment, Math.floor(maxBytes / 16)))
  const tail = createTail(Math.floor(maxBytes / 2), segmentBytes)
  const { room, isEmpty, write, close } = createWriter(dir, stream, segmentBytes, tail)
  return {
    append(lines) {
      for (let rest = lines; rest.length > 0;) {
        const fits = rest.length <= room() ? rest.length : rest.lastIndexOf(newline, room() - 1) + 1
        if (fits === 0 && !isEmpty()) {
          close()
          continue
        }
        // A line longer than a segment gets one of its own.
        const take = fits > 0 ? fits : rest.indexOf(newline) + 1
        write(rest.subarray(0, take))
        rest = rest.subarray(take)
      }
    },
    close,
  }
}
