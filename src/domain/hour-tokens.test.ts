import { describe, expect, it } from 'vitest'
import { hourTokensReached } from './hour-tokens.ts'

const minute = (value: number): Date => new Date(Date.UTC(2026, 0, 1, 12, value))
const spent = (...list: [tokens: number, until: number][]) =>
  list.map(([tokens, until]) => ({ tokens, until: minute(until) }))

describe('the ceiling of tokens per hour', () => {
  it.each<[string, number | undefined, [number, number][]]>([
    ['is not set', undefined, [[1_000_000, 5]]],
    ['is lifted', -1, [[1_000_000, 5]]],
    [
      'is above what was used',
      101,
      [
        [60, 5],
        [40, 9],
      ],
    ],
    ['is set, and nothing was used', 1, []],
  ])('holds nothing back where it %s', (_title, limit, list) => {
    expect(hourTokensReached(limit, spent(...list))).toBeUndefined()
  })

  it.each<[string, number, [number, number][], number]>([
    [
      'the first of them is enough',
      100,
      [
        [60, 9],
        [40, 5],
      ],
      5,
    ],
    [
      'exactly the limit would still be left after the first',
      60,
      [
        [60, 9],
        [40, 5],
      ],
      9,
    ],
    [
      'each is above it',
      10,
      [
        [60, 9],
        [40, 5],
        [50, 7],
      ],
      9,
    ],
  ])('is reached until enough tokens are older than an hour: %s', (_title, limit, list, until) => {
    const used = list.reduce((sum, [tokens]) => sum + tokens, 0)
    expect(hourTokensReached(limit, spent(...list))).toEqual({ limit, used, until: minute(until) })
  })
})
