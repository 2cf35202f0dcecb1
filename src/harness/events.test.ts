import { describe, expect, it } from 'vitest'
import { acp } from './acp.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import type { Driver, Transcript } from './driver.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

const readAll = (driver: Driver, events: object[]): Transcript =>
  events.reduce<Transcript>(
    (reading, event) => driver.read(reading, 'stdout', JSON.stringify(event)).transcript,
    driver.emptyTranscript(),
  )

const good = { type: 'result', subtype: 'success', is_error: false, result: 'done' }
const usage = { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 2, output_tokens: 1 }

describe('claude events', () => {
  it("a subagent's failure and words are not the launch's", () => {
    const failed = { type: 'assistant', parent_tool_use_id: 't1', error: 'rate_limit', message: { content: [] } }
    const said = { type: 'assistant', parent_tool_use_id: 't1', message: { content: [{ type: 'text', text: 'sub' }] } }
    const reading = readAll(claude, [failed, said])
    expect(reading.errors).toEqual([])
    expect(reading.lastText).toBe('')
  })

  it('a message printed as several lines is counted once', () => {
    const part = { type: 'assistant', message: { id: 'm1', usage, content: [] } }
    expect(readAll(claude, [part, part]).tokens).toEqual({ input: 17, output: 1, cachedInput: 5 })
  })

  it('a retry is over with the next answer of the model', () => {
    const retry = { type: 'system', subtype: 'api_retry', attempt: 2, error: 'overloaded', error_status: 529 }
    expect(readAll(claude, [retry]).retry).toMatchObject({ attempt: 2, error: { type: 'overloaded', httpStatus: 529 } })
    const reading = readAll(claude, [retry, { type: 'assistant', message: { content: [] } }, good])
    expect(reading.retry).toBeUndefined()
    expect(claude.conclude(reading, { code: 0, signal: null })).toEqual({ ok: true, text: 'done' })
  })

  it('a result that does not say it is no error is one', () => {
    const reading = readAll(claude, [{ type: 'result', subtype: 'success', result: 'done' }])
    expect(claude.conclude(reading, { code: 0, signal: null }).ok).toBe(false)
  })

  it('a page in HTML in place of an answer is an error of the server', () => {
    const text = 'API Error: API returned an empty or malformed response (HTTP 200)'
    const said = { type: 'assistant', error: 'unknown', message: { content: [{ type: 'text', text }] } }
    const reading = readAll(claude, [said, { ...good, is_error: true, result: text }])
    expect(claude.conclude(reading, { code: 1, signal: null })).toMatchObject({
      ok: false,
      error: { type: 'server_error' },
    })
  })

  it('a session id that could be an option is not taken', () => {
    expect(
      readAll(claude, [{ type: 'system', session_id: '--dangerously-skip-permissions' }]).sessionId,
    ).toBeUndefined()
    expect(readAll(codex, [{ type: 'thread.started', thread_id: '../x' }]).sessionId).toBeUndefined()
  })
})

describe('gemini events', () => {
  const use = { type: 'tool_use', tool_id: 'c1', tool_name: 'run_shell_command', parameters: { command: 'ls' } }
  const result = (type: string, message: string): object => ({
    ...{ type: 'tool_result', tool_id: 'c1', status: 'error' },
    error: { type, message },
  })
  const outside = 'Path not in workspace: Attempted path "/x" resolves outside the allowed workspace directories: /repo'

  it('a shell call is refused for its folder or by a rule, and its own words are none of it', () => {
    expect(readAll(gemini, [use, result('invalid_tool_params', outside)]).denials).toMatchObject([
      { kind: 'scope', target: '/x', callId: 'c1' },
    ])
    expect(readAll(gemini, [use, result('policy_violation', 'no')]).denials).toMatchObject([
      { kind: 'tool', target: 'ls' },
    ])
    expect(readAll(gemini, [use, result('shell_execute_error', outside)]).denials).toEqual([])
  })

  it('the body of a refused request says how long its limit lasts', () => {
    const body = { error: { code: 429, message: 'Quota', details: [{ '@type': 'x/RetryInfo', retryDelay: '34s' }] } }
    const error = { type: 'unknown', message: `[API Error: ${JSON.stringify(body)}]` }
    const failed = { type: 'result', status: 'error', timestamp: '2026-11-21T21:13:40.000Z', error }
    expect(readAll(gemini, [failed]).errors.at(-1)).toMatchObject({
      ...{ type: 'rate_limit', httpStatus: 429, resetAt: new Date('2026-11-21T21:14:14Z') },
    })
  })

  it('a retry is told with its delay, and is over with the next answer', () => {
    const lines = [
      "Attempt 2 failed: Quota exceeded for quota metric 'x'. Please retry in 2s.",
      'Suggested retry after 2s.. Retrying after 5394ms...',
    ]
    const waiting = lines.reduce(
      (reading, line) => gemini.read(reading, 'stderr', line).transcript,
      gemini.emptyTranscript(),
    )
    expect(waiting.retry).toMatchObject({ attempt: 2, delayMs: 5394, error: { type: 'rate_limit', httpStatus: 429 } })
    expect(gemini.conclude(waiting, { code: null, signal: 'SIGKILL', stopCause: 'limit' })).toMatchObject({
      error: { type: 'rate_limit' },
    })
    const answer = JSON.stringify({ type: 'message', role: 'assistant', content: 'a', delta: true })
    expect(gemini.read(waiting, 'stdout', answer).transcript.retry).toBeUndefined()
  })
})

describe('opencode events', () => {
  const at = 1_795_000_000_000
  const tooLong = { type: 'error', timestamp: at, error: { name: 'ContextOverflowError', data: { message: 'long' } } }
  const begin = { type: 'step_start', part: { messageID: 'm2' } }
  const end = { type: 'step_finish', part: { reason: 'stop' } }

  it('an end after a conversation that was compacted counts, whatever the exit code', () => {
    const reading = readAll(opencode, [tooLong, begin, end])
    expect(opencode.conclude(reading, { code: 1, signal: null }).ok).toBe(true)
    expect(opencode.conclude(readAll(opencode, [begin, end]), { code: 1, signal: null }).ok).toBe(false)
    expect(opencode.conclude(reading, { code: 1, signal: null, stopCause: 'cancelled' }).ok).toBe(false)
  })

  it('an end is none when it goes on, or when an error follows', () => {
    expect(readAll(opencode, [end, begin]).final).toBeUndefined()
    expect(readAll(opencode, [end, tooLong]).final).toBeUndefined()
    // The end of the summary, and then a long wait for the answer to these words.
    const goesOn = {
      type: 'text',
      part: { synthetic: true, metadata: { compaction_continue: true }, text: 'Continue.' },
    }
    const summary = { type: 'text', part: { text: 'So far.' } }
    const around = [tooLong, begin, summary, end, goesOn]
    expect(readAll(opencode, [...around, ...around, ...around]).retry?.attempt).toBe(3)
    const tool = { type: 'tool_use', part: { tool: 'bash', callID: 'c', state: { status: 'completed' } } }
    expect(readAll(opencode, [...around, tool, ...around]).retry?.attempt).toBe(1)
    const compacted = readAll(opencode, [tooLong, begin, end, goesOn])
    expect(compacted.final).toBeUndefined()
    expect(opencode.conclude(compacted, { code: 1, signal: null })).toMatchObject({
      error: { type: 'prompt_too_long' },
    })
  })

  const logged = (text: string, small = false): string =>
    `timestamp=2026-11-22T13:16:24.179Z level=ERROR run=ed2ace26 message="stream error" providerID=sim modelID=m1 session.id=ses_1 small=${small} agent=build mode=primary error.error="${text}"`
  const heard = (...lines: string[]): Transcript =>
    lines.reduce((reading, line) => opencode.read(reading, 'stderr', line).transcript, readAll(opencode, [begin]))

  it('a retry stands in its log alone, and is over with the next answer', () => {
    const limited = 'AI_APICallError: The quota of this account is used up.'
    const waiting = heard(logged(limited), logged(limited))
    expect(waiting.retry).toMatchObject({ attempt: 2, error: { type: 'rate_limit', text: limited } })
    expect(opencode.conclude(waiting, { code: null, signal: 'SIGTERM', stopCause: 'silence' })).toMatchObject({
      ok: false,
      error: { type: 'rate_limit' },
    })
    expect(heard(logged('AI_APICallError: Bad Gateway')).retry?.error.type).toBe('server_error')
    const text = JSON.stringify({ type: 'text', part: { text: 'On it.' } })
    expect(opencode.read(waiting, 'stdout', text).transcript.retry).toBeUndefined()
  })

  it('a failed title, other lines and quoted ones are no retry', () => {
    const quoted = `timestamp=x level=ERROR run=1 message="tool said" small=false error.error="${logged('quota').replaceAll('"', String.raw`\"`)}"`
    for (const line of [logged('quota', true), quoted, ` ${logged('quota')}`, 'rate limit'])
      expect(heard(line).retry).toBeUndefined()
  })

  it.each([
    [{ responseBody: '{"error":{"resets_at":1795303197}}' }, 1_795_303_197_000],
    [{ responseBody: '{"error":{"resets_in_seconds":60}}' }, at + 60_000],
    [{ responseHeaders: { 'retry-after': '3600' } }, at + 3_600_000],
    [{ responseHeaders: { 'retry-after': 'Sat, 21 Nov 2026 23:00:00 GMT' } }, Date.UTC(2026, 10, 21, 23)],
    [{ responseHeaders: { 'retry-after': 'soon' } }, undefined],
  ])('%j says when to come back', (data, time) => {
    const error = { name: 'APIError', data: { message: 'no', statusCode: 429, ...data } }
    const reading = readAll(opencode, [{ type: 'error', timestamp: at, error }])
    expect(reading.errors[0]?.resetAt?.getTime()).toBe(time)
  })
})

describe('codex events', () => {
  const head = '2026-11-21T20:45:37.270737Z ERROR codex_core::tools::router: '
  const rejected = 'error=patch rejected: writing outside of the project; rejected by user approval settings'

  it('only a log line of its own is a refusal', () => {
    const denials = (line: string): number =>
      codex.read(codex.emptyTranscript(), 'stderr', line).transcript.denials.length
    expect(denials(head + rejected)).toBe(1)
    for (const line of [rejected, `> ${head}${rejected}`, `${head}error=Exit code: 1 ${rejected}`])
      expect(denials(line)).toBe(0)
  })

  it('the same refusal again is the same fact', () => {
    const first = codex.read(codex.emptyTranscript(), 'stderr', head + rejected).transcript
    expect(codex.read(first, 'stderr', head + rejected).transcript.denials).toEqual(first.denials)
  })

  it('the body of a refused request gives its code', () => {
    const message = JSON.stringify({ error: { message: 'bad value', code: 'unsupported_value' } })
    const reading = readAll(codex, [{ type: 'turn.failed', error: { message } }])
    expect(codex.conclude(reading, { code: 1, signal: null })).toMatchObject({
      error: { type: 'invalid_request', code: 'unsupported_value', text: 'bad value' },
    })
  })

  it('the body of a refused request says when its limit ends', () => {
    for (const resets_at of [1795303197, 1795303197000, '2026-11-21T23:19:57Z', '1795303197']) {
      const message = JSON.stringify({ error: { message: 'no more', type: 'usage_limit_reached', resets_at } })
      const reading = readAll(codex, [{ type: 'turn.failed', error: { message } }])
      expect(reading.errors.at(-1)).toMatchObject({
        code: 'usage_limit_reached',
        resetAt: new Date('2026-11-21T23:19:57Z'),
      })
    }
  })

  it('after a stop of ours the retry in progress is the evidence, standard error is not', () => {
    const stopped = { code: null, signal: 'SIGKILL', stopCause: 'limit' }
    const bare = codex.read(codex.emptyTranscript(), 'stderr', 'Not inside a trusted directory and so on').transcript
    expect(codex.conclude(bare, stopped)).toMatchObject({ error: { source: 'exit', type: 'stopped' } })
    const waiting = readAll(codex, [
      { type: 'error', message: 'Reconnecting... waiting for network (Connection failed: x)' },
    ])
    expect(codex.conclude(waiting, stopped)).toMatchObject({ error: { source: 'event', type: 'network' } })
  })
})

describe('an error that an ACP agent answers with', () => {
  const errorOf = (event: object) => readAll(acp, [{ type: 'error', stage: 'prompt', ...event }]).errors.at(-1)

  it.each([
    [401, '{"error":{"code":401,"message":"No key","status":"UNAUTHENTICATED"}}', 'authentication_failed'],
    [429, 'You have exhausted your daily quota on this model.', 'usage_limit'],
    [503, 'The service is busy', 'server_error'],
    [404, 'models/x is not found for API version v1beta', 'model_not_found'],
  ])('%i is the status of its provider', (code, message, type) => {
    expect(errorOf({ code, message })).toMatchObject({ type, httpStatus: code })
  })

  it('is none of its provider with a code of the protocol', () => {
    const data = { message: 'unexpected status 401 Unauthorized: Missing bearer' }
    expect(errorOf({ code: -32_603, message: 'Internal error', data })?.text).toBe(`prompt: ${data.message}`)
    expect(errorOf({ code: -32_603, message: 'Internal error', data: 'wrong key' })?.text).toBe('prompt: wrong key')
    expect(errorOf({ code: -32_603, message: 'Internal error' })).toEqual({
      source: 'event',
      code: '-32603',
      text: 'prompt: Internal error',
    })
  })

  it('means a lost session where one was to be loaded, and not where one was to be opened', () => {
    const event = { stage: 'session', code: -32_603, message: 'Internal error' }
    expect(errorOf({ ...event, loading: true })).toMatchObject({ type: 'session_not_found' })
    expect(errorOf({ ...event, loading: false })?.type).toBeUndefined()
  })

  it('is preceded by its own retries on standard error, which the next update ends', () => {
    const told = acp.read(acp.emptyTranscript(), 'stderr', 'Attempt 3 failed: busy. Max attempts reached').transcript
    expect(told.retry).toMatchObject({ attempt: 3 })
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' } }
    expect(acp.read(told, 'stdout', JSON.stringify({ type: 'update', update })).transcript.retry).toBeUndefined()
  })
})

it('a sentence before a long stack, and one behind a long output, are both kept', () => {
  const frames = Array.from(
    { length: 40 },
    (_, index) => `    at step (file:///opt/cli/bundle/chunk-${index}.js:${index}:1) ${'x'.repeat(60)}`,
  )
  const details = Array.from({ length: 40 }, (_, index) => `detail ${index} ${'y'.repeat(80)}`)
  const textOf = (lines: string[]): string => {
    const reading = lines.reduce(
      (before, line) => claude.read(before, 'stderr', line).transcript,
      claude.emptyTranscript(),
    )
    const end = claude.conclude(reading, { code: 1, signal: null })
    return end.ok ? '' : end.error.text
  }
  expect(textOf(['Error: Access blocked: /other', ...frames])).toContain('Access blocked: /other')
  const both = textOf(['first sentence', ...details, 'last sentence'])
  expect(both).toContain('first sentence')
  expect(both).toContain('last sentence')
})

it.each([
  ['Permission denied', 'filesystem'],
  ["Error: EACCES: permission denied, mkdir '/home/a/.cli'", 'filesystem'],
  ['Permission denied (publickey).', 'no_result'],
])('claude: "%s" before a failing exit is %s', (line, type) => {
  const reading = claude.read(claude.emptyTranscript(), 'stderr', line).transcript
  expect(claude.conclude(reading, { code: 1, signal: null })).toMatchObject({ ok: false, error: { type } })
})
