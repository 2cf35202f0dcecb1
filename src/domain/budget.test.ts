/** Which limits of a run and of a goal are set, and when one is reached. */
import { describe, expect, it, test } from 'vitest'
import { leftOf, noSpend, overrunOf, withoutLifted, type ConfigLimits } from './budget.ts'

const keys = [
  ...['runSeconds', 'runTokens', 'runCostUsd', 'goalSeconds', 'goalTokens', 'goalCostUsd'],
  'hourTokens',
] as (keyof ConfigLimits)[]
const much = { tokens: 1e9, costUsd: 1e9, seconds: 1e9 }

describe.each(keys)('%s', (key) => {
  it.each([0, -1, -0.5, -7])('%d sets no limit', (value) => {
    expect(withoutLifted({ [key]: value })).toEqual({})
    expect(overrunOf({ [key]: value }, much, much)).toBeUndefined()
  })

  it('above 0 is kept', () => {
    expect(withoutLifted({ [key]: 0.5 })).toEqual({ [key]: 0.5 })
  })
})

test('what is left of a limit', () => {
  expect(leftOf(10, 4)).toBe(6)
  expect([undefined, 0, -1].map((limit) => leftOf(limit, 4))).toEqual([Infinity, Infinity, Infinity])
})

test('a limit is reached with the last part of it', () => {
  expect(overrunOf({ runTokens: 10 }, { ...noSpend, tokens: 9 }, noSpend)).toBeUndefined()
  expect(overrunOf({ goalTokens: 10 }, { ...noSpend, tokens: 4 }, { ...noSpend, tokens: 6 })).toEqual({
    ...{ scope: 'goal', what: 'tokens', limit: 10, spent: 10 },
  })
})
