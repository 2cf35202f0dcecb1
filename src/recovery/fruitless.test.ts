import { expect, test } from 'vitest'
import { callsBefore, fruitlessCalls, type CallResult } from './fruitless.ts'

const same = { signature: 'a' }
const tests = (...failing: string[]): CallResult => ({ signature: failing.join(), command: 'npm test', failing })

test.each<[string, CallResult[], number]>([
  ['no call', [], 0],
  ['the first failure is news', [same], 0],
  ['the same five times', [same, same, same, same, same], 4],
  ['a new failure costs nothing and ends nothing', [same, same, { signature: 'b' }, same], 2],
  ['two failures in turn', [same, { signature: 'b' }, same, { signature: 'b' }], 2],
  ['fewer failing tests begin a new count', [tests('1', '2'), tests('1', '2'), tests('1'), tests('1')], 1],
  ['other failing tests are no fewer', [tests('1', '2'), tests('3'), tests('1', '2')], 1],
])('%s', (_what, calls, count) => {
  expect(fruitlessCalls(calls)).toBe(count)
})

test('refusals, faults of the provider and questions about a check are no results of a call', () => {
  const relaunch = { type: 'relaunch' }
  const feedback = { command: 'npm test', failing: ['1'] }
  expect(
    callsBefore([
      { signature: 'refused', rung: 1, action: relaunch },
      { signature: 'overloaded', rung: 2, action: relaunch },
      { signature: 'asked', rung: 4, action: { type: 'relaunch', ask: 'npm test' } },
      { signature: 'waits', rung: 3, action: { type: 'wait' } },
      { signature: 'hangs', rung: 3, action: relaunch },
      { signature: 'red', rung: 4, action: { type: 'relaunch', feedback } },
    ]),
  ).toEqual([{ signature: 'hangs' }, { signature: 'red', ...feedback }])
})
