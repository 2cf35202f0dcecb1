/**
 * Parses the stream-json output of Gemini CLI. An event is recognized by its `type`; anything else is a foreign line. The model's
 * words and the output of tools go into notes and `lastText` only, and are never searched for failures.
 */
import type { OpenCall, Transcript } from './driver.ts'
import { geminiDenial, geminiPath } from './gemini-denials.ts'
import { geminiEventError, geminiRetry, geminiResultError } from './gemini-errors.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, parseLine, textAt } from './json-line.ts'
import type { ParsedLine } from './transcript.ts'
import {
  cut,
  cutText,
  sessionIdOf,
  withDenial,
  withError,
  withForeignLine,
  withOpenCall,
  withTextPiece,
  withStderr,
  withoutColours,
  withoutOpenCall,
  withoutRetry,
  withTextClosed,
} from './transcript.ts'
import { defined } from '../domain/defined.ts'

/** Gemini does not keep a session whose first request fails, so the session is only announced until the model responds. */
const readInit = (reading: Transcript, event: JsonObject): ParsedLine => {
  const [announcedSession, model] = [sessionIdOf(textAt(event, 'session_id')), textAt(event, 'model')]
  return {
    transcript: {
      ...reading,
      ...defined({ announcedSession, model }),
    },
  }
}

const withAnswer = (reading: Transcript): Transcript => {
  const { announcedSession, ...rest } = withoutRetry(reading)
  return announcedSession === undefined ? rest : { ...rest, sessionId: announcedSession }
}

const readMessage = (reading: Transcript, event: JsonObject): ParsedLine => {
  const text = textAt(event, 'content')
  if (textAt(event, 'role') !== 'assistant' || text === undefined) return { transcript: reading }
  const answered = withAnswer(reading)
  const next =
    event['delta'] === true ? withTextPiece(answered, text) : { ...withTextClosed(answered), lastText: cutText(text) }
  return { transcript: next, note: { kind: 'text', text: cutText(text) } }
}

const readToolUse = (reading: Transcript, event: JsonObject): ParsedLine => {
  const input = objectAt(event, 'parameters')
  const [path, command] = [geminiPath(input), textAt(input, 'command')]
  const call: OpenCall = {
    id: textAt(event, 'tool_id') ?? '',
    tool: textAt(event, 'tool_name') ?? 'unknown',
    ...(path === undefined ? {} : { path: cut(path) }),
    ...(command === undefined ? {} : { command: cut(command) }),
  }
  const about = call.path ?? call.command
  const text = about === undefined ? call.tool : `${call.tool} ${about}`
  return { transcript: withOpenCall(withTextClosed(withAnswer(reading)), call, input), note: { kind: 'tool', text } }
}

const readToolResult = (reading: Transcript, event: JsonObject): ParsedLine => {
  const id = textAt(event, 'tool_id') ?? ''
  const call = reading.openCalls.find((open) => open.id === id)
  const said = textAt(objectAt(event, 'error'), 'message') ?? textAt(event, 'output') ?? ''
  const answered = call === undefined ? reading : withoutOpenCall(reading, id, said)
  if (textAt(event, 'status') !== 'error') return { transcript: answered }
  const denial = geminiDenial(call, event)
  if (denial !== undefined)
    return { transcript: withDenial(answered, denial), note: { kind: 'denial', text: denial.text } }
  return { transcript: answered, note: { kind: 'tool_error', text: cut(said) } }
}

const loopStop = 'Loop detected, stopping execution'

const readWarning = (reading: Transcript, event: JsonObject): ParsedLine => {
  const message = textAt(event, 'message') ?? 'error'
  if (textAt(event, 'severity') === 'error') {
    const error = geminiEventError(message)
    return { transcript: withError(reading, error), note: { kind: 'error', text: error.text } }
  }
  if (!message.startsWith(loopStop)) return { transcript: reading, note: { kind: 'text', text: cut(message) } }
  return { transcript: { ...reading, loopStopped: true }, note: { kind: 'error', text: cut(message) } }
}

/** The counts cover this launch only, also when it resumed a session. */
const withStats = (reading: Transcript, stats: JsonObject | undefined): Transcript => {
  const [input, output] = [numberAt(stats, 'input_tokens'), numberAt(stats, 'output_tokens')]
  if (input === undefined && output === undefined) return reading
  return {
    ...reading,
    tokens: { input: input ?? 0, output: output ?? 0, cachedInput: numberAt(stats, 'cached') ?? 0 },
  }
}

const readResult = (reading: Transcript, event: JsonObject): ParsedLine => {
  const counted = withTextClosed(withStats(withoutRetry(reading), objectAt(event, 'stats')))
  const status = textAt(event, 'status') ?? 'unknown'
  if (status === 'success') {
    const final = { isError: false, reason: status, text: counted.lastText }
    return { transcript: { ...counted, final }, note: { kind: 'result', text: final.text } }
  }
  const given = objectAt(event, 'error')
  // A result without an error refers to the error event before it (an empty response).
  const before = given === undefined ? counted.errors.at(-1) : undefined
  const error = before ?? geminiResultError(given, textAt(event, 'timestamp'))
  const final = { isError: true, reason: status, text: error.text }
  return { transcript: { ...withError(counted, error), final }, note: { kind: 'error', text: error.text } }
}

const readEvent = (reading: Transcript, event: JsonObject): ParsedLine | undefined => {
  const type = textAt(event, 'type')
  if (type === 'init') return readInit(reading, event)
  if (type === 'message') return readMessage(reading, event)
  if (type === 'tool_use') return readToolUse(reading, event)
  if (type === 'tool_result') return readToolResult(reading, event)
  if (type === 'error') return readWarning(reading, event)
  return type === 'result' ? readResult(reading, event) : undefined
}

/** Standard error reports the CLI's own retries, also when Gemini runs as an ACP agent. */
export const readGeminiStderr = (reading: Transcript, line: string): ParsedLine => {
  const text = withoutColours(line)
  const kept = withStderr(reading, text)
  const retry = geminiRetry(text, reading.retry)
  if (retry === undefined) return { transcript: kept }
  return { transcript: { ...kept, retry }, note: { kind: 'error', text: retry.error.text } }
}

export const readGemini = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  if (stream === 'stderr') return readGeminiStderr(reading, line)
  if (line.trim() === '') return { transcript: reading }
  const event = parseLine(line)
  const step = event === undefined ? undefined : readEvent(reading, event)
  return step ?? { transcript: withForeignLine(reading) }
}
