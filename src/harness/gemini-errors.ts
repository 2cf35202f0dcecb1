/**
 * Maps Gemini's failures to types. The final event calls nearly all of them `unknown` and wraps the API's response as
 * `[API Error: …]`, either its JSON body or a sentence.
 */
import { resetIn } from '../recovery/reset-time.ts'
import type { FaultType, Transcript, ReportedError } from './driver.ts'
import type { JsonObject } from './json-line.ts'
import { numberAt, objectAt, objectsAt, parseLine, textAt } from './json-line.ts'
import type { KnownSentence } from './transcript.ts'
import { cut, faultOfStatus, stderrError } from './transcript.ts'
import { defined } from '../domain/defined.ts'

const errorTypes: Record<string, FaultType> = {
  FatalAuthenticationError: 'authentication_failed',
  FatalConfigError: 'bad_config',
  FatalTurnLimitedError: 'max_turns',
  FatalCancellationError: 'aborted',
  FatalUntrustedWorkspaceError: 'git_trust',
}

const sentences: KnownSentence[] = [
  {
    starts: /^You have exhausted your (?:daily |hourly )?(?:quota|capacity) on this model\./,
    type: 'usage_limit',
    httpStatus: 429,
  },
  {
    starts: /^(?:Quota exceeded|Resource has been exhausted|You exceeded your current quota)/,
    type: 'rate_limit',
    httpStatus: 429,
  },
  { starts: /^The model is overloaded\./, type: 'overloaded', httpStatus: 503 },
  { starts: /^models\/\S+ is not found for API version/, type: 'model_not_found', httpStatus: 404 },
  { starts: /^(?:exception )?TypeError: fetch failed/, type: 'network' },
  { starts: /^(?:terminated|read ECONNRESET|socket hang up)\b/, type: 'network' },
  { starts: /^Incomplete JSON segment at the end/, type: 'server_error' },
]

const tooLong = /^The input token count \(?\d+\)? exceeds the maximum number of tokens allowed/

interface Parts {
  type: FaultType | undefined
  code?: string | undefined
  httpStatus?: number | undefined
  text: string
}

const reported = ({ type, code, httpStatus, text }: Parts): ReportedError => ({
  source: 'event',
  ...defined({ type, code, httpStatus }),
  text: cut(text),
})

/** From the body of the API's response: Google's codes first, then the status. */
const bodyError = (error: JsonObject): ReportedError => {
  const httpStatus = numberAt(error, 'code')
  const message = textAt(error, 'message') ?? 'API error'
  const reason = objectsAt(error, 'details')
    .map((detail) => textAt(detail, 'reason'))
    .find((text) => text !== undefined)
  const type =
    reason === 'API_KEY_INVALID'
      ? 'authentication_failed'
      : tooLong.test(message)
        ? 'prompt_too_long'
        : httpStatus === 503
          ? 'overloaded'
          : httpStatus === 404
            ? 'model_not_found'
            : faultOfStatus(httpStatus)
  return reported({ type, code: reason ?? textAt(error, 'status'), httpStatus, text: message })
}

const wrapped = /^\[API Error: ([\s\S]*?)\](?:\n|$)/
/** Adds the time of the reset, from the CLI's sentence, the response's RetryInfo or the server's text. */
const withReset = (error: ReportedError, said: string, at: string | undefined): ReportedError => {
  const time = new Date(at ?? '')
  const reset = Number.isNaN(time.getTime()) ? undefined : resetIn(said, { at: time, timeZone: 'UTC' })
  return reset === undefined ? error : { ...error, resetAt: reset.at }
}

/** From the API's response, as a JSON body or a sentence. */
export const geminiApiError = (said: string, at: string | undefined): ReportedError => {
  const body = objectAt(parseLine(said), 'error')
  if (body !== undefined) return withReset(bodyError(body), said, at)
  const sentence = sentences.find((candidate) => candidate.starts.test(said))
  const error = reported({ type: sentence?.type, httpStatus: sentence?.httpStatus, text: said })
  return withReset(error, said, at)
}

/** From the `error` of a final event. `at` is the time of the event, from which a stated wait counts. */
export const geminiResultError = (error: JsonObject | undefined, at: string | undefined): ReportedError => {
  const message = textAt(error, 'message') ?? 'the final event names no error'
  const name = textAt(error, 'type')
  const known = name !== undefined && Object.hasOwn(errorTypes, name) ? errorTypes[name] : undefined
  if (known !== undefined) return reported({ type: known, code: name, text: message })
  // A JSON body may contain brackets, so it ends at the last one.
  const inner = /^\[API Error: (\{[\s\S]*\})\]/.exec(message)?.[1] ?? wrapped.exec(message)?.[1]
  return inner === undefined ? reported({ type: undefined, text: message }) : geminiApiError(inner, at)
}

/** From an `error` event before the end. Only the empty response has a known meaning: it ends the turn. */
export const geminiEventError = (message: string): ReportedError =>
  message.startsWith('The model returned an empty response')
    ? reported({ type: 'server_error', code: 'empty_response', text: message })
    : reported({ type: undefined, text: message })

const stderrSentences: KnownSentence[] = [
  { starts: /^Gemini CLI is not running in a trusted directory\./, type: 'git_trust' },
  { starts: /^When using Gemini API, you must specify the /, type: 'authentication_failed' },
  { starts: /^When using Vertex AI, you must specify /, type: 'authentication_failed' },
  { starts: /^Please set an Auth method in your /, type: 'authentication_failed' },
  { starts: /^Invalid auth method selected\./, type: 'authentication_failed' },
  { starts: /^Error resuming session: /, type: 'session_not_found' },
  { starts: /^Error starting session: Session ID "[^"]*" already exists\./, type: 'session_busy' },
  { starts: /^Unknown arguments?: /, type: 'bad_flag' },
  { starts: /^Error in \S+settings\.json: /, type: 'bad_config' },
  { starts: /^An unexpected critical error occurred:\s?Error: Directory does not exist: /, type: 'directory_missing' },
  { starts: /^Failed to save project registry to /, type: 'filesystem' },
]

/** Lines that successful runs print too, or that repeat what the events report about a tool call. */
const stderrNoise =
  /^(?:Warning: |YOLO mode is enabled\.|Ripgrep is not available\.|\[STARTUP\] |\[WARN\] |Error executing tool |Approval mode overridden |Loaded cached credentials\.|Attempt \d+ failed|Failed to check if file is binary: | {4}at )/

export const geminiStderrError = (reading: Transcript): ReportedError | undefined =>
  stderrError(reading, stderrSentences, stderrNoise)

const attempt = /^Attempt (\d+) failed(?: with status (\d{3}))?(?:\.|:) ?(.*)$/
const backoff = /^Retrying with backoff\.\.\. (?:_?\w*Error: )?/
const delayText = /Retrying after (\d+)ms\.\.\.$/

/** If the provider stated a wait, the delay is in the next line. */
const delayLine = /^Suggested retry after .*\. Retrying after (\d+)ms\.\.\.$/

/** The CLI's own retry in a line of standard error, the only output that reports retries; undefined for any other line. */
export const geminiRetry = (line: string, before: Transcript['retry']): Transcript['retry'] => {
  const late = delayLine.exec(line)?.[1]
  if (late !== undefined && before !== undefined) return { ...before, delayMs: Number(late) }
  const match = attempt.exec(line)
  if (match === null) return undefined
  const [, number, status, rest = ''] = match
  const delay = delayText.exec(rest)?.[1]
  const said = rest.replace(backoff, '').replace(/\.? ?Retrying after \d+ms\.\.\.$/, '')
  const known = geminiApiError(said, undefined)
  const httpStatus = status === undefined ? known.httpStatus : Number(status)
  const type = known.type ?? faultOfStatus(httpStatus)
  return {
    attempt: Number(number),
    ...(delay === undefined ? {} : { delayMs: Number(delay) }),
    error: {
      source: 'stderr',
      ...defined({ type, httpStatus }),
      text: cut(line),
    },
  }
}
