import { expect, test } from 'vitest'
import { attemptBefore } from './resume-from.ts'

const runsWith = (...codes: (string | null)[]) =>
  codes.map((failureCode, index) => ({
    number: index + 1,
    errorMeta:
      failureCode === null
        ? null
        : { source: 'execution' as const, failureCode, message: '', evidence: '', signature: `${failureCode}: x` },
  }))

test.each<[string, (string | null)[], number | undefined]>([
  ['the one before it', ['quota_failure', 'verification_command_failed'], 2],
  ['the one behind runs that were only cut short', ['quota_failure', 'interrupted', 'paused'], 1],
  ['one whose work did not land', ['verification_command_failed', null], 2],
  ['none before the first', [], undefined],
  ['none where all were cut short', ['interrupted'], undefined],
])('a run goes on from %s', (_what, codes, number) => {
  const later = { number: codes.length + 2, errorMeta: null }
  expect(attemptBefore([...runsWith(...codes), later].toReversed(), codes.length + 1)?.number).toBe(number)
})
