import { expect, test } from 'vitest'
import { heldUpBefore } from './take-over.ts'

const runsWith = (...codes: (string | null)[]) =>
  codes.map((failureCode, index) => ({
    number: index + 1,
    errorMeta:
      failureCode === null
        ? null
        : { source: 'execution' as const, failureCode, message: '', evidence: '', signature: `${failureCode}: x` },
  }))

test.each<[string, (string | null)[], number | undefined]>([
  ['the run that a limit ended', ['quota_failure'], 1],
  ['one that was claimed too late to be launched', ['quota_failure', 'account_limited'], 2],
  ['the one behind runs that were only cut short', ['quota_failure', 'interrupted', 'paused'], 1],
  ['the run whose checks could not reach the registry', ['environment_issue/network_unreachable'], 1],
  ['none where the environment failed otherwise', ['environment_issue/port_in_use'], undefined],
  ['none where the last one failed by its own work', ['quota_failure', 'verification_command_failed'], undefined],
  ['none before the first', [], undefined],
  ['none where nothing failed', [null], undefined],
])('a run goes on from %s', (_what, codes, number) => {
  const later = { number: codes.length + 2, errorMeta: null }
  expect(heldUpBefore([...runsWith(...codes), later].toReversed(), codes.length + 1)?.number).toBe(number)
})
