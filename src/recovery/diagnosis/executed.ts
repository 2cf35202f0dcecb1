/**
 * Whether a command that passed ran any test. Most runners exit with 0 if they find no test, and such a pass proves nothing.
 * Per runner as data: the line for "no test" and the line for "some tests". If several runners print (a workspace of packages),
 * one that ran tests is enough. A command that is not a runner prints neither line.
 */
import { suiteFailed } from './runner.ts'
import { withoutPrefixes } from './output-lines.ts'

interface Count {
  tool: string
  none: RegExp
  example: string
  /** Absent if the tool prints no such line. */
  some?: RegExp
  counter?: string
}

export const testCounts: readonly Count[] = [
  {
    tool: 'vitest',
    none: /^(?:\W*)No test files found\b|^\s*Tests\s+(?:no tests|(?:\d+ (?:skipped|todo)[ |]*)+\(\d+\))$/,
    example: 'No test files found, exiting with code 0',
    some: /^\s*Tests\s+.*\b[1-9]\d* (?:passed|failed|expected fail)/,
    counter: '      Tests  2 passed | 1 skipped (3)',
  },
  {
    tool: 'jest',
    none: /^No tests found\b|^Tests:\s+(?:\d+ (?:skipped|todo), )*\d+ total$/,
    example: 'No tests found, exiting with code 0',
    some: /^Tests:\s.*\b[1-9]\d* (?:passed|failed)/,
    counter: 'Tests:       1 skipped, 2 passed, 3 total',
  },
  {
    tool: 'pytest',
    none: /^collect(?:ed|ing) 0 items\b|^=*\s*no tests ran\b|^=+ (?:\d+ (?:skipped|deselected|warnings?)(?:, )?)+ in [\d.]+s/,
    example: 'collected 0 items',
    some: /\b[1-9]\d* (?:passed|failed|xfailed|xpassed|errors?)\b.* in [\d.]+s/,
    counter: '============================== 3 passed in 0.01s ===============================',
  },
  {
    tool: 'python unittest',
    none: /^Ran 0 tests in |^NO TESTS RAN\b/,
    example: 'Ran 0 tests in 0.000s',
    some: /^Ran [1-9]\d* tests? in /,
    counter: 'Ran 4 tests in 0.002s',
  },
  {
    tool: 'go',
    none: /\[no test files\]$|\[no tests to run\]$|^testing: warning: no tests to run/,
    example: '?   \texample.com/slug\t[no test files]',
    some: /^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?:\s+coverage: [^[]*)?$|^\s*--- PASS: /,
    counter: 'ok  \texample.com/slug\t0.003s',
  },
  {
    tool: 'cargo',
    none: /^running 0 tests$/,
    example: 'running 0 tests',
    some: /^test result: \w+\. (?:[1-9]\d* passed|\d+ passed; [1-9]\d* failed)/,
    counter: 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out',
  },
  {
    tool: 'cargo-nextest',
    none: /\bno tests to run$|^\s*Summary \[.*\] +0 tests run/,
    example: '     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped',
    some: /^\s*Summary \[.*\] +[1-9]\d* tests? run/,
    counter: '     Summary [   0.005s] 2 tests run: 2 passed, 0 skipped',
  },
  {
    tool: 'node --test',
    none: /^(?:#|ℹ) (?:tests|pass) 0$/,
    example: 'ℹ tests 0',
    some: /^(?:#|ℹ) pass [1-9]/,
    counter: 'ℹ pass 3',
  },
  {
    tool: 'TAP: testanything.org',
    none: /^1\.\.0\b/,
    example: '1..0',
    some: /^\s*ok \d+[^#]*$/,
    counter: 'ok 1 - slug',
  },
  {
    tool: 'mocha',
    none: /^\s*0 passing\b/,
    example: '  0 passing (1ms)',
    some: /^\s*[1-9]\d* passing\b/,
    counter: '  3 passing (5ms)',
  },
  {
    tool: 'bun',
    none: /^\s*0 pass$|^(?:error: )?No tests found!/,
    example: ' 0 pass',
    some: /^\s*[1-9]\d* pass$/,
    counter: ' 4 pass',
  },
  {
    tool: 'ava',
    none: /Couldn.t find any files to test/,
    example: "  ✘ Couldn't find any files to test",
    some: /^\s*[1-9]\d* tests? passed$/,
    counter: '  2 tests passed',
  },
  {
    tool: 'ctest',
    none: /^No tests were found!!!$/,
    example: 'No tests were found!!!',
    some: /^\d+% tests passed, \d+ tests failed out of [1-9]/,
    counter: '100% tests passed, 0 tests failed out of 2',
  },
  {
    tool: 'googletest',
    none: /^\[={10}\] (?:Running )?0 tests from 0 test /,
    example: '[==========] Running 0 tests from 0 test suites.',
    some: /^\[ {2}PASSED {2}\] [1-9]/,
    counter: '[  PASSED  ] 2 tests.',
  },
  {
    tool: 'catch2',
    none: /^No tests ran$|^No test cases matched/,
    example: 'No tests ran',
    some: /^All tests passed \(/,
    counter: 'All tests passed (3 assertions in 1 test case)',
  },
  {
    tool: 'maven',
    none: /^(?:\[INFO\] )?No tests to run\.|Tests run: 0, Failures: 0/,
    example: '[INFO] No tests to run.',
    some: /Tests run: [1-9]/,
    counter: '[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0',
  },
  {
    tool: 'gradle',
    none: /^> Task \S*:test NO-SOURCE$/,
    example: '> Task :test NO-SOURCE',
    some: /^> Task \S*:test(?: UP-TO-DATE| FROM-CACHE)?$/,
    counter: '> Task :app:test',
  },
  {
    tool: 'sbt',
    none: /No tests were executed|Passed: Total 0,/,
    example: '[info] No tests were executed.',
    some: /Passed: Total [1-9]/,
    counter: '[info] Passed: Total 3, Failed 0, Errors 0, Passed 3',
  },
  {
    tool: 'rspec',
    none: /^0 examples, 0 failures|^No examples found\./,
    example: '0 examples, 0 failures',
    some: /^[1-9]\d* examples?, /,
    counter: '3 examples, 0 failures',
  },
  {
    tool: 'minitest',
    none: /^0 (?:runs|tests), 0 assertions/,
    example: '0 runs, 0 assertions, 0 failures, 0 errors, 0 skips',
    some: /^[1-9]\d* (?:runs|tests), /,
    counter: '2 runs, 2 assertions, 0 failures, 0 errors, 0 skips',
  },
  {
    tool: 'phpunit',
    none: /^No tests executed!$/,
    example: 'No tests executed!',
    some: /^OK \([1-9]|^Tests: [1-9]/,
    counter: 'OK (3 tests, 3 assertions)',
  },
  {
    tool: 'dotnet',
    none: /^No test is available in |^No test matches the given testcase filter/,
    example: 'No test is available in /src/bin/Debug/net8.0/App.Tests.dll.',
    some: /^(?:Passed!\s+-|\s+Passed:? +[1-9])/,
    counter: 'Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2',
  },
  {
    tool: 'exunit',
    none: /^There are no tests to run$|^0 tests, 0 failures/,
    example: 'There are no tests to run',
    some: /^(?:\d+ doctests?, )?[1-9]\d* tests?, /,
    counter: '3 tests, 0 failures',
  },
  {
    tool: 'deno',
    none: /^ok \| 0 passed\b|No test modules found/,
    example: 'ok | 0 passed | 0 failed (0ms)',
    some: /^ok \| [1-9]\d* passed/,
    counter: 'ok | 2 passed | 0 failed (3ms)',
  },
  {
    tool: 'swift',
    none: /Executed 0 tests, |Test run with 0 tests/,
    example: 'Executed 0 tests, with 0 failures (0 unexpected) in 0.000 seconds',
    some: /Executed [1-9]\d* tests?, |Test run with [1-9]/,
    counter: 'Executed 2 tests, with 0 failures (0 unexpected) in 0.002 seconds',
  },
  {
    tool: 'dart',
    none: /^No tests (?:ran|were found)\.?$/,
    example: 'No tests ran.',
    some: /\+[1-9]\d*(?: ~\d+)?: All tests passed!/,
    counter: '00:01 +3: All tests passed!',
  },
  {
    tool: 'zig',
    none: /^All 0 tests passed\./,
    example: 'All 0 tests passed.',
    some: /^All [1-9]\d* tests passed\./,
    counter: 'All 2 tests passed.',
  },
  { tool: 'pnpm', none: /^No projects matched the filters/, example: 'No projects matched the filters in "/repo"' },
  {
    tool: 'any runner',
    none: /^\W*(?:(?:ran|running|executed|found|collected)\s+)?(?:0|no) (?:tests?|specs?|test files?|test cases?)(?: (?:were |was )?(?:ran|run|executed|found|passed|collected))?\W*$/i,
    example: '0 tests',
    some: /\b[1-9]\d* (?:tests? |specs? |checks? )?(?:passed|passing|succeeded)\b/i,
    counter: 'checkout: 3 passed, 0 failed',
  },
]

const matches = (pattern: RegExp | undefined, text: string): boolean =>
  pattern !== undefined && (pattern.test(text) || pattern.test(withoutPrefixes(text)))

export interface NoTestRan {
  tool: string
  evidence: string
}

/** The runner that reports no test, if no runner reports some. `lines` are without colours. */
export const ranNoTest = (lines: readonly string[]): NoTestRan | undefined => {
  let found: NoTestRan | undefined
  for (const text of lines) {
    if (testCounts.some(({ some }) => matches(some, text))) return undefined
    const row = found === undefined ? testCounts.find(({ none }) => matches(none, text)) : undefined
    if (row !== undefined) found = { tool: row.tool, evidence: text.trim().slice(0, 300) }
  }
  return found
}

const failedFile = /\b[1-9]\d* (?:failed|errors?)\b|\bfail(?:ed)?:? [1-9]/i

/** Whether the runner counted zero tests and no failed file. (A test file that cannot be loaded has zero tests as well.) */
export const countedNoTest = (lines: readonly string[]): boolean =>
  ranNoTest(lines) !== undefined && !lines.some((text) => suiteFailed.test(text) || failedFile.test(text))

/** Lines that report passed tests, singly or as a count. */
const passes: readonly RegExp[] = [
  /(?:^|[\s:|,;(])[1-9]\d* (?:tests? |specs? )?(?:passed|passing|pass)\b/,
  /^(?:#|ℹ) pass [1-9]/,
  /^\s*ok \d+[^#]*$/,
  /^ok\s+\S+\s+[\d.(]/,
  /^\s*--- PASS: /,
  /^test \S.* \.\.\. ok$/,
  /^\[ +OK \] /,
  /\bPassed:?\s+[1-9]/,
]

/** Lines with the number of tests and the number of failures. */
const totals: readonly RegExp[] = [
  /^(\d+) examples?, (\d+) failures?/,
  /^(?:\d+ doctests?, )?(\d+) tests?, (\d+) failures?/,
  /^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors/,
  /Tests run: (\d+), {1,2}Failures: (\d+), {1,2}Errors: (\d+)/,
  /^Tests: (\d+), Assertions: \d+, (?:Failures|Errors): (\d+)/,
  /Executed (\d+) tests?, with (\d+) failures?/,
]

/** Whether at least one test passed, although the command failed. */
export const someTestPassed = (lines: readonly string[]): boolean =>
  lines.some((text) => {
    if (passes.some((pattern) => pattern.test(text))) return true
    for (const pattern of totals) {
      const found = pattern.exec(text)
      if (found === null) continue
      const [all = 0, ...failed] = found.slice(1).map((group) => Number(group ?? 0))
      if (failed.length > 0 && all > failed.reduce((sum, count) => sum + count, 0)) return true
    }
    return false
  })
