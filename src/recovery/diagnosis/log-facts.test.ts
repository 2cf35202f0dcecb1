import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { classify, type NoFailureReason } from './classify.ts'
import type { Label } from './labels.ts'
import { commandInLog, exitInLog } from './log-facts.ts'
import { outputLines } from './output-lines.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'test', 'fixture', 'logs')
const ofLog = (text: string) => classify({ command: '', exitCode: null, signal: null, stdout: '', stderr: text })
const lines = (text: string) => outputLines(text, 'stderr')

/** Output of the real tools, both streams in one file, with what a person reads in them. */
const judged: Record<string, [Label | NoFailureReason, string]> = {
  'build-passed.log': ['quiet', 'Finished `dev` profile'],
  'cargo.log': ['test_failure', 'assertion `left == right` failed'],
  'ci-with-times.log': ['test_failure', 'AssertionError: expected 5 to be 6'],
  'eresolve.log': ['dependency_version_conflict', 'ERESOLVE'],
  'eslint.log': ['lint_error', "Expected '===' and instead saw '=='"],
  'jest.log': ['test_failure', 'expect(received).toBe(expected)'],
  'make-no-target.log': ['missing_make_target', "No rule to make target 'deploy'"],
  'make.log': ['compile_error', '‘x’ undeclared'],
  'mocha-after-warnings.log': ['test_failure', 'Expected values to be strictly equal: 5 !== 6'],
  'node.log': ['test_failure', 'Expected values to be strictly equal: 5 !== 6'],
  'program-not-found.log': ['command_not_found', 'sh: 1: jst: not found'],
  'pytest-no-tests.log': ['no_test_files', '0 selected'],
  'pytest.log': ['test_failure', 'assert 3 == 4'],
  'success.log': ['passed', '1 passed'],
  'tests-then-tsc.log': ['test_failure', 'Expected values to be strictly equal: 5 !== 6'],
  'vitest.log': ['test_failure', 'AssertionError: expected 5 to be 6'],
  'warnings-only.log': ['quiet', 'added 59 packages'],
}

describe('a log of which nothing else is known', () => {
  it.each(readdirSync(folder))('%s', (name) => {
    const { label, noFailure, evidence } = ofLog(readFileSync(join(folder, name), 'utf8'))
    const [wanted, shown] = judged[name] ?? []
    expect([noFailure ?? label, evidence]).toEqual([wanted, expect.stringContaining(shown ?? name)])
  })

  it.each<[string, Label | NoFailureReason]>([
    ['', 'empty'],
    [' \n\n', 'empty'],
    ['echo "a" | grep b && exit', 'quiet'],
    ['npm warn deprecated inflight@1.0.6: This module is not supported, and leaks memory.', 'quiet'],
    ['npm WARN EBADENGINE Unsupported engine\nnpm WARN tar ENOSPC: no space left on device, write', 'quiet'],
    ['(node:7) [DEP0040] DeprecationWarning: The `punycode` module is deprecated.', 'quiet'],
    ['Finished: 0 errors, 3 warnings', 'quiet'],
    ['Build succeeded.\n    0 Warning(s)\n    0 Error(s)', 'quiet'],
    ['/repo/a.js\n  1:1  warning  Unused x  no-x\n\n✖ 1 problem (0 errors, 1 warning)', 'quiet'],
    [
      '/repo/a.js\n  1:1  warning  Unused x  no-x\n\n✖ 1 problem (0 errors, 1 warning)\n\nESLint found too many warnings (maximum: 0).',
      'lint_error',
    ],
    ['waiting\nit failed somehow\nbye', 'unknown'],
    // What a test that passes writes is no failure, but what follows the count is one.
    [' RUN  v4.0.0 /repo\nError: connect ECONNREFUSED 127.0.0.1:5432\n      Tests  2 passed (2)', 'passed'],
    [
      ' RUN  v4.0.0 /repo\n      Tests  2 passed (2)\nsrc/a.ts(1,2): error TS2322: Type A is not assignable to type B.',
      'compile_error',
    ],
    [
      '> a@1.0.0 build\n> tsc\nsrc/a.ts(1,2): error TS2322: Type A is not B.\n> a@1.0.0 test\n> vitest run\n      Tests  2 passed (2)',
      'compile_error',
    ],
    ['ok  \texample.com/a\t0.01s\n--- FAIL: TestB (0.00s)\n    b_test.go:3: got 1, want 2\nFAIL', 'test_failure'],
    ['building\nmake: *** [Makefile:3: all] Error 137', 'out_of_memory'],
    ['waiting\n##[error]Process completed with exit code 124.', 'timeout'],
    ['> a@1.0.0 lint\n> bash lint.sh\nbash: lint.sh: No such file or directory', 'missing_script'],
    ['2026-11-24T16:20:11.1234567Z sh: 1: jst: not found', 'command_not_found'],
    ['> a@1.0.0 start\n> node server.js\nError: connect ECONNREFUSED 127.0.0.1:5432', 'service_unavailable'],
  ])('%j is %s', (text, wanted) => {
    const { label, noFailure } = ofLog(text)
    expect(noFailure ?? label).toBe(wanted)
  })

  it('is never reported as needing a shell', () => {
    const piped = { command: 'a | b', exitCode: 1, signal: null, stdout: '', stderr: 'x' }
    expect(classify(piped).label).toBe('unsupported_format')
    expect(classify({ ...piped, command: '' }).label).not.toBe('unsupported_format')
  })
})

describe('a command that failed with warnings alone', () => {
  const failed = (stderr: string) => classify({ command: 'npm ci', exitCode: 1, signal: null, stdout: '', stderr })

  it('has no cause in them', () => {
    expect(failed('npm warn EBADENGINE Unsupported engine {')).toMatchObject({ label: 'unknown', evidence: 'exit 1' })
  })

  it('has one where the operating system is quoted', () => {
    expect(failed('npm WARN tar ENOSPC: no space left on device, write').label).toBe('disk_full')
  })
})

it.each<[string, string[]]>([
  ['> shop@1.0.0 test\n> vitest run --coverage', ['vitest']],
  ['> @acme/shop@1.0.0 test /repo\n> jest', ['jest']],
  ['yarn run v1.22.22\n$ mocha test', ['mocha']],
  ['2026-11-24T16:20:11.1234567Z ##[group]Run npm ci', ['npm']],
  ['#9 [5/6] RUN pip install -r requirements.txt', ['pip', 'docker']],
  ['npm error code 1\nnpm error command sh -c node-gyp rebuild', ['node-gyp']],
  ['agent@host:~/app$ cargo test', ['cargo']],
  ['=========== test session starts ===========', ['pytest']],
  ['a > b', []],
])('%j was printed by %j', (text, programs) => {
  expect(commandInLog(lines(text)).programs).toEqual(programs)
})

it.each<[string, number | null]>([
  ['##[error]Process completed with exit code 127.', 127],
  ['make: *** [Makefile:4: test] Error 3', 3],
  [' ELIFECYCLE  Command failed with exit code 1.', 1],
  ['the test says "exit code 137"', null],
])('%j ends with %j', (text, status) => {
  expect(exitInLog(lines(text))).toBe(status)
})
