/**
 * Turns the chunks of a pipe into the lines of a log: joins, cuts, redacts, appends. All of it is synchronous, which gives
 * back-pressure: the pipe is not read while the last chunk is not on disk. Memory is bounded by the limit of one line.
 */
import type { Redact } from './redact.ts'
import type { SegmentLog } from './segment-log.ts'

const newline = 10
const newlineBytes = Buffer.from('\n')
const smallHold = 64 * 1024
const unfinishedCharacters = 500

export interface Output {
  push(chunk: Buffer): void
  /** The last characters of the incomplete line, redacted. */
  unfinished(): string
  /** Appends a last line that has no newline. */
  end(): void
}

export interface OutputOptions {
  log: Pick<SegmentLog, 'append'>
  redact: Redact
  lineMaxBytes: number
  /** Longest secret. As many bytes are held beyond the line limit, because a cut inside a secret would leave half of it. */
  secretMaxBytes: number
}

/** The largest length up to `limit` that does not split a UTF-8 character. */
const characterEnd = (bytes: Buffer, limit: number): number => {
  let end = limit
  while (end > limit - 4 && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return ((bytes[end] ?? 0) & 0xc0) === 0x80 ? limit : end
}

/** The first part of the line being received, and the length of the whole line. */
const createHold = (limit: number) => {
  let bytes = Buffer.allocUnsafe(Math.min(smallHold, limit))
  let held = 0
  let total = 0
  return {
    add(piece: Buffer): void {
      const take = Math.min(piece.length, limit - held)
      if (held + take > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(bytes.length * 2, held + take)))
        bytes.copy(larger, 0, 0, held)
        bytes = larger
      }
      piece.copy(bytes, held, 0, take)
      held += take
      total += piece.length
    },
    /** Valid until the next `add`. */
    take(): { line: Buffer; total: number } {
      const taken = { line: bytes.subarray(0, held), total }
      if (bytes.length > smallHold) bytes = Buffer.allocUnsafe(Math.min(smallHold, limit))
      held = 0
      total = 0
      return taken
    },
    isEmpty: (): boolean => total === 0,
    /** Empty when the line is longer than the buffer, because its end is not held then. */
    peek: (): Buffer => (total > held ? Buffer.alloc(0) : bytes.subarray(0, held)),
  }
}

/** The held line for the log: redacted, and not longer than the limit. */
const cutLine = (
  { line, total }: { line: Buffer; total: number },
  { redact, lineMaxBytes, secretMaxBytes }: Omit<OutputOptions, 'log'>,
): Buffer => {
  const clean = redact(line)
  // A secret may continue beyond the held bytes, where it is not recognized; so the last bytes are dropped too.
  const known = total > line.length ? Math.max(0, clean.length - secretMaxBytes) : clean.length
  const keep =
    known <= lineMaxBytes && known === clean.length ? known : characterEnd(clean, Math.min(known, lineMaxBytes))
  const note = keep < clean.length || total > line.length ? ` [line cut by unstuck: ${total - keep} more bytes]` : ''
  return Buffer.concat([clean.subarray(0, keep), Buffer.from(note), newlineBytes])
}

export const createOutput = ({ log, redact, lineMaxBytes, secretMaxBytes }: OutputOptions): Output => {
  const hold = createHold(lineMaxBytes + secretMaxBytes)

  const emitHeld = (): void => log.append(cutLine(hold.take(), { redact, lineMaxBytes, secretMaxBytes }))

  const pushLines = (chunk: Buffer): Buffer => {
    let rest = chunk
    while (rest.length > 0 && (!hold.isEmpty() || rest.length > lineMaxBytes)) {
      const end = rest.indexOf(newline)
      if (end < 0) return rest
      hold.add(rest.subarray(0, end))
      emitHeld()
      rest = rest.subarray(end + 1)
    }
    const end = rest.lastIndexOf(newline) + 1
    if (end > 0) log.append(redact(rest.subarray(0, end)))
    return rest.subarray(end)
  }

  return {
    push(chunk) {
      const rest = pushLines(chunk)
      if (rest.length > 0) hold.add(rest)
    },
    unfinished: () => redact(hold.peek()).toString('utf8').slice(-unfinishedCharacters),
    end() {
      if (!hold.isEmpty()) emitHeld()
    },
  }
}
