/** How changes of the owner's checkout join a question, and what an answer covers. */
import { expect, it } from 'vitest'
import { isDecided, joinChanges, type CheckoutChange } from './checkout-change.ts'

const main = (before: string | null, after: string | null): CheckoutChange => ({
  ...{ part: 'ref', name: 'refs/heads/main', before, after },
})

it('a later change keeps the first state before, and what is as it was again is none', () => {
  expect(joinChanges([main('a', 'b')], [main('b', 'c')])).toEqual([main('a', 'c')])
  expect(joinChanges([main('a', 'b')], [main('b', 'a')])).toEqual([])
  expect(joinChanges([main('a', 'b')], [{ ...main('1', '2'), part: 'config' }])).toHaveLength(2)
})

it('an answer covers the state that it left, and no later one', () => {
  const kept = [{ answer: 'keep' as const, changes: [main('a', 'b')] }]
  const restored = [{ answer: 'restore' as const, changes: [main('a', 'b')] }]
  expect([isDecided(main('a', 'b'), kept), isDecided(main('a', 'c'), kept)]).toEqual([true, false])
  expect([isDecided(main('b', 'a'), restored), isDecided(main('a', 'b'), restored)]).toEqual([true, false])
})
