/**
 * The reading that every driver builds, and what it amounts to at the end. Readings are never changed in place, and every
 * part of one is bounded: an agent that prints for hours must not grow the engine's memory.
 */
import { stripVTControlCharacters } from 'node:util'
import { digestOf } from '../recovery/signature.ts'
import { isStall } from '../recovery/stall.ts'
import type {
  AgentExit,
  AgentNote,
  Denial,
  ExitType,
  FaultType,
  OpenCall,
  Reading,
  ReportedError,
  Settled,
} from './driver.ts'

export interface Step {
  reading: Reading
  note?: AgentNote
}

const maxText = 16_000
const maxLine = 2_000
const maxList = 100
const maxTailLines = 50

export const emptyReading = (): Reading => ({
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

/** A CLI's own sentence; what stands below it are details. */
export const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

/** The end of a text of which the last lines say most. */
export const endOf = (text: string, max = maxLine): string => (text.length > max ? `…${text.slice(-max)}` : text)

export const cutText = (text: string): string => cut(text, maxText)

/** Session ids go back onto a command line, so anything that could be an option or a path is not taken for one. */
export const sessionIdOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text) ? text : undefined

export const withForeignLine = (reading: Reading): Reading => ({ ...reading, foreignLines: reading.foreignLines + 1 })

export const withLine = (tail: readonly string[], line: string): string[] => [...tail, cut(line)].slice(-maxTailLines)

export const withStderr = (reading: Reading, line: string): Reading =>
  line.trim() === '' ? reading : { ...reading, stderrTail: withLine(reading.stderrTail, line) }

/** Two CLIs colour their own words on standard error even on a pipe. */
export const withoutColours = (line: string): string => stripVTControlCharacters(line)

export const withTextClosed = (reading: Reading): Reading => {
  if (reading.textOpen === undefined) return reading
  const { textOpen: _open, ...rest } = reading
  return rest
}

/** A text that arrives in pieces: each goes behind the one before. */
export const withPiece = (reading: Reading, piece: string): Reading => ({
  ...reading,
  lastText: reading.textOpen === undefined ? cutText(piece) : cutText(reading.lastText + piece),
  textOpen: true,
})

const sameDenial = (a: Denial, b: Denial): boolean =>
  a.callId !== undefined || b.callId !== undefined
    ? a.callId === b.callId
    : a.kind === b.kind && a.tool === b.tool && a.target === b.target

export const withDenial = (reading: Reading, denial: Denial): Reading =>
  reading.denials.some((known) => sameDenial(known, denial))
    ? reading
    : { ...reading, denials: [...reading.denials, denial].slice(-maxList) }

/** CLIs report one failure in two events; the later one replaces the earlier and keeps what only that one knew. */
export const withError = (reading: Reading, error: ReportedError): Reading => {
  const last = reading.errors.at(-1)
  if (last?.text === error.text) return { ...reading, errors: [...reading.errors.slice(0, -1), { ...last, ...error }] }
  return { ...reading, errors: [...reading.errors, error].slice(-maxList) }
}

/** It would try a wrong key for minutes. A login that renews itself is back within two tries. */
export const insistsOnKey = ({ retry }: Reading): boolean =>
  retry?.error.type === 'authentication_failed' && retry.attempt > 2

export const withoutRetry = (reading: Reading): Reading => {
  if (reading.retry === undefined) return reading
  const { retry: _over, ...rest } = reading
  return rest
}

const nameOf = (call: OpenCall): string => {
  const about = call.command ?? call.path
  return about === undefined ? call.tool : `${call.tool}: ${cut(about, 300)}`
}

/** Both ends of what may be very long: where two inputs or answers of one kind differ. */
const endsOf = (text: string, each: number): string[] =>
  text.length <= 2 * each ? [text] : [text.slice(0, each), text.slice(-each)]

const longestInput = 50_000
const longestAnswer = 2_000

const keyOf = (call: OpenCall, input: unknown): string => {
  const text = JSON.stringify(input) ?? ''
  return digestOf(`${call.tool} ${text.length} ${endsOf(text, longestInput).join(' ')}`)
}

/** `input`: everything that the call was given, where the CLI tells it. Absent = it may differ from any other call's. */
export const withOpenCall = (reading: Reading, call: OpenCall, input?: unknown): Reading => {
  const made = { id: call.id, name: nameOf(call), ...(input === undefined ? {} : { key: keyOf(call, input) }) }
  return {
    ...reading,
    toolCalls: reading.toolCalls + 1,
    openCalls: [...reading.openCalls, call].slice(-maxList),
    calls: [...reading.calls, made].slice(-maxList),
  }
}

const withAnswer = (reading: Reading, id: string, answer: string): Reading => {
  const at = reading.calls.findLastIndex((call) => call.id === id)
  const made = reading.calls[at]
  if (made === undefined) return reading
  return { ...reading, calls: reading.calls.with(at, { ...made, answer: endsOf(answer, longestAnswer).join('\n') }) }
}

/** `answer`: what the model was told, where the CLI tells it. */
export const withoutOpenCall = (reading: Reading, id: string, answer?: string): Reading => {
  const closed = { ...reading, openCalls: reading.openCalls.filter((call) => call.id !== id) }
  return answer === undefined ? closed : withAnswer(closed, id, answer)
}

const exitTypeOf = (reading: Reading, exit: AgentExit): ExitType => {
  if (exit.stopCause !== undefined) return 'stopped'
  if (exit.signal !== null) return 'signal'
  return reading.final === undefined ? 'no_result' : 'bad_exit'
}

/** The error when nothing was reported. */
export const exitError = (name: string, reading: Reading, exit: AgentExit): ReportedError => {
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

/** It ended badly by itself. After a stop of ours, or a foreign signal, its standard error explains nothing. */
export const failing = (exit: AgentExit): boolean =>
  exit.stopCause === undefined && exit.code !== null && exit.code !== 0

/** What a status means where the CLI gives no word of its own. */
export const faultOfStatus = (status: number | undefined): FaultType | undefined => {
  if (status === undefined) return undefined
  if (status === 401 || status === 403) return 'authentication_failed'
  if (status === 402) return 'billing_error'
  if (status === 429) return 'rate_limit'
  if (status === 529) return 'overloaded'
  if (status >= 500) return 'server_error'
  return status === 400 ? 'invalid_request' : undefined
}

/** A CLI's own sentence, at the start of a field or of a line of its own standard error. */
export interface Sentence {
  starts: RegExp
  type: FaultType
  httpStatus?: number
}

/** What the CLI said on standard error before a failing exit, or undefined when that was only its usual noise. */
export const stderrError = (reading: Reading, sentences: Sentence[], noise: RegExp): ReportedError | undefined => {
  const lines = reading.stderrTail.filter((line) => !noise.test(line))
  if (lines.length === 0) return undefined
  for (const sentence of sentences) {
    const at = lines.findIndex((line) => sentence.starts.test(line))
    // What follows the sentence are its details (which line of the configuration, a tip).
    if (at >= 0) return { source: 'stderr', type: sentence.type, text: cut(lines.slice(at).join('\n')) }
  }
  return { source: 'stderr', text: endOf(lines.join('\n')) }
}

/**
 * Success is the CLI's own final event without error and exit 0. A stop of ours does not undo it when the CLI had reported its
 * end and did not leave, or reported it just before it was stopped for standing still.
 */
export const settleFinal = (reading: Reading, exit: AgentExit): Settled | undefined => {
  if (reading.final === undefined || reading.final.isError) return undefined
  const { stopCause } = exit
  const ended = stopCause === undefined ? exit.code === 0 : stopCause === 'lingering' || isStall(stopCause)
  return ended ? { ok: true, text: reading.final.text } : undefined
}

/** Words that its driver does not know leave an end without a final event what it is. */
const typedEnd = (reading: Reading, said: ReportedError | undefined): ReportedError | undefined =>
  said !== undefined && said.type === undefined && reading.final === undefined ? { ...said, type: 'no_result' } : said

/** The best evidence of a failed launch, structured fields first. */
export const settleFailed = (name: string, reading: Reading, exit: AgentExit, said?: ReportedError): Settled => {
  // After a good final event earlier errors were overcome; only the end itself is left to explain.
  const reported = reading.final?.isError === false ? undefined : (reading.errors.at(-1) ?? reading.retry?.error)
  return { ok: false, fatal: true, error: reported ?? typedEnd(reading, said) ?? exitError(name, reading, exit) }
}
