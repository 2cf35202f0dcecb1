import { describe, expect, it } from 'vitest'
import { diagnose } from './diagnosis.ts'
import type { ReportedFailure } from './evidence.ts'
import { limitOf, limitRules } from './limit.ts'

const said = { at: new Date('2026-11-21T21:13:40Z'), timeZone: 'Europe/Berlin' }
const failure = (more: Partial<ReportedFailure>): ReportedFailure => ({
  source: 'event',
  text: 'no',
  messageTime: said,
  ...more,
})
const kindOf = (more: Partial<ReportedFailure>): string | undefined => limitOf(failure(more))?.kind

describe('a limit', () => {
  it.each(
    limitRules.flatMap(({ kind, types = [], textPattern }) =>
      textPattern === undefined ? types.map((type) => [type, kind]) : [],
    ),
  )('with the type %s is of the kind %s', (type, kind) => expect(kindOf({ type: type ?? '' })).toBe(kind))

  it.each(limitRules.flatMap(({ kind, codes = [] }) => codes.map((code) => [code, kind] as const)))(
    "with the provider's word %s is of the kind %s, where the driver has no type for it",
    (code, kind) => {
      expect(kindOf({ code })).toBe(kind)
      expect(kindOf({ code, type: 'invalid_request' })).toBe(kind)
      expect(kindOf({ code, type: 'refusal' })).toBeUndefined()
    },
  )

  it.each([
    ['Claude AI usage limit reached|1795302825', 'quota', '2026-11-21T23:13:45.000Z'],
    ['5-hour limit reached ∙ resets 3pm', 'quota', '2026-11-22T14:01:00.000Z'],
    ["You've hit your weekly limit · resets Nov 24, 9:13pm (UTC)", 'quota', '2026-11-24T21:14:00.000Z'],
    ['You’ve reached your usage limit. Try again in 6m0s.', 'quota', '2026-11-21T21:19:40.000Z'],
    ['Your quota will reset after 23h59m12s.', 'quota', '2026-11-22T21:12:52.000Z'],
    [
      'Error: API error (attempt 3): weekly rate limit reached, resets in 2h39m52s',
      'quota',
      '2026-11-21T23:53:32.000Z',
    ],
    ['resets in 2h39m52s', 'quota', '2026-11-21T23:53:32.000Z'],
    ['Limit reached · resets 9pm', 'quota', '2026-11-21T21:13:40.000Z'],
    ['LLM error - usage limit hit; try again in 45 minutes', 'quota', '2026-11-21T21:58:40.000Z'],
    ['Your weekly limit will reset in 3 days', 'quota', '2026-11-24T21:13:40.000Z'],
    [
      'Rate limit reached for gpt-5 on tokens per min. Please try again in 20s.',
      'rate limit',
      '2026-11-21T21:14:00.000Z',
    ],
  ])('in the words of another version: %s', (text, kind, at) => {
    for (const source of ['event', 'stderr'] as const) {
      const limit = limitOf(failure({ source, text }))
      expect(limit).toMatchObject({ kind, evidence: text })
      expect(limit?.reset?.resetAt.toISOString()).toBe(at)
    }
  })

  it.each([
    ['API Error: 401 invalid x-api-key', 'auth'],
    ['Please run /login · API Error: 401', 'auth'],
    ['Unauthorized: bad token', 'auth'],
    ['No credentials found. Run codex login', 'auth'],
    ['prompt: unexpected status 401 Unauthorized: Missing bearer', 'auth'],
    ['403 Forbidden: model not allowed', 'model'],
    [
      'API Error: 403 {"error":{"type":"permission_error","message":"Your account does not have access to model claude-opus-5"}}',
      'model',
    ],
    ['unexpected status 403 Forbidden: Project `p` does not have access to model `gpt-9`', 'model'],
    ['403 Forbidden', 'auth'],
    ['404 tests failed', undefined],
    ['500 passed, 3 failed', undefined],
  ])('the words beside a status: %s', (text, kind) => {
    for (const source of ['event', 'stderr'] as const) expect(kindOf({ source, text, type: 'no_result' })).toBe(kind)
  })

  it('a refusal that its CLI calls one of the login is about the model where the words name it', () => {
    const text = 'Your organization does not have access to model claude-opus-5'
    expect(kindOf({ source: 'event', type: 'authentication_failed', text })).toBe('model')
    expect(kindOf({ source: 'event', type: 'authentication_failed', text: 'no access' })).toBe('auth')
  })

  it.each([
    'weekly rate limit',
    'out of credits',
    'insufficient balance',
    'ERROR: Retry 2/5 failed: 429 Too Many Requests',
  ])('in words alone, without a time: %s', (text) => {
    const limit = limitOf(failure({ source: 'stderr', text }))
    expect([limit?.kind, limit?.reset]).toEqual([text.includes('429') ? 'rate limit' : 'quota', undefined])
  })

  it('a connection that broke is distinguished from one that was never established', () => {
    expect(kindOf({ type: 'network', text: 'stream disconnected before completion: closed' })).toBe('cut stream')
    expect(kindOf({ type: 'network', text: 'terminated' })).toBe('cut stream')
    expect(kindOf({ type: 'timeout', text: 'SSE read timed out' })).toBe('cut stream')
    expect(kindOf({ type: 'network', text: 'Cannot connect to API: refused' })).toBe('network')
    expect(
      diagnose({
        kind: 'launch',
        harness: 'codex',
        denials: [],
        failure: failure({ type: 'network', text: 'terminated' }),
      }).label,
    ).toBe('stream_cut')
  })

  it('a structured time goes before the one in the words, and both are clamped', () => {
    const resetAt = new Date('2026-11-21T22:00:00Z')
    const text = "You've hit your limit · resets 3pm (UTC)"
    const timeOf = (more: Partial<ReportedFailure>) => limitOf(failure({ type: 'usage_limit', text, ...more }))
    expect(timeOf({ resetAt })?.reset).toEqual({ resetAt, resetInMs: 46 * 60_000 + 20_000 })
    expect(timeOf({ resetAt: new Date(0) })?.reset).toEqual({ resetAt: said.at, resetInMs: 0 })
    expect(timeOf({})?.reset?.resetAt.toISOString()).toBe('2026-11-22T15:01:00.000Z')
  })

  it('a key or a model has no time at which it comes back', () => {
    for (const type of ['authentication_failed', 'model_not_found', 'prompt_too_long'])
      expect(limitOf(failure({ type, text: 'try again in 20s' }))).not.toHaveProperty('reset')
  })

  it('a wait that a command asks for by its exit status is not read out of what it printed', () => {
    const limit = limitOf(failure({ source: 'exit', type: 'temporary_failure', text: 'busy, retry in 90s' }))
    expect(limit?.kind).toBe('temporary')
    expect(limit).not.toHaveProperty('reset')
  })
})

describe('no limit', () => {
  const quoted = 'Rate limit reached for gpt-5'
  it.each<[string, Partial<ReportedFailure>]>([
    ['is a sentence in the middle of a line', { text: `the docs say: ${quoted}` }],
    ['is a limit of the machine', { source: 'stderr', text: 'Memory usage limit: 512 MiB' }],
    ['is a label of a comparison', { source: 'stderr', text: `The test expects: ${quoted}` }],
    ['is a later line of an error field, which may quote anything', { text: `it failed\n${quoted}` }],
    ['is an early line of standard error', { source: 'stderr', text: [quoted, 1, 2, 3, 4, 5].join('\n') }],
    ['is the way it ended', { source: 'exit', type: 'bad_exit', text: quoted }],
    ['is a type of its own', { type: 'refusal', text: quoted, httpStatus: 429 }],
    ['is a status that says nothing', { httpStatus: 418 }],
    ['is a number in a text', { text: 'a.ts(429,12): error TS2322' }],
  ])('%s', (_what, more) => expect(kindOf(more)).toBeUndefined())
})
