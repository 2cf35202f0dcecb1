/** "No test ran" is read from each runner's own words, and taken back by any runner that did run some. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countedNoTest, ranNoTest, someTestPassed, testCounts } from './executed.ts'

describe('a runner that ran no test', () => {
  test.each(testCounts)('$tool: is known by its words', ({ example }) => {
    expect(ranNoTest(['> some header', example])?.evidence).toBe(example.trim())
  })
  test.each(testCounts.filter((row) => row.counter !== undefined))('$tool: ran some', ({ counter = '', example }) => {
    expect(ranNoTest([counter])).toBeUndefined()
    // A workspace of packages: one without tests beside one with.
    expect(ranNoTest([example, counter])).toBeUndefined()
  })
  test.each(['0 tests', 'no tests found', 'collected 0 items', 'No tests were executed.', 'Ran 0 tests'])(
    '%s',
    (line) => expect(ranNoTest([line])).toBeDefined(),
  )
  test.each([
    ['a linter', 'src/a.ts: 0 problems'],
    ['a build', 'built in 0 s'],
    ['a sentence about tests', 'there are no tests for this yet, see issue 0'],
    ['nothing', ''],
  ])('%s is no runner', (_what, line) => expect(ranNoTest([line])).toBeUndefined())
  test('all tests skipped is none', () => {
    expect(ranNoTest(['      Tests  3 skipped (3)'])?.tool).toBe('vitest')
    expect(ranNoTest(['ℹ tests 2', 'ℹ pass 0', 'ℹ fail 0', 'ℹ skipped 2'])?.tool).toBe('node --test')
  })
  test('whatever else is printed, a run that counts passed tests is never empty', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom(...testCounts.map(({ example }) => example)))),
        fc.constantFrom(...testCounts.flatMap(({ counter }) => counter ?? [])),
        fc.nat(),
        (lines, counter, at) => {
          const where = at % (lines.length + 1)
          expect(ranNoTest([...lines.slice(0, where), counter, ...lines.slice(where)])).toBeUndefined()
        },
      ),
    )
  })
})

test.each([
  ['node', 'ℹ pass 2', true],
  ['vitest', '      Tests  1 failed | 4 passed (5)', true],
  ['vitest, none', '      Tests  2 failed (2)', false],
  ['rspec', '3 examples, 1 failure', true],
  ['rspec, none', '3 examples, 3 failures', false],
  ['maven', '[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0', true],
  ['maven, none', '[ERROR] Tests run: 3, Failures: 2, Errors: 1, Skipped: 0', false],
  ['go', '--- PASS: TestA (0.00s)', true],
  ['a silent check', 'FAIL', false],
])('tests beside the failed ones that passed: %s', (_tool, line, expected) => {
  expect(someTestPassed([line])).toBe(expected)
})

test.each([
  [true, ['No tests found, exiting with code 0']],
  [true, ['ℹ tests 0', 'ℹ pass 0', 'ℹ fail 0']],
  // A file that cannot be loaded has no test either, and is no empty run.
  [false, ['Test Suites: 1 failed, 1 total', 'Tests:       0 total']],
  [false, ['● Test suite failed to run', 'Tests:       0 total']],
  [false, ['3 passed']],
])('counts no test and no failed file: %s for %j', (holds, lines) => expect(countedNoTest(lines)).toBe(holds))
