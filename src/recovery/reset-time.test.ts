import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clampReset, epochReset, longestResetMs, resetIn, retryAfterReset } from './reset-time.ts'
import { cpuMsOf } from '../../test/support/cpu-time.ts'

/** A Saturday, 21:13:40 UTC; half past ten in the evening in Berlin, six in the morning of Sunday in Tokyo. */
const said = new Date('2026-11-21T21:13:40.000Z')
const resets = (text: string, timeZone = 'UTC', at = said): string | undefined =>
  resetIn(text, { at, timeZone })?.at.toISOString()

describe('a reset time', () => {
  it.each([
    // Epoch, in seconds and in milliseconds.
    ['Claude AI usage limit reached|1795302825', '2026-11-21T23:13:45.000Z'],
    ['{"type":"usage_limit_reached","resets_at":1795303197}', '2026-11-21T23:19:57.000Z'],
    ['resetsAt: 1795303197000', '2026-11-21T23:19:57.000Z'],
    // Durations.
    ['Rate limit reached for gpt-5 on tokens per min. Please try again in 6m0s.', '2026-11-21T21:19:40.000Z'],
    ['Limit 30000, Requested 2000. Please try again in 20s. Visit https://x', '2026-11-21T21:14:00.000Z'],
    ['Please retry in 34.5s.', '2026-11-21T21:14:14.500Z'],
    ['try again in 120ms', '2026-11-21T21:13:40.120Z'],
    ['Your quota will reset after 23h59m12s.', '2026-11-22T21:12:52.000Z'],
    ['Try again in 1h30m', '2026-11-21T22:43:40.000Z'],
    ['Available again in 2 hours, 30 minutes and 10 seconds', '2026-11-21T23:43:50.000Z'],
    ['resets in 3 days', '2026-11-24T21:13:40.000Z'],
    ['Suggested retry after 3600s.', '2026-11-21T22:13:40.000Z'],
    ['"retryDelay": "34s"', '2026-11-21T21:14:14.000Z'],
    ['resets_in_seconds: 7200', '2026-11-21T23:13:40.000Z'],
    ['retry_after_ms: 1500', '2026-11-21T21:13:41.500Z'],
    // Times of day, with their zone.
    ["You've hit your limit · resets 11:13pm (UTC)", '2026-11-21T23:14:00.000Z'],
    ["You've hit your limit · resets 3pm (Europe/Berlin)", '2026-11-22T14:01:00.000Z'],
    ["You've hit your weekly limit · resets Nov 24, 9:13pm (UTC)", '2026-11-24T21:14:00.000Z'],
    ['5-hour limit reached ∙ resets 12am (Asia/Tokyo)', '2026-11-22T15:01:00.000Z'],
    ['resets 12pm (America/New_York)', '2026-11-22T17:01:00.000Z'],
    ['Your limit will reset at 00:00 UTC', '2026-11-22T00:01:00.000Z'],
    ['limit reached, resets at 7:30 PM PST', '2026-11-22T03:31:00.000Z'],
    ['resets 23:30 (UTC+2)', '2026-11-21T21:31:00.000Z'],
    ['or try again at Nov 24th, 2026 9:13 PM.', '2026-11-24T21:14:00.000Z'],
    ['resets Jan 2, 8am (UTC)', '2027-01-02T08:01:00.000Z'],
    // Dates.
    ['blocked until 2026-11-22T10:00:00Z', '2026-11-22T10:00:00.000Z'],
    ['reset at 2026-11-22T10:00:00.123+02:00', '2026-11-22T08:00:00.000Z'],
    ['retry after Sun, 22 Nov 2026 10:00:00 GMT', '2026-11-22T10:00:00.000Z'],
    ['rate limit exceeded, Retry-After: 120', '2026-11-21T21:15:40.000Z'],
  ])('%s', (text, at) => {
    expect(resets(text)).toBe(at)
  })

  it('without a zone is in the zone of the machine that wrote it', () => {
    const text = 'or try again at 10:53 PM.'
    expect(resets(text)).toBe('2026-11-21T22:54:00.000Z')
    expect(resets(text, 'Asia/Tokyo')).toBe('2026-11-22T13:54:00.000Z')
    expect(resets(text, 'America/Los_Angeles')).toBe('2026-11-22T06:54:00.000Z')
    expect(resets('resets 2026-11-22 10:00', 'Europe/Berlin')).toBe('2026-11-22T09:01:00.000Z')
  })

  it('with an unknown zone counts as a time without one', () => {
    expect(resets('resets 3pm (Atlantis/Centre)', 'Europe/Berlin')).toBe('2026-11-22T14:01:00.000Z')
    expect(resets('resets 3pm', 'Atlantis/Centre')).toBe('2026-11-22T15:01:00.000Z')
  })

  it('is right on both sides of a change of the clocks', () => {
    // Berlin leaves summer time on 25 October 2026 at 01:00 UTC.
    const before = new Date('2026-10-24T22:30:00Z')
    expect(resets('resets 1:30am (Europe/Berlin)', 'UTC', before)).toBe('2026-10-24T23:31:00.000Z')
    expect(resets('resets 9am (Europe/Berlin)', 'UTC', before)).toBe('2026-10-25T08:01:00.000Z')
    expect(resets('resets 9am (Europe/Berlin)', 'UTC', new Date('2026-10-23T22:30:00Z'))).toBe(
      '2026-10-24T07:01:00.000Z',
    )
  })

  it('that names a minute is over when the minute is, and one that names a second is over at it', () => {
    expect(resets('try again at 9:13 PM')).toBe('2026-11-21T21:14:00.000Z')
    expect(resets('try again at 21:13:50')).toBe('2026-11-21T21:13:50.000Z')
    expect(resets('try again at 2026-11-22 10:00 UTC')).toBe('2026-11-22T10:01:00.000Z')
    expect(resets('try again at 2026-11-22T10:00:30Z')).toBe('2026-11-22T10:00:30.000Z')
  })

  it('is read with the narrow space that some versions of Node write before AM and PM', () => {
    expect(resets('or try again at 10:53\u202fPM.')).toBe('2026-11-21T22:54:00.000Z')
  })

  it('is read from a JSON body as a number or a date', () => {
    for (const value of ['1795303197', '1795303197000', '"2026-11-21T23:19:57Z"', '"1795303197"'])
      expect(resets(`429 {"error":{"type":"usage_limit_reached","plan":"5h","resets_at":${value}}}`)).toBe(
        '2026-11-21T23:19:57.000Z',
      )
  })

  it('that has just passed is now, and one long passed is tomorrow', () => {
    expect(resets('resets 9:12pm (UTC)')).toBe(said.toISOString())
    expect(resets('resets 8:13pm (UTC)')).toBe(said.toISOString())
    expect(resets('resets 7:05pm (UTC)')).toBe('2026-11-22T19:06:00.000Z')
  })

  it('is never in the past and never further away than the longest limit', () => {
    expect(resets('resets_at: 1595302825')).toBe(said.toISOString())
    expect(resets('try again in 400 days')).toBe(new Date(said.getTime() + longestResetMs).toISOString())
    expect(resets('resets_at: 9999999999999')).toBe(new Date(said.getTime() + longestResetMs).toISOString())
  })

  it('is returned with the words that state it', () => {
    expect(resetIn("You've hit your limit · resets 3pm (Europe/Berlin)", { at: said, timeZone: 'UTC' })?.words).toBe(
      'resets 3pm (Europe/Berlin)',
    )
  })

  it.each([
    'a.ts(429,12): error TS2322',
    'at 10:53 PM the build failed',
    'users.ts:429:18',
    'in 6m0s 14 tests passed',
    '2026-11-21T20:45:37Z ERROR codex_core: no',
    'reset the counter to 10',
    'retry 3 of 5',
    'try again later',
    'wait for the lock',
    'resets 25:99',
    'resets 13pm',
  ])('is not in "%s"', (text) => {
    expect(resets(text)).toBeUndefined()
  })

  it('is between the moment of the message and the longest limit, or undefined, for any text', () => {
    const words = fc.constantFrom('resets', 'in', 'at', 'retry-after:', '6m0s', '3pm', '(UTC)', '|', 'try again')
    const text = fc.array(fc.oneof(words, fc.string(), fc.nat().map(String)), { maxLength: 12 })
    fc.assert(
      fc.property(text, fc.constantFrom('', ' '), (parts, between) => {
        const at = resetIn(parts.join(between), { at: said, timeZone: 'Europe/Berlin' })?.at.getTime()
        return at === undefined || (at >= said.getTime() && at <= said.getTime() + longestResetMs)
      }),
    )
  })

  it('is found in linear time', () => {
    for (const piece of ['resets at ', 'retry', '9', 'in 6m', 'resets , _'.padEnd(60)]) {
      const text = piece.repeat(400_000)
      expect(cpuMsOf(() => resets(text))).toBeLessThan(500)
    }
  })
})

describe('a header', () => {
  it('counts seconds or names a date', () => {
    expect(retryAfterReset('120', said)?.toISOString()).toBe('2026-11-21T21:15:40.000Z')
    expect(retryAfterReset('Sun, 22 Nov 2026 10:00:00 GMT', said)?.toISOString()).toBe('2026-11-22T10:00:00.000Z')
    for (const value of ['', 'soon', '-5', '1e9']) expect(retryAfterReset(value, said)).toBeUndefined()
  })
})

describe('an epoch', () => {
  it('is seconds or milliseconds by its size', () => {
    expect(epochReset(1_795_303_197)).toEqual(new Date(1_795_303_197_000))
    expect(epochReset(1_795_303_197_000)).toEqual(new Date(1_795_303_197_000))
    for (const value of [Number.NaN, Infinity, 0, -1, 7200]) expect(epochReset(value)).toBeUndefined()
  })

  it('is clamped as every other form', () => {
    expect(clampReset(new Date(0), said)).toEqual(said)
  })
})
