/**
 * Parses the `--json` output of `codex exec`. An event is recognized by its `type`; anything else is a foreign line. The output of
 * commands and the model's words go into notes and `lastText` only, and are never searched for failures.
 */
import { codexDenial } from './codex-denials.ts'
import { codexError, codexRetry } from './codex-errors.ts'
import type { AgentNote, Denial, OpenCall, Transcript } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, objectsAt, parseLine, textAt } from './json-line.ts'
import type { ParsedLine } from './transcript.ts'
import {
  cut,
  cutText,
  sessionIdOf,
  withDenial,
  withError,
  withForeignLine,
  withOpenCall,
  withStderr,
  withoutOpenCall,
  withoutRetry,
} from './transcript.ts'
import { defined } from '../domain/defined.ts'

const tools = new Set(['command_execution', 'file_change', 'mcp_tool_call', 'web_search'])

const callOf = (item: JsonObject): OpenCall => {
  const path = textAt(objectsAt(item, 'changes')[0], 'path')
  const command = textAt(item, 'command')
  return {
    id: textAt(item, 'id') ?? '',
    tool: textAt(item, 'type') ?? 'unknown',
    ...(path === undefined ? {} : { path: cut(path) }),
    ...(command === undefined ? {} : { command: cut(command) }),
  }
}

/** A failed patch has paths but no reason; a declined command was refused by the reviewer. A failed command is no refusal. */
const denialsOf = (item: JsonObject, call: OpenCall): Denial[] => {
  const status = textAt(item, 'status')
  if (call.tool === 'file_change' && status === 'failed') {
    const paths = objectsAt(item, 'changes').flatMap((change) => textAt(change, 'path') ?? [])
    return paths.map((path) => ({ kind: 'filesystem', tool: call.tool, target: cut(path), text: 'file change failed' }))
  }
  if (status !== 'declined') return []
  const target = call.command ?? call.path
  return [{ kind: 'tool', tool: call.tool, ...defined({ target }), text: `${call.tool} declined` }]
}

/** A file change reports only its paths, so two changes of one file cannot be compared. */
const inputOf = (item: JsonObject): unknown =>
  textAt(item, 'type') === 'file_change'
    ? undefined
    : [item['command'], item['server'], item['tool'], item['arguments'], item['query']]

// The output is appended as it is: it may be long, and encoding it as JSON would cost more than parsing it did.
const answerOf = (item: JsonObject): string =>
  `${JSON.stringify([item['exit_code'], item['result'], item['error'], item['status']])} ${textAt(item, 'aggregated_output') ?? ''}`

const started = (reading: Transcript, item: JsonObject, call: OpenCall): ParsedLine => ({
  transcript: withOpenCall(reading, call, inputOf(item)),
  note: { kind: 'tool', text: call.command ?? call.path ?? call.tool },
})

const completed = (reading: Transcript, item: JsonObject, call: OpenCall): ParsedLine => {
  const isOpen = reading.openCalls.some((open) => open.id === call.id)
  // Not every call reports its start.
  const counted = isOpen ? reading : withOpenCall(reading, call, inputOf(item))
  const denials = denialsOf(item, call)
  const next = denials.reduce(withDenial, withoutOpenCall(counted, call.id, answerOf(item)))
  const about = call.command ?? call.path ?? call.tool
  const [denial] = denials
  if (denial !== undefined) return { transcript: next, note: { kind: 'denial', text: `${denial.text}: ${about}` } }
  return textAt(item, 'status') === 'failed'
    ? { transcript: next, note: { kind: 'tool_error', text: about } }
    : { transcript: next }
}

const readItem = (reading: Transcript, event: JsonObject, phase: string): ParsedLine => {
  const item = objectAt(event, 'item')
  const type = textAt(item, 'type')
  if (item === undefined || type === undefined) return { transcript: withForeignLine(reading) }
  const text = textAt(item, 'text')
  // An `error` item is a warning (fallback metadata, fallback transport), neither a failure nor a response.
  if (type === 'error')
    return { transcript: reading, note: { kind: 'text', text: cut(textAt(item, 'message') ?? 'warning') } }
  const answered = withoutRetry(reading)
  if (type === 'agent_message' && text !== undefined)
    return { transcript: { ...answered, lastText: cutText(text) }, note: { kind: 'text', text: cutText(text) } }
  if (!tools.has(type)) return { transcript: answered }
  const call = callOf(item)
  if (phase === 'item.completed') return completed(answered, item, call)
  return phase === 'item.started' ? started(answered, item, call) : { transcript: answered }
}

const readCompleted = (reading: Transcript, event: JsonObject): ParsedLine => {
  const usage = objectAt(event, 'usage')
  const final = { isError: false, reason: 'completed', text: reading.lastText }
  const tokens = {
    // `input_tokens` includes cached input, and all three count the whole thread with its resumed turns.
    input: numberAt(usage, 'input_tokens') ?? 0,
    output: numberAt(usage, 'output_tokens') ?? 0,
    cachedInput: numberAt(usage, 'cached_input_tokens') ?? 0,
  }
  return { transcript: { ...withoutRetry(reading), tokens, final }, note: { kind: 'result', text: reading.lastText } }
}

const readError = (reading: Transcript, message: string, isFinal: boolean): ParsedLine => {
  const note: AgentNote = { kind: 'error', text: cut(message) }
  const retry = isFinal ? undefined : codexRetry(message)
  if (retry !== undefined) return { transcript: { ...reading, retry }, note }
  const error = codexError(message)
  const next = withError(reading, error)
  return {
    transcript: isFinal ? { ...next, final: { isError: true, reason: 'failed', text: error.text } } : next,
    note,
  }
}

const readThread = (reading: Transcript, event: JsonObject): ParsedLine => {
  const sessionId = sessionIdOf(textAt(event, 'thread_id'))
  return { transcript: sessionId === undefined ? reading : { ...reading, sessionId } }
}

const readEvent = (reading: Transcript, event: JsonObject): ParsedLine | undefined => {
  const type = textAt(event, 'type')
  if (type === 'thread.started') return readThread(reading, event)
  // A new turn has no final event yet.
  if (type === 'turn.started') {
    const { final: _before, ...rest } = reading
    return { transcript: rest }
  }
  if (type === 'turn.completed') return readCompleted(reading, event)
  if (type === 'turn.failed')
    return readError(reading, textAt(objectAt(event, 'error'), 'message') ?? 'turn failed', true)
  if (type === 'error') return readError(reading, textAt(event, 'message') ?? 'error', false)
  return type?.startsWith('item.') ? readItem(reading, event, type) : undefined
}

const readStderr = (reading: Transcript, line: string): ParsedLine => {
  const kept = withStderr(reading, line)
  const denial = codexDenial(line)
  if (denial === undefined) return { transcript: kept }
  return { transcript: withDenial(kept, denial), note: { kind: 'denial', text: denial.text } }
}

export const readCodex = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  if (stream === 'stderr') return readStderr(reading, line)
  if (line.trim() === '') return { transcript: reading }
  const event = parseLine(line)
  const step = event === undefined ? undefined : readEvent(reading, event)
  return step ?? { transcript: withForeignLine(reading) }
}
