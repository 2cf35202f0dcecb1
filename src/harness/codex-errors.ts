/**
 * Maps Codex's failures to types. Its events carry a sentence and no code, so the sentence is matched, at the start of its field only.
 * A message with the server's own text has no type, unless the server is known.
 */
import { fieldReset } from '../recovery/reset-time.ts'
import type { Transcript, ReportedError } from './driver.ts'
import { objectAt, parseLine, textAt } from './json-line.ts'
import type { KnownSentence } from './transcript.ts'
import { cut, faultOfStatus, stderrError } from './transcript.ts'
import { defined } from '../domain/defined.ts'

const sentences: KnownSentence[] = [
  { starts: /^Missing environment variable: /, type: 'authentication_failed' },
  // openai/codex#17340: two processes renewed the same login.
  { starts: /^Your access token could not be refreshed\b/, type: 'authentication_failed' },
  { starts: /^Quota exceeded\. Check your plan and billing details\./, type: 'billing_error' },
  { starts: /^You[’']ve hit your usage limit\./, type: 'usage_limit' },
  { starts: /^Selected model is at capacity\./, type: 'overloaded' },
  { starts: /^We[’']re currently experiencing high demand/, type: 'server_error' },
  { starts: /^Codex ran out of room in the model's context window\./, type: 'prompt_too_long' },
  { starts: /^The model `[^`]*` does not exist or you do not have access to it\./, type: 'model_not_found' },
  { starts: /^stream disconnected before completion: idle timeout/, type: 'timeout' },
  { starts: /^stream disconnected before completion/, type: 'network' },
  { starts: /^Connection failed: /, type: 'network' },
]

const stderrSentences: KnownSentence[] = [
  { starts: /^Not inside a trusted directory and --skip-git-repo-check was not specified\./, type: 'git_trust' },
  { starts: /^error: unexpected argument /, type: 'bad_flag' },
  { starts: /^error: (?:invalid value|the following required arguments|the argument) /, type: 'bad_flag' },
  { starts: /^Error loading config\.toml:/, type: 'bad_config' },
  { starts: /^Error: thread\/resume: .*: no rollout found for thread id /, type: 'session_not_found' },
  { starts: /^Error: thread\/resume: .* already has an active writer/, type: 'session_busy' },
  { starts: /^Error: failed to initialize in-process app-server client: Permission denied/, type: 'filesystem' },
  { starts: /^Error: No such file or directory \(os error 2\)/, type: 'directory_missing' },
]

/** Refused tool calls are logged on standard error too, but they do not explain an exit. */
const stderrNoise =
  /^Reading additional input from stdin\.\.\.$|^WARNING: proceeding, even though |^\S+Z {1,2}(?:ERROR|WARN) codex_(?:sandboxing|core::tools)::/

export const codexStderrError = (reading: Transcript): ReportedError | undefined =>
  stderrError(reading, stderrSentences, stderrNoise)

const statusIn = /^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b/

/** A refused request is reported as the body of the HTTP response. */
const bodyError = (message: string): ReportedError | undefined => {
  const body = parseLine(message)
  if (body === undefined) return undefined
  const error = objectAt(body, 'error')
  const code = textAt(error, 'code') ?? textAt(error, 'type')
  const resetAt = fieldReset(error?.['resets_at'])
  return {
    source: 'event',
    type: 'invalid_request',
    ...defined({ code }),
    // The server of a ChatGPT account gives the sentence as a detail.
    text: cut(textAt(error, 'message') ?? textAt(body, 'detail') ?? message),
    ...defined({ resetAt }),
  }
}

/** The `message` of an `error` or `turn.failed` event. */
export const codexError = (message: string): ReportedError => {
  const status = statusIn.exec(message)?.[1]
  const httpStatus = status === undefined ? undefined : Number(status)
  const type =
    httpStatus === undefined
      ? sentences.find((sentence) => sentence.starts.test(message))?.type
      : faultOfStatus(httpStatus)
  if (type === undefined && httpStatus === undefined) {
    const body = bodyError(message)
    if (body !== undefined) return body
  }
  return {
    source: 'event',
    ...defined({ type, httpStatus }),
    text: cut(message),
  }
}

/** `Reconnecting... 2/5 (why)` or `Reconnecting... waiting for network (why)`: Codex retries by itself. */
const reconnecting = /^Reconnecting\.\.\. (?:(\d+)\/(\d+)|[\w ]+) \(([\s\S]*)\)$/

export const codexRetry = (message: string): Transcript['retry'] => {
  const match = reconnecting.exec(message)
  if (match === null) return undefined
  const [, attempt, max, why = ''] = match
  return {
    attempt: Number(attempt ?? 1),
    ...(max === undefined ? {} : { max: Number(max) }),
    error: codexError(why),
  }
}
