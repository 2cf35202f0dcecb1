/**
 * Reads a test runner's report: whether tests failed, which ones, and whether an assertion failed. A failed assertion is always
 * a test failure, whatever words appear in the compared values.
 */
import { testCauseOf, isFailedAssertion, runnerMarker } from './test-cause.ts'
import type { OutputLine } from './output-lines.ts'

interface Runner {
  tool: string
  /** The runner's own count of executed tests that failed. */
  summary: RegExp
  example: string
  /** The line that names a failed test; the first group is the name. */
  name?: RegExp
  /** Lines that count suites or tasks instead. */
  not?: RegExp
}

export const runners: readonly Runner[] = [
  {
    tool: 'vitest',
    summary: /^\s*Tests\s+\d+ failed/,
    example: '      Tests  1 failed | 1 passed (2)',
    name: /^\s*FAIL\s+(\S.* > .+)$/,
  },
  {
    tool: 'jest',
    summary: /^Tests:\s+(?:\d+ \w+, )*[1-9]\d* failed/,
    example: 'Tests:       1 failed, 1 total',
    name: /^\s*● (.+)$/,
  },
  {
    tool: 'pytest',
    summary: /^(?:=+ )?(?:[1-9]\d* failed\b|\d+ passed, [1-9]\d* failed\b)|^_+ ERROR at (?:setup|teardown) of /,
    example: '1 failed in 0.89s',
    name: /^(?:FAILED|ERROR) (\S+::[^ ]+)/,
  },
  {
    tool: 'python unittest',
    summary: /^FAILED \((?:\w+=\d+, )*(?:failures|errors|unexpected successes)=\d+/,
    example: 'FAILED (failures=1)',
    name: /^(?:FAIL|ERROR): (\S+ \(.+)$/,
  },
  {
    tool: 'tcltest',
    summary: /\tTotal\t\d+\tPassed\t\d+\tSkipped\t\d+\tFailed\t[1-9]/,
    example: 'a.tcl:\tTotal\t1\tPassed\t0\tSkipped\t0\tFailed\t1',
    name: /^==== (\S+) .*FAILED$/,
  },
  { tool: 'uvu', summary: /^\s{1,4}FAIL\s{1,4}"/, example: '   FAIL  "adds"', name: /^\s{1,4}FAIL\s{1,4}"(.+)"$/ },
  { tool: 'go', summary: /^\s*--- FAIL: \S/, example: '--- FAIL: TestMap (0.00s)', name: /^\s*--- FAIL: (\S+)/ },
  {
    tool: 'gotestsum',
    summary: /^DONE \d+ tests?,(?: \d+ skipped,)? [1-9]\d* failures?/,
    example: 'DONE 12 tests, 2 failures in 1.2s',
  },
  {
    tool: 'cargo',
    summary: /^test result: FAILED\. \d+ passed; [1-9]/,
    example: 'test result: FAILED. 0 passed; 1 failed; 0 ignored',
    name: /^test (\S.*) \.\.\. FAILED$/,
  },
  {
    tool: 'cargo-nextest',
    summary: /^\s*Summary \[.*\] \d+\/?\d* tests? run: .*[1-9]\d* (?:failed|timed out)/,
    example: '     Summary [   0.005s] 2 tests run: 1 passed, 1 failed, 0 skipped',
    name: /^\s*FAIL \[.*\] +(.+)$/,
  },
  { tool: 'bun', summary: /^\s*[1-9]\d* fail$/, example: ' 1 fail', name: /^\(fail\) (.+?)(?: \[[\d.]+m?s\])?$/ },
  {
    tool: 'TAP: testanything.org',
    summary: /^\s*not ok \d+\b/,
    example: 'not ok 1 - slug',
    name: /^\s*not ok \d+ -? ?([^#]+)/,
  },
  { tool: 'node --test', summary: /^(?:#|ℹ) fail [1-9]/, example: 'ℹ fail 1', name: /^\s*✖ (.+?) \([\d.]+ms\)$/ },
  { tool: 'mocha', summary: /^\s*[1-9]\d* failing$/, example: '  2 failing', name: /^\s+\d+\) (\S.*?):?$/ },
  {
    tool: 'playwright',
    summary: /^\s*[1-9]\d* (?:failed|flaky)$/,
    example: '  1 failed',
    name: /^\s+\d+\) (\S+:\d+:\d+ › .+?) ─*$/,
  },
  { tool: 'cypress', summary: /^\s*│?\s*Failing:\s+[1-9]/, example: '  │ Failing:      1                │' },
  {
    tool: 'ctest',
    summary: /^\d+% tests passed, [1-9]\d* tests? failed/,
    example: '50% tests passed, 1 tests failed out of 2',
    name: /^\s+\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted|ILLEGAL|OTHER_FAULT|Exit code \w+)/,
  },
  {
    tool: 'googletest',
    summary: /^\[ {2}FAILED {2}\] (?:\d+ tests?|\S+)/,
    example: '[  FAILED  ] 1 test, listed below:',
    name: /^\[ {2}FAILED {2}\] (\w+\.\S+)/,
  },
  { tool: 'catch2', summary: /^test cases: +\d+ \|.* [1-9]\d* failed/, example: 'test cases: 2 | 1 passed | 1 failed' },
  { tool: 'doctest', summary: /^\*\*\*Test Failed\*\*\*/, example: '***Test Failed*** 1 failures.' },
  {
    tool: 'maven',
    summary: /Tests run: \d+, (?:Failures: [1-9]\d*, Errors: \d+|Failures: 0, Errors: [1-9])/,
    example: '[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0',
    name: /^\[ERROR\] +(?:\w+\.)*([\w$]+\.\w+)(?::\d+| -- Time)/,
  },
  {
    tool: 'gradle',
    summary: /^\d+ tests? completed, [1-9]\d* failed/,
    example: '3 tests completed, 1 failed',
    name: /^(\S+ > .+) FAILED$/,
  },
  {
    tool: 'junit',
    summary: /^Tests run: \d+, {2}Failures: [1-9]|\[ +[1-9]\d* tests failed +\]/,
    example: '[         1 tests failed          ]',
  },
  {
    tool: 'sbt',
    summary: /^(?:\[\w+\] )?(?:\*\*\* [1-9]\d* TESTS? FAILED \*\*\*|Failed: Total \d+, Failed [1-9])/,
    example: '[error] Failed: Total 3, Failed 1, Errors 0, Passed 2',
  },
  {
    tool: 'rspec',
    summary: /^\d+ examples?, [1-9]\d* failures?/,
    example: '3 examples, 1 failure',
    name: /^rspec (\S+)/,
  },
  {
    tool: 'minitest',
    summary: /^\d+ (?:runs|tests), \d+ assertions, (?:[1-9]\d* failures|0 failures, [1-9]\d* errors)/,
    example: '1 runs, 1 assertions, 1 failures, 0 errors, 0 skips',
    name: /^([\w:]+#test_\S+)/,
  },
  {
    tool: 'phpunit',
    summary: /^(?:FAILURES!|ERRORS!)$|^Tests: \d+, Assertions: \d+, (?:Failures|Errors): [1-9]/,
    example: 'Tests: 3, Assertions: 3, Failures: 1.',
    name: /^\d+\) ([\w\\]+::\S+)/,
  },
  { tool: 'pest', summary: /^\s*Tests:\s+[1-9]\d* failed/, example: '  Tests:    1 failed, 2 passed (3 assertions)' },
  {
    tool: 'dotnet',
    summary: /^(?:Failed!\s+- Failed:\s+[1-9]|\s+Failed: [1-9]\d*$|Test Run Failed\.)/,
    example: 'Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3',
    name: /^\s+Failed (\S.*?) \[[\d<. ]+m?s\]$/,
  },
  {
    tool: 'exunit',
    summary: /^\d+ (?:doctests?, \d+ )?(?:tests?|properties), [1-9]\d* failures?/,
    example: '3 tests, 1 failure',
    name: /^\s+\d+\) (test .+)$/,
  },
  {
    tool: 'deno',
    summary: /^FAILED \| \d+ passed(?: \(.*\))? \| [1-9]\d* failed/,
    example: 'FAILED | 1 passed | 1 failed (12ms)',
    name: /^(\S.*) \.\.\. (?:.\[\d+m)?FAILED/,
  },
  {
    tool: 'swift',
    summary: /Executed \d+ tests?, with [1-9]\d* failures?|^[✘✗] Test run with \d+ tests?.* failed/,
    example: 'Executed 2 tests, with 1 failure (0 unexpected) in 0.002 seconds',
    name: /^Test Case '(.+)' failed/,
  },
  {
    tool: 'dart',
    summary: /^\d\d:\d\d \+\d+(?: ~\d+)? -[1-9]\d*: (?:Some tests failed|.* \[E\])/,
    example: '00:01 +1 -1: Some tests failed.',
    name: /^\d\d:\d\d \+\d+(?: ~\d+)? -\d+: (.+) \[E\]$/,
  },
  { tool: 'ava', summary: /^\s*[1-9]\d* (?:tests?|hooks?) failed$/, example: '  1 test failed' },
  {
    tool: 'jasmine',
    summary: /^\d+ specs?, [1-9]\d* failures?|^(?:Chrome|Firefox|Safari).*Executed \d+ of \d+ \([1-9]\d* FAILED\)/,
    example: '3 specs, 1 failure',
  },
  { tool: 'bats', summary: /^\d+ tests?, [1-9]\d* failures?/, example: '3 tests, 1 failure', name: /^\s*✗ (.+)$/ },
  { tool: 'prove', summary: /^(?:Result: FAIL|Failed \d+\/\d+ (?:test programs|subtests))/, example: 'Result: FAIL' },
  { tool: 'meson', summary: /^Fail:\s+[1-9]/, example: 'Fail:                1' },
  {
    tool: 'haskell',
    summary: /^\d+ of \d+ tests failed|^\d+ examples?, [1-9]\d* failures?/,
    example: '1 of 3 tests failed (0.01s)',
  },
  {
    tool: 'zig',
    summary: /^\d+ passed; (?:\d+ skipped; )?[1-9]\d* failed\.|^error: the following test command (?:failed|crashed)/,
    example: '1 passed; 0 skipped; 1 failed.',
  },
  {
    tool: 'busted',
    summary: /^\d+ success(?:es)? \/ [1-9]\d* failures?/,
    example: '1 success / 1 failure / 0 errors / 0 pending : 0.01 seconds',
  },
  {
    tool: 'any runner',
    summary:
      /(?:^\s*|[=:,|(] ?)[1-9]\d* (?:tests? |specs? |checks? |assertions? |cases? |scenarios? )?(?:failed|failures?|failing)(?:$|[\s,.;)|])/,
    example: 'checkout: 3 passed, 1 failed',
    not: /^\W*(?:Test Suites|Test Files|Suites|Files|Tasks|Builds|Projects|Jobs|Checks|Hooks)\b|^\s+at |npm|error:/,
  },
]

/** Lines in which a runner repeats names, source code and values. They report no event. */
const talk: readonly RegExp[] = [
  runnerMarker,
  /^\s*>? ?\d+ ?[|│]/,
  /^>\s/,
  /^\s+\|/,
  /^\s*[-+] /,
  /^\s*(?:assert|expect)\b/,
  /^\s*location: |^\s*at .*\(?\S+:\d+:\d+\)?$/,
]

export const suiteFailed =
  /unittest\.loader\._FailedTest|Test suite failed to run|ERROR collecting|Failed Suites|^\s+exitCode: \d|\[build failed\]|\[setup failed\]|error occurred outside of examples/

const maxNames = 500

export interface TestReport {
  /** At least one test failed, according to the runner's own count. */
  failed: boolean
  asserted: boolean
  /** A test file could not be loaded, so its tests never ran. */
  suite: boolean
  evidence: string
  /** Names of the failed tests, sorted; empty if the runner names none. */
  names: string[]
}

export const testNameOf = (text: string): string | undefined => {
  for (const { name } of runners) {
    const found = name?.exec(text)?.[1]
    if (found !== undefined) return found.trim()
  }
  return undefined
}

const summaryOf = (lines: readonly OutputLine[], without: string | undefined): OutputLine | undefined => {
  const known = runners.filter(({ tool }) => tool !== without)
  // A runner prints its count at the end.
  return lines.findLast(({ text, bare }) =>
    known.some(
      ({ summary, not }) => not?.test(text) !== true && (summary.test(text) || (bare !== text && summary.test(bare))),
    ),
  )
}

export const isRunnerEcho = (text: string): boolean => talk.some((pattern) => pattern.test(text))

export const readTestReport = (lines: readonly OutputLine[], without?: string): TestReport => {
  const summary = summaryOf(lines, without)
  if (summary === undefined) return { failed: false, asserted: false, suite: false, evidence: '', names: [] }
  const names = new Set<string>()
  for (const { text } of lines) {
    const name = names.size < maxNames ? testNameOf(text) : undefined
    if (name !== undefined) names.add(name)
  }
  return {
    failed: true,
    asserted: lines.some(({ text }) => isFailedAssertion(text)),
    suite: lines.some(({ text }) => suiteFailed.test(text)),
    evidence: testCauseOf(lines) ?? summary.text.trim(),
    names: [...names].sort(),
  }
}
