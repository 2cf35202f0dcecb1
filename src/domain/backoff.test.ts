import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoff } from './backoff.ts'

const delays = (count: number, options: Parameters<typeof backoff>[1]): number[] =>
  Array.from({ length: count }, (_, retries) => backoff(retries, options))

describe('backoff', () => {
  it.each([
    ['doubles up to the maximum', { firstMs: 50, maxMs: 300 }, [50, 100, 200, 300, 300]],
    ['grows by another factor', { firstMs: 3_000, maxMs: 60_000, factor: 4 }, [3_000, 12_000, 48_000, 60_000]],
    ['is the maximum where the first delay is longer', { firstMs: 9, maxMs: 5 }, [5, 5]],
    ['is nothing without a first delay', { firstMs: 0, maxMs: 5 }, [0, 0]],
  ])('%s', (_, options, expected) => {
    expect(delays(expected.length, options)).toEqual(expected)
  })

  const retries = fc.oneof(fc.nat(100), fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER))
  const options = fc.record(
    {
      firstMs: fc.integer({ min: 1, max: 600_000 }),
      maxMs: fc.integer({ min: 1, max: 7_200_000 }),
      factor: fc.constantFrom(1, 1.5, 2, 4),
    },
    { requiredKeys: ['firstMs', 'maxMs'] },
  )

  it('never shrinks, never exceeds the maximum and never overflows', () => {
    fc.assert(
      fc.property(retries, options, (number, given) => {
        const delay = backoff(number, given)
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThan(0)
        expect(delay).toBeLessThanOrEqual(given.maxMs)
        expect(backoff(number + 1, given)).toBeGreaterThanOrEqual(delay)
      }),
    )
  })

  it('adds at most the share of the jitter, the same for the same seed, and stays below the maximum', () => {
    fc.assert(
      fc.property(retries, options, fc.string(), (number, given, seed) => {
        const jitter = { share: 0.2, seed }
        const plain = backoff(number, given)
        const delay = backoff(number, { ...given, jitter })
        expect(delay).toBe(backoff(number, { ...given, jitter }))
        expect(delay).toBeGreaterThanOrEqual(plain)
        expect(delay).toBeLessThanOrEqual(Math.min(given.maxMs, Math.ceil(plain * 1.2) + 1))
      }),
    )
  })

  it('spreads operations that failed at the same moment', () => {
    const spread = Array.from({ length: 20 }, (_, index) =>
      backoff(1, { firstMs: 30_000, maxMs: 600_000, jitter: { share: 0.2, seed: `task-${index}` } }),
    )
    expect(new Set(spread).size).toBeGreaterThan(10)
  })
})
