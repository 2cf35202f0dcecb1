/**
 * The transcript that every driver builds, and its conclusion. Transcripts are immutable, and each of their parts is bounded, so that
 * an agent that prints for hours does not grow the engine's memory.
 */
import { stripVTControlCharacters } from 'node:util'
import { digestOf } from '../recovery/signature.ts'
import { isStallCause } from '../recovery/stall.ts'
import type {
  AgentExit,
  Denial,
  ExitType,
  FaultType,
  OpenCall,
  Transcript,
  ReportedError,
  Conclusion,
} from './driver.ts'

export type { ParsedLine } from './driver.ts'

const maxText = 16_000
const maxLine = 2_000
const maxList = 100
const maxTailLines = 50

export const emptyTranscript = (): Transcript => ({
  tokens: { input: 0, output: 0, cachedInput: 0 },
  toolCalls: 0,
  lastText: '',
  denials: [],
  errors: [],
  openCalls: [],
  calls: [],
  stderrTail: [],
  foreignLines: 0,
})

export const cut = (text: string, max = maxLine): string => (text.length > max ? `${text.slice(0, max)}…` : text)

/** The CLI's own sentence; the lines below it are details. */
export const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

/** The end of a text whose last lines are the most important. */
export const endOf = (text: string, max = maxLine): string => (text.length > max ? `…${text.slice(-max)}` : text)

export const cutText = (text: string): string => cut(text, maxText)

/** A session id becomes a command-line argument, so a text that could be an option or a path is rejected. */
export const sessionIdOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text) ? text : undefined

export const withForeignLine = (reading: Transcript): Transcript => ({
  ...reading,
  foreignLines: reading.foreignLines + 1,
})

export const withLine = (tail: readonly string[], line: string): string[] => [...tail, cut(line)].slice(-maxTailLines)

export const withStderr = (reading: Transcript, line: string): Transcript =>
  line.trim() === '' ? reading : { ...reading, stderrTail: withLine(reading.stderrTail, line) }

/** Two CLIs print colours on standard error even to a pipe. */
export const withoutColours = (line: string): string => stripVTControlCharacters(line)

export const withTextClosed = (reading: Transcript): Transcript => {
  if (reading.textOpen === undefined) return reading
  const { textOpen: _open, ...rest } = reading
  return rest
}

/** Appends a piece of a text that arrives in pieces. */
export const withTextPiece = (reading: Transcript, piece: string): Transcript => ({
  ...reading,
  lastText: reading.textOpen === undefined ? cutText(piece) : cutText(reading.lastText + piece),
  textOpen: true,
})

const sameDenial = (a: Denial, b: Denial): boolean =>
  a.callId !== undefined || b.callId !== undefined
    ? a.callId === b.callId
    : a.kind === b.kind && a.tool === b.tool && a.target === b.target

export const withDenial = (reading: Transcript, denial: Denial): Transcript =>
  reading.denials.some((known) => sameDenial(known, denial))
    ? reading
    : { ...reading, denials: [...reading.denials, denial].slice(-maxList) }

/** CLIs report one failure in two events. The later event replaces the earlier and keeps fields that only the earlier had. */
export const withError = (reading: Transcript, error: ReportedError): Transcript => {
  const last = reading.errors.at(-1)
  if (last?.text === error.text) return { ...reading, errors: [...reading.errors.slice(0, -1), { ...last, ...error }] }
  return { ...reading, errors: [...reading.errors, error].slice(-maxList) }
}

/** The CLI keeps retrying with a wrong key, which it would do for minutes. A login that renews itself works within two attempts. */
export const keepsRetryingKey = ({ retry }: Transcript): boolean =>
  retry?.error.type === 'authentication_failed' && retry.attempt > 2

export const withoutRetry = (reading: Transcript): Transcript => {
  if (reading.retry === undefined) return reading
  const { retry: _over, ...rest } = reading
  return rest
}

const nameOf = (call: OpenCall): string => {
  const about = call.command ?? call.path
  return about === undefined ? call.tool : `${call.tool}: ${cut(about, 300)}`
}

/** Both ends of a long text: two inputs or results of the same kind usually differ there. */
const endsOf = (text: string, each: number): string[] =>
  text.length <= 2 * each ? [text] : [text.slice(0, each), text.slice(-each)]

const longestInput = 50_000
const longestResult = 2_000

const keyOf = (call: OpenCall, input: unknown): string => {
  const text = JSON.stringify(input) ?? ''
  return digestOf(`${call.tool} ${text.length} ${endsOf(text, longestInput).join(' ')}`)
}

/** `input`: the complete input of the call, where the CLI reports it. Absent = the call cannot be compared with others. */
export const withOpenCall = (reading: Transcript, call: OpenCall, input?: unknown): Transcript => {
  const made = { id: call.id, name: nameOf(call), ...(input === undefined ? {} : { key: keyOf(call, input) }) }
  return {
    ...reading,
    toolCalls: reading.toolCalls + 1,
    openCalls: [...reading.openCalls, call].slice(-maxList),
    calls: [...reading.calls, made].slice(-maxList),
  }
}

const withResult = (reading: Transcript, id: string, result: string): Transcript => {
  const at = reading.calls.findLastIndex((call) => call.id === id)
  const made = reading.calls[at]
  if (made === undefined) return reading
  return { ...reading, calls: reading.calls.with(at, { ...made, result: endsOf(result, longestResult).join('\n') }) }
}

/** `result`: the result of the call, where the CLI reports it. */
export const withoutOpenCall = (reading: Transcript, id: string, result?: string): Transcript => {
  const closed = { ...reading, openCalls: reading.openCalls.filter((call) => call.id !== id) }
  return result === undefined ? closed : withResult(closed, id, result)
}

const exitTypeOf = (reading: Transcript, exit: AgentExit): ExitType => {
  if (exit.stopCause !== undefined) return 'stopped'
  if (exit.signal !== null) return 'signal'
  return reading.final === undefined ? 'no_result' : 'bad_exit'
}

/** The error when nothing was reported. */
export const exitError = (name: string, reading: Transcript, exit: AgentExit): ReportedError => {
  const how = exit.signal === null ? `exited with ${exit.code}` : `died of ${exit.signal}`
  const text = {
    stopped: `${name} was stopped (${exit.stopCause})`,
    signal: `${name} ${how} without having been stopped by us`,
    no_result: `${name} ${how} without its final event`,
    bad_exit: `${name} ${how} after its final event`,
  }
  const type = exitTypeOf(reading, exit)
  return { source: 'exit', type, text: text[type] }
}

/** Whether the CLI exited with a failure by itself. After a stop of ours or a signal, standard error explains nothing. */
export const hasFailingExit = (exit: AgentExit): boolean =>
  exit.stopCause === undefined && exit.code !== null && exit.code !== 0

/** Meaning of an HTTP status when the CLI gives no type of its own. */
export const faultOfStatus = (status: number | undefined): FaultType | undefined => {
  if (status === undefined) return undefined
  if (status === 401 || status === 403) return 'authentication_failed'
  if (status === 402) return 'billing_error'
  if (status === 429) return 'rate_limit'
  if (status === 529) return 'overloaded'
  if (status >= 500) return 'server_error'
  return status === 400 ? 'invalid_request' : undefined
}

/** A fixed sentence of a CLI, matched at the start of a field or of a line of standard error. */
export interface KnownSentence {
  starts: RegExp
  type: FaultType
  httpStatus?: number
}

const stackFrame = /^\s+at /

/** What was said first and last: a CLI prints its sentence, then its stack, or details and then its sentence. */
const bothEnds = (lines: readonly string[]): string => {
  const all = lines.join('\n')
  if (all.length <= maxLine) return all
  const said = lines.filter((line) => !stackFrame.test(line))
  const [first = '', ...rest] = said.length === 0 ? lines : said
  return rest.length === 0 ? cut(first) : `${cut(first, maxLine / 2)}\n${endOf(rest.join('\n'), maxLine / 2)}`
}

/** The error on standard error before a failing exit; undefined when only the usual noise was printed. */
export const stderrError = (
  reading: Transcript,
  sentences: KnownSentence[],
  noise: RegExp,
): ReportedError | undefined => {
  const lines = reading.stderrTail.filter((line) => !noise.test(line))
  if (lines.length === 0) return undefined
  for (const sentence of sentences) {
    const at = lines.findIndex((line) => sentence.starts.test(line))
    // The lines after the sentence are details (which line of the configuration, a tip).
    if (at >= 0) return { source: 'stderr', type: sentence.type, text: cut(lines.slice(at).join('\n')) }
  }
  return { source: 'stderr', text: bothEnds(lines) }
}

/**
 * Success is the CLI's own final event without an error, and exit 0. It still counts when we stopped the CLI because it lingered after
 * that event, or because of a stall just before the event arrived.
 */
export const concludeFinal = (reading: Transcript, exit: AgentExit): Conclusion | undefined => {
  if (reading.final === undefined || reading.final.isError) return undefined
  const { stopCause } = exit
  const ended = stopCause === undefined ? exit.code === 0 : stopCause === 'lingering' || isStallCause(stopCause)
  return ended ? { ok: true, text: reading.final.text } : undefined
}

/** If there is no final event and the driver does not recognize the error's text, the type is `no_result`. */
const typedEnd = (reading: Transcript, said: ReportedError | undefined): ReportedError | undefined =>
  said !== undefined && said.type === undefined && reading.final === undefined ? { ...said, type: 'no_result' } : said

/** The best evidence of a failed launch, structured fields first. */
export const concludeFailed = (
  name: string,
  reading: Transcript,
  exit: AgentExit,
  said?: ReportedError,
): Conclusion => {
  // After a successful final event the earlier errors were overcome, so only the exit itself is the failure.
  const reported = reading.final?.isError === false ? undefined : (reading.errors.at(-1) ?? reading.retry?.error)
  return { ok: false, fatal: true, error: reported ?? typedEnd(reading, said) ?? exitError(name, reading, exit) }
}
