/**
 * Maps OpenCode's failures to types, by the error's name, the provider's code in the response body, the status, and the CLI's sentences
 * when there was no response.
 */
import { fieldReset, retryAfterReset } from '../recovery/reset-time.ts'
import type { FaultType, Transcript, ReportedError } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, parseLine, textAt } from './json-line.ts'
import type { KnownSentence } from './transcript.ts'
import { cut, faultOfStatus, stderrError } from './transcript.ts'
import { defined } from '../domain/defined.ts'

const nameTypes: Record<string, FaultType> = {
  ContextOverflowError: 'prompt_too_long',
  ContentFilterError: 'refusal',
  ProviderAuthError: 'authentication_failed',
  MessageOutputLengthError: 'max_output_tokens',
  MessageAbortedError: 'aborted',
}

/** Codes of providers that are more specific than the status. */
const codeTypes: Record<string, FaultType> = {
  insufficient_quota: 'billing_error',
  usage_limit_reached: 'usage_limit',
  server_is_overloaded: 'overloaded',
  overloaded_error: 'overloaded',
  context_length_exceeded: 'prompt_too_long',
  model_not_found: 'model_not_found',
  not_found_error: 'model_not_found',
}

const sentences: KnownSentence[] = [
  { starts: /^Cannot connect to API: /, type: 'network' },
  { starts: /^Connection reset by server/, type: 'network' },
  { starts: /^SSE read timed out/, type: 'timeout' },
  { starts: /^Provider response headers timed out/, type: 'timeout' },
]

const typeIn = (table: Record<string, FaultType>, key: string | undefined): FaultType | undefined =>
  key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined

/** The time in the body comes first; `Retry-After` counts from the time of the event. */
const resetOf = (
  body: JsonObject | undefined,
  data: JsonObject | undefined,
  at: number | undefined,
): Date | undefined => {
  const stated = fieldReset(body?.['resets_at'])
  if (stated !== undefined) return stated
  const said = new Date(at ?? Number.NaN)
  if (Number.isNaN(said.getTime())) return undefined
  const seconds = numberAt(body, 'resets_in_seconds')
  return retryAfterReset(String(seconds ?? textAt(objectAt(data, 'responseHeaders'), 'retry-after') ?? ''), said)
}

/** From an `error` event. `at` is the time of the event in milliseconds. */
export const opencodeError = (error: JsonObject | undefined, at: number | undefined): ReportedError => {
  const [name, data] = [textAt(error, 'name'), objectAt(error, 'data')]
  const body = objectAt(parseLine(textAt(data, 'responseBody') ?? ''), 'error')
  const text = textAt(data, 'message') ?? name ?? 'error'
  const httpStatus = numberAt(data, 'statusCode')
  const codes = [textAt(body, 'code'), textAt(body, 'type')]
  const known = codes.find((code) => typeIn(codeTypes, code) !== undefined)
  const type =
    typeIn(nameTypes, name) ??
    typeIn(codeTypes, known) ??
    sentences.find((sentence) => sentence.starts.test(text))?.type ??
    faultOfStatus(httpStatus)
  const code = known ?? codes.find((candidate) => candidate !== undefined) ?? name
  const resetAt = resetOf(body, data, at)
  return {
    source: 'event',
    ...defined({ type, code, httpStatus }),
    text: cut(text),
    ...defined({ resetAt }),
  }
}

const stderrSentences: KnownSentence[] = [
  { starts: /^Error: Session not found/, type: 'session_not_found' },
  { starts: /^Error: Config file at .+ is not valid JSON/, type: 'bad_config' },
  { starts: /^Error: Configuration is invalid at /, type: 'bad_config' },
  { starts: /^EACCES: permission denied, /, type: 'filesystem' },
  // For a bad flag the CLI prints only its usage.
  { starts: /^opencode run \[message\.\.\]$/, type: 'bad_flag' },
]

const stderrNoise =
  /^! (?:permission requested: |agent ")|^timestamp=\S+ level=|^Performing one time database migration/

export const opencodeStderrError = (reading: Transcript): ReportedError | undefined =>
  stderrError(reading, stderrSentences, stderrNoise)

const logCauses: KnownSentence[] = [
  { starts: /^ProviderModelNotFoundError: /, type: 'model_not_found' },
  { starts: /^ProviderInitError: /, type: 'bad_config' },
]

/** The cause of an error without a type, from the CLI's log. */
export const opencodeLogCause = (reading: Transcript): { type: FaultType; text: string } | undefined => {
  for (const line of reading.stderrTail) {
    const said = /^timestamp=\S+ level=ERROR .*? error="((?:[^"\\]|\\.)*)"/.exec(line)?.[1]
    const cause = said === undefined ? undefined : logCauses.find((candidate) => candidate.starts.test(said))
    if (said !== undefined && cause !== undefined) return { type: cause.type, text: cut(said) }
  }
  return undefined
}

/** Log line of a failed request of the conversation itself (`small=true` are titles and the like). */
const failedRequest =
  /^timestamp=\S+ level=ERROR \S+ message="stream error" [^"]*\bsmall=false [^"]*\berror\.error="((?:[^"\\]|\\.)*)"$/

const limitWords = /\bquota\b|\brate.?limit|\btoo many requests\b|\busage limit\b/i

/**
 * The retry that a log line reports; undefined for any other line. The CLI retries errors that its SDK considers transient (408, 409,
 * 429, 5xx, no connection) without an event, and waits as long as the server says, which may be hours. The log has the server's
 * text but no status.
 */
export const opencodeLogRetry = (line: string): { type: FaultType; text: string } | undefined => {
  const said = failedRequest.exec(line)?.[1]
  if (said === undefined) return undefined
  return { type: limitWords.test(said) ? 'rate_limit' : 'server_error', text: cut(said) }
}
