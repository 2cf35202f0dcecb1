import { expect, test } from 'vitest'
import { noCorrections, type Launch } from '../../domain/run.ts'
import { lastWorking, unfinishedAs } from './held-work.ts'

const launch = (number: number, more: Partial<Launch> = {}): Launch => ({
  ...{ number, corrections: noCorrections, resumeSession: null, hint: null },
  ...{ shim: null, gateOpened: true, startedAt: null, spend: null },
  ...more,
})
const held = { leftAs: 'the command exited with 1', heldTree: 'a' }
const asked = { ask: 'npm run nope' }

test.each([
  ['no launch at all', [], undefined],
  ['a launch that ended properly', [launch(1)], undefined],
  ['one that did not, and whose work was checked', [launch(1), launch(2, held)], held.leftAs],
  ['one behind which only the wording of a check was asked for', [launch(1, held), launch(2, asked)], held.leftAs],
  ['one that was followed by one that ended properly', [launch(1, held), launch(2)], undefined],
  ['one that died at its exit, whose work lands with a note', [launch(1, { leftAs: 'SIGSEGV' })], undefined],
] as const)('what a person has to decide about: %s', (_name, launches, expected) => {
  expect(unfinishedAs({ launches: [...launches] })).toBe(expected)
})

test('the launch that asks for a wording is not the one that worked', () => {
  expect(lastWorking({ launches: [launch(1), launch(2, asked)] })?.number).toBe(1)
})
