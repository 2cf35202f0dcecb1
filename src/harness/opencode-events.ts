/**
 * Parses the `--format json` output of `opencode run`. It has no final event: a step that ends with `stop` is the end unless another
 * step begins. Tool calls are reported when they are over. The CLI's own retries have no event, but each of these is a retry: a step
 * that begins again, a step that ends for an unknown reason, and a line of the log.
 */
import type { FaultType, OpenCall, Transcript } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, parseLine, textAt } from './json-line.ts'
import { opencodeDenial, opencodePath } from './opencode-denials.ts'
import { opencodeError, opencodeLogRetry } from './opencode-errors.ts'
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
  withoutColours,
  withoutOpenCall,
  withoutRetry,
} from './transcript.ts'
import { defined } from '../domain/defined.ts'

const withoutFinal = (reading: Transcript): Transcript => {
  if (reading.final === undefined) return reading
  const { final: _before, ...rest } = reading
  return rest
}

const withRetry = (reading: Transcript, type: FaultType, text: string): Transcript => ({
  ...reading,
  retry: { attempt: (reading.retry?.attempt ?? 0) + 1, error: { source: 'event', type, text } },
})

/** `countedMessage` is the message of the open step. The same message again means that the response broke off. */
const readStepStart = (reading: Transcript, part: JsonObject | undefined): ParsedLine => {
  const message = textAt(part, 'messageID')
  const again = message !== undefined && message === reading.countedMessage
  const open = { ...withoutFinal(reading), ...defined({ countedMessage: message }) }
  if (!again) return { transcript: open }
  return { transcript: withRetry(open, 'network', 'the response broke off and is requested again') }
}

/** The CLI compacts a conversation that stays too long forever, so each compaction counts as a retry until a tool is used again. */
const withCompaction = (reading: Transcript): Transcript => {
  const compactions = (reading.compactions ?? 0) + 1
  const text = 'the conversation is too long for the model and was compacted'
  return {
    ...reading,
    compactions,
    retry: { attempt: compactions, error: { source: 'event', type: 'prompt_too_long', text } },
  }
}

/** The CLI's own message to the model after a compaction: the end of the summary was not the end of the turn. */
const isCompactionContinue = (part: JsonObject | undefined): boolean =>
  objectAt(part, 'metadata')?.['compaction_continue'] === true

const readText = (reading: Transcript, part: JsonObject | undefined): ParsedLine => {
  if (isCompactionContinue(part)) return { transcript: withCompaction(withoutFinal(reading)) }
  const text = textAt(part, 'text')
  if (text === undefined) return { transcript: reading }
  return {
    transcript: { ...withoutRetry(reading), lastText: cutText(text) },
    note: { kind: 'text', text: cutText(text) },
  }
}

const readTool = (reading: Transcript, part: JsonObject | undefined): ParsedLine => {
  const state = objectAt(part, 'state')
  const input = objectAt(state, 'input')
  const [path, command] = [opencodePath(input), textAt(input, 'command')]
  const call: OpenCall = {
    id: textAt(part, 'callID') ?? '',
    tool: textAt(part, 'tool') ?? 'unknown',
    ...(path === undefined ? {} : { path: cut(path) }),
    ...(command === undefined ? {} : { command: cut(command) }),
  }
  const { compactions: _before, ...working } = withoutRetry(reading)
  // A reported call is already over, so it is counted but never open.
  const answer = textAt(state, 'output') ?? textAt(state, 'error') ?? ''
  const counted = withoutOpenCall(withOpenCall(working, call, input), call.id, answer)
  const denial = opencodeDenial(call, state, input)
  if (denial !== undefined)
    return { transcript: withDenial(counted, denial), note: { kind: 'denial', text: denial.text } }
  const about = call.path ?? call.command
  const text = about === undefined ? call.tool : `${call.tool} ${about}`
  if (textAt(state, 'status') !== 'error') return { transcript: counted, note: { kind: 'tool', text } }
  return { transcript: counted, note: { kind: 'tool_error', text: cut(`${text}: ${textAt(state, 'error') ?? ''}`) } }
}

const withUsage = (reading: Transcript, part: JsonObject | undefined): Transcript => {
  const tokens = objectAt(part, 'tokens')
  const cache = objectAt(tokens, 'cache')
  const cached = numberAt(cache, 'read') ?? 0
  const cost = numberAt(part, 'cost')
  return {
    ...reading,
    tokens: {
      // Unlike other CLIs it reports cache tokens separately from input, and reasoning separately from output.
      input: reading.tokens.input + (numberAt(tokens, 'input') ?? 0) + cached + (numberAt(cache, 'write') ?? 0),
      output: reading.tokens.output + (numberAt(tokens, 'output') ?? 0) + (numberAt(tokens, 'reasoning') ?? 0),
      cachedInput: reading.tokens.cachedInput + cached,
    },
    ...(cost === undefined ? {} : { costUsd: (reading.costUsd ?? 0) + cost }),
  }
}

/** The step is over, so the same message again is its next step and not a retry. */
const withoutMessage = (reading: Transcript): Transcript => {
  const { countedMessage: _over, ...rest } = reading
  return rest
}

const endings: Record<string, { type: FaultType; text: string }> = {
  length: { type: 'max_output_tokens', text: 'the response reached its maximum length' },
  'content-filter': { type: 'refusal', text: "the response was stopped by the provider's content filter" },
}

const readStepFinish = (reading: Transcript, part: JsonObject | undefined): ParsedLine => {
  const counted = withoutMessage(withUsage(reading, part))
  const reason = textAt(part, 'reason') ?? 'unknown'
  if (reason === 'stop') {
    const final = { isError: false, reason, text: counted.lastText }
    return { transcript: { ...withoutRetry(counted), final }, note: { kind: 'result', text: final.text } }
  }
  if (reason === 'tool-calls') return { transcript: counted }
  const bad = Object.hasOwn(endings, reason) ? endings[reason] : undefined
  if (bad === undefined)
    return {
      transcript: withRetry(
        counted,
        'server_error',
        'the response was empty or could not be parsed and is requested again',
      ),
    }
  const failed = withError(withoutRetry(counted), { source: 'event', code: reason, ...bad })
  return {
    transcript: { ...failed, final: { isError: true, reason, text: bad.text } },
    note: { kind: 'error', text: bad.text },
  }
}

/** An error is not the end yet: after `prompt_too_long` the CLI compacts the conversation and continues. */
const readError = (reading: Transcript, event: JsonObject): ParsedLine => {
  const error = opencodeError(objectAt(event, 'error'), numberAt(event, 'timestamp'))
  const failed = withError(withoutFinal(reading), error)
  const next = error.type === 'prompt_too_long' ? withRetry(failed, error.type, error.text) : failed
  return { transcript: next, note: { kind: 'error', text: error.text } }
}

const readEvent = (reading: Transcript, event: JsonObject): ParsedLine | undefined => {
  const type = textAt(event, 'type')
  const part = objectAt(event, 'part')
  if (type === 'step_start') return readStepStart(reading, part)
  if (type === 'text') return readText(reading, part)
  if (type === 'tool_use') return readTool(reading, part)
  if (type === 'step_finish') return readStepFinish(reading, part)
  if (type === 'error') return readError(reading, event)
  return type === 'reasoning' ? { transcript: reading } : undefined
}

const withSession = (reading: Transcript, event: JsonObject): Transcript => {
  const sessionId = sessionIdOf(textAt(event, 'sessionID'))
  return sessionId === undefined || sessionId === reading.sessionId ? reading : { ...reading, sessionId }
}

const readStderr = (reading: Transcript, line: string): ParsedLine => {
  const kept = withStderr(reading, line)
  const retry = opencodeLogRetry(line)
  return { transcript: retry === undefined ? kept : withRetry(kept, retry.type, retry.text) }
}

export const readOpencode = (reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine => {
  if (stream === 'stderr') return readStderr(reading, withoutColours(line))
  if (line.trim() === '') return { transcript: reading }
  const event = parseLine(line)
  const step = event === undefined ? undefined : readEvent(withSession(reading, event), event)
  return step ?? { transcript: withForeignLine(reading) }
}
