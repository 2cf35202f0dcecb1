/**
 * Parses the bridge's output (`acp-bridge.ts`): the agent's updates unchanged, the bridge's own decisions, and one `result` or
 * `error` at the end. Only refusals by the bridge are denials.
 */
import type { Denial, FaultType, OpenCall, Transcript, ReportedError } from './driver.ts'
import { geminiApiError } from './gemini-errors.ts'
import { readGeminiStderr } from './gemini-events.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, objectsAt, parseLine, textAt } from './json-line.ts'
import type { ParsedLine } from './transcript.ts'
import {
  cut,
  faultOfStatus,
  sessionIdOf,
  withDenial,
  withError,
  withForeignLine,
  withOpenCall,
  withTextPiece,
  withTextClosed,
  withoutOpenCall,
  withoutRetry,
} from './transcript.ts'
import { defined } from '../domain/defined.ts'

const readInit = (reading: Transcript, event: JsonObject): ParsedLine => {
  const agent = objectAt(event, 'agent')
  const cliVersion = textAt(agent, 'version')
  return { transcript: cliVersion === undefined ? reading : { ...reading, cliVersion } }
}

const readSession = (reading: Transcript, event: JsonObject): ParsedLine => {
  const [sessionId, cwd] = [sessionIdOf(textAt(event, 'sessionId')), textAt(event, 'cwd')]
  const placed = cwd === undefined ? reading : { ...reading, cwd }
  if (sessionId === undefined) return { transcript: placed }
  // If the agent cannot load sessions, this one cannot be resumed.
  return { transcript: { ...placed, [event['canLoad'] === true ? 'sessionId' : 'announcedSession']: sessionId } }
}

const callOf = (update: JsonObject): OpenCall => {
  const path = textAt(objectsAt(update, 'locations')[0], 'path')
  const command = textAt(objectAt(update, 'rawInput'), 'command')
  return {
    id: textAt(update, 'toolCallId') ?? '',
    tool: textAt(update, 'name') ?? textAt(update, 'kind') ?? 'other',
    ...(path === undefined ? {} : { path: cut(path) }),
    ...(command === undefined ? {} : { command: cut(command) }),
  }
}

const aboutOf = (call: OpenCall, update: JsonObject): string =>
  cut(`${call.tool} ${call.command ?? call.path ?? textAt(update, 'title') ?? ''}`.trim())

/** The call's output; undefined when the agent reports only that the call ended. */
const answerOf = (update: JsonObject): string | undefined => {
  const answer = update['rawOutput'] ?? update['content']
  return answer === undefined ? undefined : JSON.stringify(answer)
}

const readCall = (reading: Transcript, update: JsonObject): ParsedLine => {
  const call = callOf(update)
  const isNew = textAt(update, 'sessionUpdate') === 'tool_call'
  const opened = isNew ? withOpenCall(withTextClosed(reading), call, objectAt(update, 'rawInput')) : reading
  const status = textAt(update, 'status')
  const closed =
    status === 'completed' || status === 'failed' ? withoutOpenCall(opened, call.id, answerOf(update)) : opened
  if (status === 'failed') return { transcript: closed, note: { kind: 'tool_error', text: aboutOf(call, update) } }
  return isNew ? { transcript: closed, note: { kind: 'tool', text: aboutOf(call, update) } } : { transcript: closed }
}

const withCost = (reading: Transcript, cost: JsonObject | undefined): Transcript => {
  const amount = textAt(cost, 'currency') === 'USD' ? numberAt(cost, 'amount') : undefined
  return amount === undefined ? reading : { ...reading, costUsd: amount }
}

const readUpdate = (reading: Transcript, update: JsonObject | undefined): ParsedLine => {
  const kind = textAt(update, 'sessionUpdate')
  if (update === undefined) return { transcript: reading }
  if (kind === 'tool_call' || kind === 'tool_call_update') return readCall(reading, update)
  if (kind === 'usage_update') return { transcript: withCost(reading, objectAt(update, 'cost')) }
  const text = kind === 'agent_message_chunk' ? textAt(objectAt(update, 'content'), 'text') : undefined
  if (text === undefined) return { transcript: reading }
  return { transcript: withTextPiece(reading, text), note: { kind: 'text', text: cut(text) } }
}

const readPermission = (reading: Transcript, event: JsonObject): ParsedLine => {
  const requested = objectAt(event, 'toolCall') ?? {}
  const call = callOf(requested)
  if (event['allowed'] !== false) {
    // Some agents report a call only by requesting permission for it.
    const isOpen = reading.openCalls.some((open) => open.id === call.id)
    return { transcript: isOpen ? reading : withOpenCall(withTextClosed(reading), call) }
  }
  const target = textAt(event, 'target')
  const kind: Denial['kind'] = textAt(event, 'kind') === 'scope' ? 'scope' : 'tool'
  const denial: Denial = {
    kind,
    tool: call.tool,
    ...(target === undefined ? {} : { target: cut(target) }),
    text: cut(`permission for ${textAt(requested, 'title') ?? call.tool} was not granted`),
    callId: call.id,
  }
  return { transcript: withDenial(reading, denial), note: { kind: 'denial', text: denial.text } }
}

const stopTypes: Record<string, { type: FaultType; text: string }> = {
  max_tokens: { type: 'max_output_tokens', text: 'the response reached its maximum length' },
  max_turn_requests: { type: 'max_turns', text: 'the agent reached its limit of requests per turn' },
  refusal: { type: 'refusal', text: 'the agent refused to continue' },
  cancelled: { type: 'aborted', text: 'the turn was cancelled' },
}

const withUsage = (reading: Transcript, usage: JsonObject | undefined): Transcript => {
  const [input, output] = [numberAt(usage, 'inputTokens'), numberAt(usage, 'outputTokens')]
  if (input === undefined && output === undefined) return reading
  const cachedInput = numberAt(usage, 'cachedReadTokens') ?? 0
  const written = numberAt(usage, 'cachedWriteTokens') ?? 0
  return { ...reading, tokens: { input: (input ?? 0) + cachedInput + written, output: output ?? 0, cachedInput } }
}

const readResult = (reading: Transcript, event: JsonObject): ParsedLine => {
  const reason = textAt(event, 'stopReason') ?? 'unknown'
  const ended = withTextClosed(withUsage(reading, objectAt(event, 'usage')))
  if (reason === 'end_turn') {
    const final = { isError: false, reason, text: ended.lastText }
    return { transcript: { ...ended, final }, note: { kind: 'result', text: final.text } }
  }
  const known = Object.hasOwn(stopTypes, reason) ? stopTypes[reason] : undefined
  const error: ReportedError = { source: 'event', code: reason, text: `the turn ended with ${cut(reason)}`, ...known }
  const final = { isError: true, reason, text: error.text }
  return { transcript: { ...withError(ended, error), final }, note: { kind: 'error', text: error.text } }
}

const codeTypes: Record<number, FaultType> = {
  [-32_000]: 'authentication_failed',
  [-32_002]: 'session_not_found',
  [-32_601]: 'bad_config',
}

/** Codes about a session or a method are valid only at the stage that requested one. */
const typeOf = (stage: string, code: number | undefined, loading: boolean): FaultType | undefined => {
  if (code === -32_000) return 'authentication_failed'
  // A session that cannot be loaded is lost, whatever code the agent gives (Gemini: an internal error).
  if (stage === 'session' && loading) return 'session_not_found'
  return stage === 'prompt' ? undefined : codeTypes[code ?? 0]
}

/** Gemini passes on the HTTP status of its model's API as the code, and the API's response as the message. */
const apiResponse = (code: number, message: string): ReportedError | undefined => {
  if (code < 400 || code >= 600) return undefined
  const said = geminiApiError(message, undefined)
  const type = said.type ?? faultOfStatus(code)
  return { httpStatus: code, ...said, ...defined({ type }) }
}

/** Codex puts the cause beside `Internal error`: into `data`, as `{message}`, `{details}` or a text. */
const causeIn = (event: JsonObject): string | undefined => {
  const data = objectAt(event, 'data')
  const inner = objectAt(data, 'error')
  return [textAt(event, 'data'), textAt(data, 'message'), textAt(inner, 'message'), textAt(data, 'details')].find(
    (text) => text !== undefined && text.trim() !== '',
  )
}

const readError = (reading: Transcript, event: JsonObject): ParsedLine => {
  const stage = textAt(event, 'stage') ?? 'prompt'
  const code = numberAt(event, 'code')
  const message = causeIn(event) ?? textAt(event, 'message') ?? 'error'
  const type = typeOf(stage, code, event['loading'] === true)
  const ended = numberAt(event, 'agentCode') ?? textAt(event, 'agentSignal')
  const response = stage === 'prompt' && code !== undefined ? apiResponse(code, message) : undefined
  const error: ReportedError = {
    source: 'event',
    ...response,
    ...(stage === 'spawn' ? { type: 'bad_config' } : {}),
    ...defined({ type }),
    ...(code === undefined ? {} : { code: String(code) }),
    text: response?.text ?? cut(`${stage}: ${message}${ended === undefined ? '' : ` (the agent ended with ${ended})`}`),
  }
  return { transcript: withError(reading, error), note: { kind: 'error', text: error.text } }
}

const readEvent = (reading: Transcript, event: JsonObject): ParsedLine | undefined => {
  const type = textAt(event, 'type')
  if (type === 'init') return readInit(reading, event)
  if (type === 'session') return readSession(reading, event)
  if (type === 'update') return readUpdate(withoutRetry(reading), objectAt(event, 'update'))
  if (type === 'permission') return readPermission(reading, event)
  if (type === 'result') return readResult(withoutRetry(reading), event)
  return type === 'error' ? readError(reading, event) : undefined
}

export const readAcp = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  // Gemini is the only agent known to report its own retries, on standard error.
  if (stream === 'stderr') return readGeminiStderr(reading, line)
  if (line.trim() === '') return { transcript: reading }
  const event = parseLine(line)
  const step = event === undefined ? undefined : readEvent(reading, event)
  return step ?? { transcript: withForeignLine(reading) }
}
