import { expect, test } from 'vitest'
import { causeIn, commandCause } from './cause.ts'

const vitest = `
 ❯ src/sum.test.ts (2 tests | 1 failed) 6ms
   × adds numbers 4ms

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/sum.test.ts > adds numbers
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ src/sum.test.ts:4:20

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
ERROR: Coverage for lines (40%) does not meet global threshold (80%)
`

const node = `✖ divides (1.2ms)
  TypeError [ERR_X]: b is not a number
      at divide (/repo/src/divide.js:3:9)
      at TestContext.<anonymous> (/repo/test/divide.test.js:5:3)
ℹ fail 1
`

const pytest = `=================================== FAILURES ===================================
    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_total.py:5: AssertionError
=========================== 1 failed, 2 passed in 0.03s ========================
`

const types = `src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.
npm error code ELIFECYCLE
`

const make = `test -f a.txt || { echo "a.txt is missing"; exit 1; }
test -f b.txt || { echo "b.txt is missing"; exit 1; }
b.txt is missing
make: *** [Makefile:3: test] Error 1
`

test.each([
  ['vitest, with a coverage threshold below', vitest, ['adds numbers'], /^AssertionError: expected 3 to be 4/],
  ['the test runner of node, with a stack', node, ['divides'], /^TypeError \[ERR_X\]: b is not a number$/],
  ['pytest', pytest, [], /^assert 3 == 4$/],
  ['make, which prints its commands', make, [], /^b\.txt is missing$/],
  ['tsc under npm', types, [], /error TS2322: Type 'string' is not/],
  [
    'the failing test named second',
    'Error: noise of another test\n✖ second\nError: the cause',
    ['second'],
    /^Error: the cause$/,
  ],
])('%s', (_tool, output, tests, cause) => {
  expect(causeIn(output, tests)).toMatch(cause)
})

test('a finding with its place is the cause, not the banner of the tool or the name of the test', () => {
  const standard =
    "  /w/index.js:84:7: 'split' is defined but never used. (no-unused-vars)\nstandard: Use JavaScript Standard Style\n"
  expect(causeIn(standard)).toContain("84:7: 'split' is defined")
  expect(causeIn('--- FAIL: TestAdd (0.00s)\n    add_test.go:9: got 3, want 4\nFAIL\n', ['TestAdd'])).toContain('got 3')
  expect(causeIn('src/a.py:3:1: F401 `os` imported but unused\nFound 1 error.\n')).toContain('F401')
})

test('a summary alone tells no cause', () => {
  expect(causeIn('Tests  1 failed | 1 passed (2)\nERROR: Coverage for lines (40%) does not meet 80%\n')).toBeUndefined()
})

test.each([
  [
    'npm, whose last line says where the log is',
    [
      'npm error code ETARGET',
      'npm error notarget No matching version found for typescript@next.',
      'npm error notarget In most cases you are requesting a package version that does not exist.',
      'npm error A complete log of this run can be found in: /h/.npm/_logs/1-debug-0.log',
    ],
    'npm error notarget No matching version found for typescript@next.',
  ],
  [
    'pip',
    ['Collecting x', 'ERROR: No matching distribution found for x', '[notice] A new release of pip'],
    'ERROR: No matching distribution found for x',
  ],
  ['a tool that does not say "error"', ['checking', 'no space left', ''], 'no space left'],
  ['silence', [], ''],
])('a command that failed is explained by its first error: %s', (_name, lines, cause) => {
  expect(commandCause(lines)).toBe(cause)
})
