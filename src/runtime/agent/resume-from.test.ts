import { expect, test } from 'vitest'
import { attemptBefore, workOf } from './resume-from.ts'

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

const endedAt = new Date('2026-01-01T12:00:00Z')
const during = { commit: 'during', at: '2026-01-01T11:00:00.000Z' }
const afterwards = { commit: 'afterwards', at: '2026-01-01T13:00:00.000Z' }

test.each([
  ['its commit, not a snapshot from the middle of it', { commit: 'finished' }, during, 'finished'],
  ['what a person changed after it', { commit: 'finished' }, afterwards, 'afterwards'],
  ['its commit, where nothing else was kept', { commit: 'finished' }, undefined, 'finished'],
  ['its newest snapshot, where it failed', { state: 'failed', commit: 'finished' }, during, 'during'],
  ['its newest snapshot, where it changed nothing', {}, during, 'during'],
  ['nothing, where nothing was kept', { state: 'failed' }, undefined, null],
] as const)('the work of a run is %s', (_what, run, newest, work) => {
  expect(workOf({ state: 'success', commit: null, endedAt, ...run }, newest)).toBe(work)
})
