import { describe, expect, it } from 'vitest'
import { failingSetOf } from '../failing-set.ts'
import { diagnose } from '../diagnosis.ts'
import type { ObservedCheck } from '../evidence.ts'
import { classify } from './classify.ts'

const coverage = 'ERROR: Coverage for lines (40%) does not meet global threshold (90%)'
const table = '----------|---------\nFile      | % Lines\n cart.js  |      40\n'

const failed = (stdout: string, stderr = ''): ObservedCheck => ({
  ...{ command: 'npm test', exitCode: 1, signal: null, timedOut: false, remaining: 1, source: 'task' },
  ...{ stdout, stderr },
})

/** What the real runners print, shortened; each misses its coverage threshold as well, and the code under test is noisy. */
const runs: [string, string, string, string][] = [
  [
    'vitest, an assertion',
    `${table}      Tests  1 failed | 1 passed (2)`,
    `stderr | a.test.js > logs\nAssertionError: noise\n\n FAIL  a.test.js > adds\nAssertionError: expected 5 to be 6 // Object.is equality\n\n- 6\n+ 5\n\n ❯ a.test.js:3:77\n${coverage}`,
    'AssertionError: expected 5 to be 6 // Object.is equality',
  ],
  [
    'vitest, an error',
    `${table}      Tests  1 failed | 1 passed (2)`,
    `Error: noise\n FAIL  a.test.js > adds\nTypeError: Cannot read properties of undefined (reading 'price')\n ❯ deep a.test.js:3:42\n${coverage}`,
    "TypeError: Cannot read properties of undefined (reading 'price')",
  ],
  [
    'jest, an assertion',
    table,
    `  ● Console\n\n    console.error\n      Error: noise\n\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 6\n    Received: 5\n\n      at Object.<anonymous> (a.test.js:2:77)\n\nJest: Coverage for lines (40%) does not meet "global" threshold (90%)\nTests:       1 failed, 1 total`,
    'expect(received).toBe(expected) // Object.is equality; Expected: 6; Received: 5',
  ],
  [
    'jest, an error',
    table,
    `  ● adds\n\n    RangeError: too deep\n\n      at deep (a.test.js:2:42)\n\nTests:       1 failed, 1 total`,
    'RangeError: too deep',
  ],
  [
    'node --test, an assertion',
    "✖ adds (2.2ms)\nℹ fail 1\nℹ Error: 33.33% line coverage does not meet threshold of 95%.\n\n✖ failing tests:\n\n✖ adds (2.2ms)\n  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n  \n  5 !== 6\n  \n      at TestContext.<anonymous> (file:///repo/a.test.js:2:40) {\n    code: 'ERR_ASSERTION',\n    diff: 'simple'\n  }",
    '',
    'AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 5 !== 6',
  ],
  [
    'node --test, an error',
    'Error: noise\n✖ adds (2.2ms)\nℹ fail 1\n\n✖ failing tests:\n\n✖ adds (2.2ms)\n  TypeError [ERR_X]: no price\n      at deep (file:///repo/a.test.js:2:40)',
    '',
    'TypeError [ERR_X]: no price',
  ],
  [
    'pytest, an error before an assertion',
    "=== FAILURES ===\n___ test_a ___\n    def test_a():\n>       deep(3)\nE       KeyError: 'price'\n\na.py:4: KeyError\n___ test_b ___\nE       assert 3 == 4\n=== short test summary info ===\nFAILED a.py::test_a - KeyError: 'price'\nERROR: Coverage failure: total of 40 is less than fail-under=90\n=== 2 failed in 1.04s ===",
    '',
    "KeyError: 'price'",
  ],
  [
    'pytest without tracebacks',
    "F\nFAILED a.py::test_a - KeyError: 'price'\n1 failed, 1 passed in 0.1s",
    '',
    "FAILED a.py::test_a - KeyError: 'price'",
  ],
  [
    'mocha, an error before a time-out',
    `  1) adds\n  2) slow\n\n  1 passing (9ms)\n  2 failing\n\n  1) adds:\n     TypeError: no price\n      at deep (a.js:2:42)\n\n  2) slow:\n     Error: Timeout of 50ms exceeded.\n      at listOnTimeout (node:internal/timers:685:17)\n${table}`,
    `Error: noise\n${coverage}`,
    'TypeError: no price',
  ],
]

describe('the cause of a failed test', () => {
  it.each(runs)('%s', (_name, stdout, stderr, cause) => {
    const diagnosis = diagnose({ kind: 'check', check: failed(stdout, stderr) })
    expect(diagnosis).toMatchObject({ label: 'test_failure', evidence: `npm test: exit 1, ${cause}` })
  })
})

it('a missed coverage threshold is the cause where every test passed', () => {
  const stdout = `${table}      Tests  2 passed (2)`
  const found = classify(failed(stdout, `stderr | a.test.js\nError: connect ECONNREFUSED 127.0.0.1:5432\n${coverage}`))
  expect(found).toMatchObject({ label: 'test_failure', evidence: coverage })
})

it('a missed coverage threshold is the name of no test', () => {
  const [, stdout = '', stderr = ''] = runs[0] ?? []
  const set = failingSetOf({ ...failed(stdout, stderr), complete: true, step: 0, root: '/repo' })
  expect(set.tests).toEqual(['a.test.js > adds'])
})

it('an unknown failure is shown by what was said of it, not by the frames below', () => {
  const stderr = 'something odd\n    at deep (/repo/a.js:2:42)\n    at node:internal/main:1:2\nnpm error code 1\n'
  const { evidence } = diagnose({ kind: 'check', check: failed('', stderr) })
  expect(evidence).toBe('npm test: exit 1, something odd')
})

it('a question names the cause that the runner reports, not the first line that sounds like one', () => {
  const tap =
    "TAP version 13\nnot ok 1 - adds\n  failureType: 'testCodeFailure'\n  error: '-1 == 5'\n  code: 'ERR_ASSERTION'\n# fail 1\n"
  const failing = { areTests: true, items: ['adds'] }
  const check = { ...failed(tap, ''), failing } as ReturnType<typeof failed>
  expect(diagnose({ kind: 'check', check }).facts).toMatchObject({
    failure: { tests: ['adds'], cause: "error: '-1 == 5'" },
  })
})

it.each([
  [
    'a file that threw before its first test, as TAP',
    "TAP version 13\n# node:fs:573\n# Error: ENOENT: no such file or directory, open '.env'\n#     at Object.openSync (node:fs:573:18)\nnot ok 1 - a.test.js\n  ---\n  failureType: 'testCodeFailure'\n  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\n# fail 1\n",
    "Error: ENOENT: no such file or directory, open '.env'",
  ],
  [
    'a log that npm names at its end',
    "src/a.js:3:1: error TS2304: Cannot find name 'x'.\nnpm error A complete log of this run can be found in: /home/me/.npm/_logs/a-debug-0.log\n",
    "src/a.js:3:1: error TS2304: Cannot find name 'x'.",
  ],
])('%s', (_what, output, cause) => {
  expect(diagnose({ kind: 'check', check: failed(output, '') }).evidence).toContain(cause)
})
