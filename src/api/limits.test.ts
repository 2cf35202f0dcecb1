import { expect, test } from 'vitest'
import { createStreamLimits, mostStreams } from './limits.ts'

const take = (limits: ReturnType<typeof createStreamLimits>, caller: string, count: number): (() => void)[] =>
  Array.from({ length: count }, () => limits.take(caller))

const refusal = (most: number) =>
  expect.objectContaining({ code: 'TOO_MANY', message: expect.stringContaining(`${most} streams`) })

test.each([
  ['owner', mostStreams.owner],
  ['a-session', mostStreams.session],
])('the limit of streams of %s is %i: the next one is refused and told why, until one ends', (caller, most) => {
  const limits = createStreamLimits()
  const [first] = take(limits, caller, most)
  expect(() => limits.take(caller)).toThrow(refusal(most))
  expect(() => limits.take('another')).not.toThrow()
  first?.()
  expect(() => limits.take(caller)).not.toThrow()
  expect(() => limits.take(caller)).toThrow(refusal(most))
})

test('a raised limit is of the owner alone', () => {
  const limits = createStreamLimits(300)
  take(limits, 'owner', 300)
  expect(() => limits.take('owner')).toThrow(refusal(300))
  take(limits, 'a-session', mostStreams.session)
  expect(() => limits.take('a-session')).toThrow(refusal(mostStreams.session))
})
