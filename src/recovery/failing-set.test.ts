/** What fails now is compared with what failed before: nothing new may hide in a command that failed already. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isCoveredBy, failingSetOf, type FailedOutput, type FailingSet } from './failing-set.ts'

const failed = (stdout: string, more: Partial<FailedOutput> = {}): FailingSet =>
  failingSetOf({
    ...{ command: 'npm test', exitCode: 1, signal: null, timedOut: false, stdout, stderr: '' },
    ...{ complete: true, step: 0, root: '/srv/here', ...more },
  })

const vitest = (names: readonly string[], passed = 5): string =>
  [
    ...names.flatMap((name) => [
      ` FAIL  test/a.test.ts > ${name}`,
      'AssertionError: expected 1 to be 2 // Object.is equality',
    ]),
    ` Test Files  1 failed (1)`,
    `      Tests  ${names.length} failed | ${passed} passed (${names.length + passed})`,
    `   Duration  412ms`,
  ].join('\n')

const pytest = (names: readonly string[]): string =>
  [
    ...names.map((name) => `FAILED tests/test_a.py::${name} - assert 1 == 2`),
    `===== ${names.length} failed, 3 passed in 0.12s =====`,
  ].join('\n')

describe('named tests', () => {
  test('the same ones are covered, in any order and with other times', () => {
    expect(isCoveredBy(failed(vitest(['b', 'a'])), failed(vitest(['a', 'b']).replace('412ms', '1.9s')))).toBe(true)
  })
  test('fewer are covered, one more is not', () => {
    expect(isCoveredBy(failed(vitest(['a'])), failed(vitest(['a', 'b'])))).toBe(true)
    expect(isCoveredBy(failed(vitest(['a', 'b'])), failed(vitest(['a'])))).toBe(false)
  })
  test('a swapped one is not, though the count is equal', () => {
    expect(isCoveredBy(failed(vitest(['b'])), failed(vitest(['a'])))).toBe(false)
    expect(isCoveredBy(failed(pytest(['test_b'])), failed(pytest(['test_a'])))).toBe(false)
  })
  test('the same name in another file is another test', () => {
    const at = (file: string): string => `✖ adds (1.2ms)\nℹ pass 3\nℹ fail 1\ntest at ${file}:3:1\n✖ adds (1.2ms)`
    expect(isCoveredBy(failed(at('test/a.test.js')), failed(at('test/a.test.js').replace(':3:1', ':9:1')))).toBe(true)
    expect(isCoveredBy(failed(at('test/b.test.js')), failed(at('test/a.test.js')))).toBe(false)
  })
  test('one that the runner counts and does not name makes the set unknown', () => {
    const hidden = vitest(['a']).replace('1 failed |', '2 failed |')
    expect(failed(hidden).tests).toBeNull()
    expect(isCoveredBy(failed(hidden), failed(vitest(['a'])))).toBe(false)
  })
  test('a file that no longer loads is a new failure', () => {
    const broken = `${vitest(['a'])}\n⎯⎯ Failed Suites 1 ⎯⎯`
    expect(isCoveredBy(failed(broken), failed(vitest(['a'])))).toBe(false)
  })
  test('a problem outside of the tests is a new failure', () => {
    const base = failed(vitest(['a']))
    for (const line of [
      '      Errors  1 error',
      'src/a.ts(1,2): error TS2322: Type',
      'ERROR: Coverage for lines (75%) does not meet global threshold (80%)',
    ])
      expect(isCoveredBy(failed(`${vitest(['a'])}\n${line}`), base), line).toBe(false)
  })
  test('of any two sets, a subset is covered and nothing else', () => {
    const set = fc.uniqueArray(fc.constantFrom('t one', 't two', 't 3', 't 4', 'five'), { minLength: 1 })
    fc.assert(
      fc.property(set, set, (now, base) => {
        expect(isCoveredBy(failed(vitest(now)), failed(vitest(base)))).toBe(now.every((name) => base.includes(name)))
      }),
    )
  })
})

describe('errors of a compiler or linter', () => {
  const tsc = (...errors: string[]): string => errors.join('\n')
  const a = "src/a.ts(3,1): error TS2322: Type 'string' is not assignable to type 'number'."
  const b = "src/b.ts(9,4): error TS2304: Cannot find name 'x'."
  test('moved by an edit above them are the same', () => {
    expect(isCoveredBy(failed(tsc(a.replace('3,1', '7,1'))), failed(tsc(a, b)))).toBe(true)
  })
  test('a new one, or the same one once more, is not covered', () => {
    expect(isCoveredBy(failed(tsc(a, b)), failed(tsc(a)))).toBe(false)
    expect(isCoveredBy(failed(tsc(a, a)), failed(tsc(a)))).toBe(false)
  })
  test('a lint error in another file is not covered, though its words are equal', () => {
    const lint = (file: string): string =>
      `${file}\n  1:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)`
    const of = (file: string) => failed(lint(file), { command: 'npx eslint .' })
    expect(isCoveredBy(of('/srv/here/src/a.js'), of('/srv/here/src/a.js'))).toBe(true)
    expect(isCoveredBy(of('/srv/here/src/b.js'), of('/srv/here/src/a.js'))).toBe(false)
  })
})

describe('what is not understood', () => {
  test('is covered only by all of the same output', () => {
    const odd = failed('the frobnicator says no\nand again', { command: './frob' })
    expect(isCoveredBy(odd, failed('the frobnicator says no\nand again', { command: './frob' }))).toBe(true)
    expect(isCoveredBy(odd, failed('the frobnicator says no\nand again\nand more', { command: './frob' }))).toBe(false)
    expect(isCoveredBy(odd, failed('the frobnicator says no\nand again', { command: './frob', exitCode: 2 }))).toBe(
      false,
    )
  })
  test('is never covered when a part of the output is missing', () => {
    const cut = failed('x failed', { complete: false })
    expect(isCoveredBy(cut, cut)).toBe(false)
  })
  test('another program of the chain that fails is new', () => {
    const silent = (step: number) => failed('', { command: 'test -f a && test -f b', step })
    expect(isCoveredBy(silent(0), silent(0))).toBe(true)
    expect(isCoveredBy(silent(1), silent(0))).toBe(false)
  })
  test('a failure of the environment excuses nothing', () => {
    const missing = failed('', { stderr: 'sh: 1: vitest: not found', exitCode: 127 })
    expect(missing.infra).toBe(true)
    expect(isCoveredBy(missing, missing)).toBe(false)
  })
  test('a failed test is not covered by a timeout or another kind of failure', () => {
    const tests = failed(vitest(['a']))
    expect(isCoveredBy(tests, failed(vitest(['a']), { timedOut: true }))).toBe(false)
    expect(isCoveredBy(tests, failed('src/a.ts(3,1): error TS2322: Type'))).toBe(false)
  })
})
