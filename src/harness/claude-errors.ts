/**
 * Maps Claude Code's failures to types, from structured fields (reason, error enum, status, the retry in progress, the limit event).
 * The CLI's sentences are used only where the fields say no more than `server_error` or `unknown`.
 */
import type { FaultType, Transcript, ReportedError } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, textAt, textsAt } from './json-line.ts'
import type { KnownSentence } from './transcript.ts'
import { cut, faultOfStatus, stderrError } from './transcript.ts'
import { defined } from '../domain/defined.ts'

const enumTypes: Record<string, FaultType> = {
  authentication_failed: 'authentication_failed',
  oauth_org_not_allowed: 'authentication_failed',
  billing_error: 'billing_error',
  rate_limit: 'rate_limit',
  overloaded: 'overloaded',
  invalid_request: 'invalid_request',
  model_not_found: 'model_not_found',
  server_error: 'server_error',
  max_output_tokens: 'max_output_tokens',
}

const reasonTypes: Record<string, FaultType> = {
  prompt_too_long: 'prompt_too_long',
  aborted_tools: 'aborted',
  aborted_streaming: 'aborted',
  error_max_turns: 'max_turns',
  error_max_budget_usd: 'max_budget',
  refusal: 'refusal',
}

const sentences: KnownSentence[] = [
  { starts: /^No conversation found with session ID: /, type: 'session_not_found' },
  { starts: /^API Error: Repeated 529 Overloaded errors\./, type: 'overloaded', httpStatus: 529 },
  { starts: /^API Error: Unable to connect to API/, type: 'network' },
  // An HTML page, from a proxy that is broken temporarily or permanently.
  { starts: /^API Error: API returned an empty or malformed response/, type: 'server_error' },
  { starts: /^(?:API Error: The operation|Request) timed out/, type: 'timeout' },
]

const stderrSentences: KnownSentence[] = [
  { starts: /^No conversation found with session ID: /, type: 'session_not_found' },
  { starts: /^Error: Session ID \S+ is already in use\./, type: 'session_busy' },
  {
    starts: /^error: (?:unknown option|option '|unknown command|too many arguments|missing required)/,
    type: 'bad_flag',
  },
  {
    starts: /^(?:Error: )?(?:(?:EACCES|EPERM): )?(?:permission denied|operation not permitted)\b(?! \(publickey)/i,
    type: 'filesystem',
  },
  { starts: /^--dangerously-skip-permissions cannot be used with root/, type: 'bad_flag' },
]

const stderrNoise = /^Warning: no stdin data received/

export const claudeStderrError = (reading: Transcript): ReportedError | undefined =>
  stderrError(reading, stderrSentences, stderrNoise)

/** Only own properties count, because the key comes from outside (`constructor` is no error type). */
const typeIn = (table: Record<string, FaultType>, key: string | undefined): FaultType | undefined =>
  key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined

interface Parts {
  type: FaultType | undefined
  code: string | undefined
  httpStatus: number | undefined
  text: string
}

const reported = ({ type, code, httpStatus, text }: Parts): ReportedError => ({
  source: 'event',
  ...defined({ type, code, httpStatus }),
  text: cut(text),
})

/** A rate limit after a limit event is the subscription's limit, and the event has the time of its reset. */
const withLimit = (error: ReportedError, reading: Transcript): ReportedError => {
  const { limit } = reading
  if (error.type !== 'rate_limit' || limit === undefined) return error
  return {
    ...error,
    type: 'usage_limit',
    ...defined({ code: limit.code, resetAt: limit.resetAt }),
  }
}

/** From the `error` field of an assistant message that the CLI itself wrote. */
export const claudeAssistantError = (reading: Transcript, code: string, text: string): ReportedError => {
  const known = typeIn(enumTypes, code)
  if (known !== undefined && known !== 'server_error')
    return withLimit(reported({ type: known, code, httpStatus: undefined, text }), reading)
  const sentence = sentences.find((candidate) => candidate.starts.test(text))
  const type = sentence?.type ?? reading.retry?.error.type ?? known
  return reported({ type, code, httpStatus: sentence?.httpStatus ?? reading.retry?.error.httpStatus, text })
}

/** From a `system/api_retry` event. Its status is null when there was no response at all. */
export const claudeRetryError = (event: JsonObject): ReportedError => {
  const code = textAt(event, 'error')
  const httpStatus = numberAt(event, 'error_status')
  const type = event['error_status'] === null && code === 'unknown' ? 'network' : typeIn(enumTypes, code)
  return reported({ type, code, httpStatus, text: `API retry: ${code ?? 'unknown'}` })
}

/** From a final event with `is_error`. */
export const claudeResultError = (reading: Transcript, result: JsonObject): ReportedError => {
  const subtype = textAt(result, 'subtype')
  const text = textAt(result, 'result') ?? (textsAt(result, 'errors').join('\n') || (subtype ?? 'error'))
  const status = numberAt(result, 'api_error_status')
  const before = reading.errors.at(-1)
  const same = before?.text === cut(text) ? before : undefined
  const code = same?.code ?? (subtype === 'success' ? undefined : subtype)
  const type =
    typeIn(reasonTypes, textAt(result, 'terminal_reason')) ??
    typeIn(reasonTypes, subtype) ??
    typeIn(reasonTypes, textAt(result, 'stop_reason')) ??
    same?.type ??
    sentences.find((sentence) => sentence.starts.test(text))?.type ??
    faultOfStatus(status)
  return withLimit(reported({ type, code, httpStatus: status ?? same?.httpStatus, text }), reading)
}
