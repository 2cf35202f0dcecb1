import { describe, expect, test } from 'vitest'
import { durationText, localTimes, secondText, timeText, whenText } from './times.ts'
import { cutToWidth } from './width.ts'

const now = new Date(2026, 10, 24, 23, 32, 0)

describe('durations', () => {
  test.each([
    [-3, '0 s'],
    [0.4, '0 s'],
    [79, '79 s'],
    [89.6, '2 min'],
    [240, '4 min'],
    [3_569, '59 min'],
    [3_590, '1 h'],
    [4_320, '1 h 12 min'],
    [86_390, '1 d'],
    [90_000, '1 d 1 h'],
  ])('%d seconds are %s', (seconds, expected) => {
    expect(durationText(seconds)).toBe(expected)
  })
})

describe('times', () => {
  test('of today are local hours and minutes', () => {
    expect(timeText(new Date(2026, 10, 24, 3, 6), now)).toBe('03:06')
    expect(secondText(new Date(2026, 10, 24, 3, 6, 9).toISOString(), now)).toBe('03:06:09')
  })

  test('of another day name it, and of another year the year', () => {
    expect(timeText(new Date(2026, 10, 23, 3, 6), now)).toBe('Mon 23 Nov 03:06')
    expect(timeText(new Date(2025, 10, 23, 3, 6), now)).toBe('Sun 23 Nov 2025 03:06')
  })

  test('come with the duration until or since then', () => {
    expect(whenText(new Date(2026, 10, 24, 23, 36), now)).toBe('at 23:36, in 4 min')
    expect(whenText(new Date(2026, 10, 24, 23, 28), now)).toBe('23:28, 4 min ago')
    expect(whenText(new Date(2026, 10, 25, 0, 32), now)).toBe('on Wed 25 Nov at 00:32, in 1 h')
    expect(whenText(new Date(2026, 10, 23, 23, 32), now)).toBe('Mon 23 Nov 23:32, 1 d ago')
  })

  test('replace ISO times in a sentence, and nothing that only resembles one', () => {
    const iso = new Date(2026, 10, 24, 23, 36).toISOString()
    expect(localTimes(`retry 1 of 3 at ${iso}; ${iso}`, now)).toBe('retry 1 of 3 at 23:36; 23:36')
    expect(localTimes('2026-99-99T99:99:99Z 2026-11-24', now)).toBe('2026-99-99T99:99:99Z 2026-11-24')
  })
})

describe('cut', () => {
  test('keeps a text that fits', () => {
    expect(cutToWidth('twelve chars', 12)).toBe('twelve chars')
    expect(cutToWidth('', 5)).toBe('')
  })

  test('ends a longer text with an ellipsis within the width', () => {
    expect(cutToWidth('twelve chars', 11)).toBe('twelve cha…')
    expect(cutToWidth('twelve chars', 8)).toBe('twelve…')
  })

  test('splits no grapheme, and counts wide ones as two columns', () => {
    expect(cutToWidth('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…')
    expect(cutToWidth('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3)).toBe('👩‍👩‍👧‍👦…')
    expect(cutToWidth('漢字漢字', 4)).toBe('漢…')
    expect(cutToWidth('漢字', 4)).toBe('漢字')
  })
})
