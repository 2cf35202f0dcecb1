import { expect, it } from 'vitest'
import { agoText, countdownText, serverTime, spanText } from './clock.ts'

const at = Date.parse('2026-01-01T00:00:00Z')
const due = '2026-01-01T00:01:19Z'

it('the countdown follows the server, whatever the clock of the page says', () => {
  const clock = { at, heardAt: 5_000 }
  expect(countdownText(due, serverTime(clock, 5_000))).toBe('retry in 79 s')
  expect(countdownText(due, serverTime(clock, 5_001))).toBe('retry in 79 s')
  expect(countdownText(due, serverTime(clock, 15_000))).toBe('retry in 69 s')
  expect(countdownText(due, serverTime(clock, 84_000))).toBe('retry is due')
  expect(countdownText(due, serverTime(clock, 900_000))).toBe('retry is due')
  expect(countdownText(due, serverTime(clock, 5_000), 'question')).toBe('question in 79 s')
})

it.each([
  [-5, '0 s'],
  [1, '1 s'],
  [99_000, '99 s'],
  [100_000, '1 min 40 s'],
  [3_600_000, '60 min 00 s'],
  [6_000_000, '1 h 40 min'],
  [47 * 3_600_000, '47 h 00 min'],
  [50 * 3_600_000, '2 d 2 h'],
])('%i ms read as %s', (ms, text) => {
  expect(spanText(ms)).toBe(text)
})

it('what is just past is not in the future', () => {
  expect(agoText('2026-01-01T00:00:01Z', at)).toBe('just now')
  expect(agoText('2025-12-31T23:59:57Z', at + 900)).toBe('3 s ago')
})
