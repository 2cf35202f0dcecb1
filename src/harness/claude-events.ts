/**
 * Parses the stream-json output of Claude Code. An event is recognized by its `type`; anything else is a foreign line. The model's
 * words go into `lastText` and notes only, and are never searched for failures.
 */
import { claudeAssistantError, claudeResultError, claudeRetryError } from './claude-errors.ts'
import { claudeDenial, claudeListedDenial, claudePath } from './claude-denials.ts'
import { epochReset } from '../recovery/reset-time.ts'
import type { AgentNote, OpenCall, Transcript, Tokens } from './driver.ts'
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

const withSession = (reading: Transcript, event: JsonObject): Transcript => {
  const sessionId = sessionIdOf(textAt(event, 'session_id'))
  return sessionId === undefined || sessionId === reading.sessionId ? reading : { ...reading, sessionId }
}

const readInit = (reading: Transcript, event: JsonObject): ParsedLine => {
  const [model, cliVersion, cwd] = [textAt(event, 'model'), textAt(event, 'claude_code_version'), textAt(event, 'cwd')]
  return {
    transcript: {
      ...reading,
      ...defined({ model, cliVersion, cwd }),
    },
  }
}

const readRetry = (reading: Transcript, event: JsonObject): ParsedLine => {
  const error = claudeRetryError(event)
  const [attempt, max, delayMs] = [
    numberAt(event, 'attempt') ?? 1,
    numberAt(event, 'max_retries'),
    numberAt(event, 'retry_delay_ms'),
  ]
  const retry = {
    attempt,
    ...defined({ max, delayMs }),
    error,
  }
  return { transcript: { ...reading, retry }, note: { kind: 'error', text: `${error.text} (attempt ${attempt})` } }
}

const readSystem = (reading: Transcript, event: JsonObject): ParsedLine => {
  const subtype = textAt(event, 'subtype')
  if (subtype === 'init') return readInit(reading, event)
  if (subtype === 'api_retry') return readRetry(reading, event)
  return { transcript: reading }
}

const readLimit = (reading: Transcript, event: JsonObject): ParsedLine => {
  const info = objectAt(event, 'rate_limit_info')
  if (textAt(info, 'status') !== 'rejected') {
    const { limit: _over, ...rest } = reading
    return { transcript: rest }
  }
  const resetAt = epochReset(numberAt(info, 'resetsAt') ?? Number.NaN)
  const code = textAt(info, 'rateLimitType')
  const limit = {
    ...defined({ resetAt, code }),
  }
  return { transcript: { ...reading, limit } }
}

/** A running count, so that a launch without a final event has one too; the final event's count replaces it. */
const addUsage = (tokens: Tokens, usage: JsonObject | undefined): Tokens => {
  const cached = numberAt(usage, 'cache_read_input_tokens') ?? 0
  const created = numberAt(usage, 'cache_creation_input_tokens') ?? 0
  return {
    input: tokens.input + (numberAt(usage, 'input_tokens') ?? 0) + cached + created,
    output: tokens.output + (numberAt(usage, 'output_tokens') ?? 0),
    cachedInput: tokens.cachedInput + cached,
  }
}

const callOf = (block: JsonObject): OpenCall => {
  const input = objectAt(block, 'input')
  const [path, command] = [claudePath(input), textAt(input, 'command')]
  return {
    id: textAt(block, 'id') ?? '',
    tool: textAt(block, 'name') ?? 'unknown',
    ...(path === undefined ? {} : { path: cut(path) }),
    ...(command === undefined ? {} : { command: cut(command) }),
  }
}

const readToolUse = (reading: Transcript, block: JsonObject): ParsedLine => {
  const call = callOf(block)
  const about = call.path ?? call.command
  const text = about === undefined ? call.tool : `${call.tool} ${about}`
  return { transcript: withOpenCall(reading, call, objectAt(block, 'input')), note: { kind: 'tool', text } }
}

const withUsage = (reading: Transcript, message: JsonObject | undefined): Transcript => {
  const id = textAt(message, 'id')
  if (id === undefined || id === reading.countedMessage) return reading
  return { ...reading, countedMessage: id, tokens: addUsage(reading.tokens, objectAt(message, 'usage')) }
}

const readAnswer = (reading: Transcript, message: JsonObject | undefined, isMain: boolean): ParsedLine => {
  let step: ParsedLine = { transcript: withUsage(withoutRetry(reading), message) }
  for (const block of objectsAt(message, 'content')) {
    if (textAt(block, 'type') === 'tool_use') step = readToolUse(step.transcript, block)
    const text = textAt(block, 'type') === 'text' ? textAt(block, 'text') : undefined
    if (text === undefined || text === '') continue
    const reading = isMain ? { ...step.transcript, lastText: cutText(text) } : step.transcript
    step = { transcript: reading, note: { kind: 'text', text: cutText(text) } }
  }
  return step
}

const readAssistant = (reading: Transcript, event: JsonObject): ParsedLine => {
  const message = objectAt(event, 'message')
  // Events of a subagent name the call that started it. Its failure is a failure of that call, not of the launch.
  const isMain = textAt(event, 'parent_tool_use_id') === undefined
  const code = textAt(event, 'error')
  if (code === undefined) return readAnswer(reading, message, isMain)
  const text = textAt(objectsAt(message, 'content')[0], 'text') ?? code
  const note: AgentNote = { kind: 'error', text: cut(text) }
  return { transcript: isMain ? withError(reading, claudeAssistantError(reading, code, text)) : reading, note }
}

const contentOf = (block: JsonObject): string =>
  textAt(block, 'content') ?? textAt(objectsAt(block, 'content')[0], 'text') ?? ''

const readToolResult = (reading: Transcript, block: JsonObject): ParsedLine => {
  const id = textAt(block, 'tool_use_id') ?? ''
  const call = reading.openCalls.find((open) => open.id === id)
  const content = contentOf(block)
  const answered = call === undefined ? reading : withoutOpenCall(reading, id, content)
  if (block['is_error'] !== true) return { transcript: answered }
  const denial = claudeDenial(call, content, reading.cwd)
  if (denial === undefined) return { transcript: answered, note: { kind: 'tool_error', text: cut(content) } }
  return { transcript: withDenial(answered, denial), note: { kind: 'denial', text: denial.text } }
}

const readUser = (reading: Transcript, event: JsonObject): ParsedLine => {
  let step: ParsedLine = { transcript: reading }
  for (const block of objectsAt(objectAt(event, 'message'), 'content')) {
    if (textAt(block, 'type') !== 'tool_result') continue
    const next = readToolResult(step.transcript, block)
    step = next.note === undefined ? { ...step, transcript: next.transcript } : next
  }
  return step
}

/**
 * Prefers `modelUsage`, which matches `total_cost_usd`; `usage` omits side requests and the cost of a retried stream. Both count this
 * launch only, also when it resumed a session.
 */
const tokensOf = (result: JsonObject, counted: Tokens): Tokens => {
  const models = objectAt(result, 'modelUsage')
  if (models === undefined) {
    const usage = objectAt(result, 'usage')
    return usage === undefined ? counted : addUsage({ input: 0, output: 0, cachedInput: 0 }, usage)
  }
  const total = { input: 0, output: 0, cachedInput: 0 }
  for (const name of Object.keys(models)) {
    const usage = objectAt(models, name)
    const cached = numberAt(usage, 'cacheReadInputTokens') ?? 0
    total.input += (numberAt(usage, 'inputTokens') ?? 0) + (numberAt(usage, 'cacheCreationInputTokens') ?? 0) + cached
    total.output += numberAt(usage, 'outputTokens') ?? 0
    total.cachedInput += cached
  }
  return total
}

const readResult = (reading: Transcript, event: JsonObject): ParsedLine => {
  const costUsd = numberAt(event, 'total_cost_usd')
  // `is_error` decides, not the subtype. A result without `is_error` counts as an error.
  const isError = event['is_error'] !== false
  let next: Transcript = {
    ...reading,
    tokens: tokensOf(event, reading.tokens),
    ...defined({ costUsd }),
  }
  for (const entry of objectsAt(event, 'permission_denials')) {
    const denial = claudeListedDenial(entry, reading.cwd)
    if (denial !== undefined) next = withDenial(next, denial)
  }
  const error = isError ? claudeResultError(reading, event) : undefined
  if (error !== undefined) next = withError(next, error)
  const text = error?.text ?? cutText(textAt(event, 'result') ?? '')
  const reason = textAt(event, 'terminal_reason') ?? textAt(event, 'subtype') ?? 'unknown'
  return {
    transcript: { ...next, final: { isError, reason, text } },
    note: { kind: isError ? 'error' : 'result', text },
  }
}

const known = new Set(['stream_event', 'control_request', 'control_response', 'keep_alive', 'tool_progress'])

const readEvent = (reading: Transcript, event: JsonObject): ParsedLine | undefined => {
  const type = textAt(event, 'type')
  if (type === 'system') return readSystem(reading, event)
  if (type === 'assistant') return readAssistant(reading, event)
  if (type === 'user') return readUser(reading, event)
  if (type === 'rate_limit_event') return readLimit(reading, event)
  if (type === 'result') return readResult(reading, event)
  return type !== undefined && known.has(type) ? { transcript: reading } : undefined
}

export const readClaude = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  if (stream === 'stderr') return { transcript: withStderr(reading, line) }
  if (line.trim() === '') return { transcript: reading }
  const event = parseLine(line)
  const step = event === undefined ? undefined : readEvent(withSession(reading, event), event)
  return step ?? { transcript: withForeignLine(reading) }
}
