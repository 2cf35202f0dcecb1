/** What a change takes from its own tests is counted, whichever language they are in; what only moved is not. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Weakening } from '../domain/run.ts'
import { testFamilies } from './test-families.ts'
import { mayHoldTests, weakeningsIn, weakeningText, type TextChange } from './weakened.ts'
import { cpuMsOf } from '../../test/support/cpu-time.ts'

const change = (before: string | undefined, after: string | undefined, path = 'test/a.test.js'): TextChange => ({
  path,
  before,
  after,
})
const kinds = (...changes: TextChange[]): [Weakening['kind'], string, number][] =>
  weakeningsIn(changes).map(({ kind, path, count }) => [kind, path, count])

const strong = "test('adds', () => { expect(add(1, 1)).toBe(2) })\n"
const other = "test('subtracts', () => { expect(sub(1, 1)).toBe(0) })\n"

describe('is listed', () => {
  test('a file of tests that was deleted, with their names', () => {
    expect(weakeningsIn([change(strong + other, undefined)])).toEqual([
      { kind: 'file deleted', path: 'test/a.test.js', count: 2, detail: 'adds; subtracts' },
    ])
  })
  test('a test that was deleted', () => {
    expect(kinds(change(strong + other, other))).toEqual([
      ['test removed', 'test/a.test.js', 1],
      ['assertion removed', 'test/a.test.js', 1],
    ])
  })
  test('a test that was commented out', () => {
    expect(kinds(change(strong + other, `// ${strong}${other}`))[0]).toEqual(['test removed', 'test/a.test.js', 1])
  })
  test.each([
    ['skip', strong.replace('test(', 'test.skip(')],
    ['todo', strong.replace('test(', 'test.todo(')],
    ['xit', strong.replace('test(', 'xit(').replace('xit', 'xtest')],
    ['an option', strong.replace("'adds', ", "'adds', { skip: true }, ")],
    ['in its body', strong.replace('{ ', '{ this.skip(); ')],
  ])('a skip: %s', (_how, after) => {
    expect(kinds(change(strong, after)).map(([kind]) => kind)).toContain('test skipped')
  })
  test('a test that alone is run', () => {
    expect(kinds(change(strong + other, strong.replace('test(', 'test.only(') + other))).toEqual([
      ['test focused', 'test/a.test.js', 1],
    ])
  })
  test('an assertion that was removed', () => {
    expect(kinds(change(strong, "test('adds', () => { add(1, 1) })\n"))).toEqual([
      ['assertion removed', 'test/a.test.js', 1],
    ])
  })
  test('an assertion that holds for almost anything now', () => {
    expect(kinds(change(strong, strong.replace('toBe(2)', 'toBeDefined()')))).toEqual([
      ['assertion loosened', 'test/a.test.js', 1],
    ])
  })
  test('a snapshot that was written anew', () => {
    expect(kinds(change('old', 'new', 'src/__snapshots__/a.snap'))).toEqual([
      ['snapshot changed', 'src/__snapshots__/a.snap', 1],
    ])
  })
  test('in words', () => {
    const [found] = weakeningsIn([change(strong, undefined)])
    expect(weakeningText(found as Weakening)).toBe('file deleted: test/a.test.js (1): adds')
  })
})

describe('is not listed', () => {
  test.each<[string, TextChange[]]>([
    ['more tests', [change(strong, strong + other)]],
    ['a new file', [change(undefined, strong)]],
    ['a test that moved to another file', [change(strong, undefined), change(undefined, strong, 'test/b.test.js')]],
    [
      'a test that moved to a file that was there',
      [change(strong, ''), change(other, other + strong, 'test/b.test.js')],
    ],
    ['a stricter assertion', [change(strong.replace('toBe(2)', 'toBeDefined()'), strong)]],
    ['a skip that was taken off', [change(strong.replace('test(', 'test.skip('), strong)]],
    ['a file that holds no tests', [change('expect(1)', '', 'src/a.js')]],
    [
      'a new weak assertion beside the strong ones',
      [change(strong, strong + 'test("b", () => expect(b).toBeDefined())')],
    ],
  ])('%s', (_what, changes) => expect(weakeningsIn(changes)).toEqual([]))
})

const pathOf: Record<string, string> = {
  'JavaScript and TypeScript': 'src/a.spec.ts',
  Python: 'tests/test_a.py',
  Go: 'pkg/a_test.go',
  Rust: 'src/lib.rs',
  'Java, Kotlin and Scala': 'src/test/java/ATest.java',
  Ruby: 'spec/a_spec.rb',
  PHP: 'tests/ATest.php',
  'C#': 'App.Tests/ATests.cs',
  Elixir: 'test/a_test.exs',
  'C and C++': 'tests/a_test.cc',
  Swift: 'Tests/AppTests/ATests.swift',
  Bats: 'test/a.bats',
}

describe.each(testFamilies)('$name', ({ name, example }) => {
  const path = pathOf[name] ?? ''
  test('a new skip, and the removal of a test with its weak assertion, are seen', () => {
    expect(mayHoldTests(path)).toBe(true)
    expect(kinds(change('', example, path)).map(([kind]) => kind)).toContain('test skipped')
    expect(kinds(change(example, undefined, path))).toEqual([['file deleted', path, 1]])
    expect(kinds(change(example, '', path)).map(([kind]) => kind)).toEqual(['test removed'])
    const second = `${example}\n${example}`
    expect(kinds(change(second, example, path)).map(([kind]) => kind)).toEqual(['test removed', 'assertion removed'])
  })
})

test('an unchanged set of files, in whatever places, is never called weaker', () => {
  const texts = fc.uniqueArray(fc.constantFrom(strong, other, "test('c', () => { assert(1) })\n"), { minLength: 1 })
  fc.assert(
    fc.property(texts, fc.nat(2), (given, cut) => {
      const [left, right] = [given.slice(0, cut).join(''), given.slice(cut).join('')]
      expect(weakeningsIn([change(left + right, left), change('', right, 'test/b.test.js')])).toEqual([])
    }),
  )
})

test('a hostile file costs no time', () => {
  const cpuMs = cpuMsOf(() => {
    for (const { file, test: pattern } of testFamilies) {
      const path = Object.values(pathOf).find((candidate) => file.test(candidate)) ?? ''
      const hostile = `${'@Test #[test] [Fact '.repeat(8_000)}${'test(('.repeat(20_000)}${pattern.source}`
      weakeningsIn([change(hostile, '', path)])
    }
  })
  expect(cpuMs).toBeLessThan(5_000)
})
