import { expect, test } from 'vitest'
import { confirmed, isCertain } from './confirmed.ts'
import type { CounterfactualResult } from './next-proof.ts'

const red = (...failing: string[]): CounterfactualResult => ({
  state: 'red',
  command: 'npm test',
  failing,
  named: true,
})
const unnamed: CounterfactualResult = { state: 'red', command: 'make', failing: ['not ok'], named: false }
const green: CounterfactualResult = { state: 'green', failing: [], named: false }

const added = { before: undefined, after: "test('trims spaces', () => {})" }
const extended = { before: "test('joins', …)", after: "test('joins', …)\ntest('trims spaces', …)" }

test.each<[string, CounterfactualResult, { before: string | undefined; after: string | undefined }[], boolean]>([
  ['a test of a new file', red('trims spaces'), [added], true],
  ['a test that was added to a file', red('slug > trims spaces'), [extended], true],
  ['an old test beside a new one', red('joins', 'trims spaces'), [extended], true],
  ['an old test', red('joins'), [extended], false],
  ['a test of no changed file', red('trims spaces'), [], false],
  ['a failure without the name of a test', unnamed, [added], false],
  ['a broken file that reports itself', { ...unnamed, loadedBroken: true }, [], true],
])('%s needs no second run: %#', (_what, result, texts, expected) => {
  expect(isCertain(result, texts)).toBe(expected)
})

test('only what fails in both runs counts', () => {
  expect(confirmed(red('a', 'b'), red('b', 'c'))).toEqual(red('b'))
  expect(confirmed(unnamed, unnamed)).toEqual(unnamed)
  expect(confirmed(red('a'), green)).toEqual(green)
  expect(confirmed(red('a'), red('b')).state).toBe('unknown')
})
