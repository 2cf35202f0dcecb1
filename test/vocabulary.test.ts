/** Every name of the founding documents is accounted for, and "built" is said only of what a test observes. */
import { matchesGlob } from 'node:path'
import { describe, expect, it } from 'vitest'
import { repositoryRoot } from '../scripts/root.ts'
import { entriesIn, linesOf, passedIn, problems, readerIn, type Entry } from '../scripts/vocabulary.ts'
import { longFiles } from '../vitest.config.ts'

const read = readerIn(repositoryRoot)

describe('the vocabulary', () => {
  const entries = entriesIn(read('test/vocabulary.json') ?? '')
  const names = linesOf(read('test/fixture/vocabulary.txt') ?? '')

  it('has every name once, and each built one names a test that mentions it', () => {
    expect(names).toHaveLength(288)
    expect(problems(entries, names, read)).toEqual([])
  })

  it('names no file that only the long form runs', () => {
    const files = entries.flatMap((entry) => (entry.status === 'built' ? [entry.test.file] : []))
    expect(files.filter((file) => longFiles.some((glob) => matchesGlob(file, glob)))).toEqual([])
  })

  it('says of some names that they are built', () => {
    expect(entries.filter((entry) => entry.status === 'built').length).toBeGreaterThan(40)
  })
})

describe('the check', () => {
  const files: Record<string, string> = {
    'a.test.ts': `it('works', () => expect('one'))`,
    'suite.ts': `it('in a suite', () => expect('two'))`,
    'b.test.ts': 'suite()',
  }
  const one: Entry = { name: 'one', status: 'built', test: { file: 'a.test.ts', title: 'works' } }
  const find = (entries: Entry[], passed?: Set<string>): string[] =>
    problems(
      entries,
      entries.map((entry) => entry.name),
      (path) => files[path],
      passed,
    )

  it('accepts a test that mentions the name and passed', () => {
    expect(find([one])).toEqual([])
    expect(find([one], new Set(['a.test.ts works']))).toEqual([])
    const test = { file: 'b.test.ts', title: 'in a suite', source: 'suite.ts', as: 'two' }
    expect(find([{ name: 'TWO', status: 'built', test }], new Set(['b.test.ts in a suite']))).toEqual([])
  })

  it('names a test that did not run and pass', () => {
    expect(find([one], new Set())).toEqual([`one: 'works' of a.test.ts did not run and pass`])
    expect(find([one], new Set(['b.test.ts works']))).toHaveLength(1)
  })

  it('names a test that only the long form runs', () => {
    const text = `test('other', x)\ntest.runIf(isLongForm)(\n  'works', () => expect('one'))`
    expect(problems([one], ['one'], () => text)).toEqual(["one: 'works' of a.test.ts is not in the form that CI runs"])
    expect(problems([one], ['one'], () => `${text.replace('works', 'more')}\ntest('works')`)).toEqual([])
  })

  it('names a title or file that is not there, and a test that does not mention the name', () => {
    const test = { file: 'a.test.ts', title: 'works' }
    expect(find([{ ...one, test: { ...test, title: 'other' } }])).toEqual([`one: a.test.ts has no test 'other'`])
    expect(find([{ ...one, test: { ...test, file: 'gone.ts' } }])).toEqual([
      'one: gone.ts (run by gone.ts) does not exist',
    ])
    expect(find([{ ...one, name: 'three' }])).toEqual(['three: a.test.ts does not mention three'])
  })

  it('names what is missing, extra or doubled', () => {
    const planned: Entry = { name: 'x', status: 'planned' }
    expect(problems([planned, planned], ['y'], () => undefined)).toEqual([
      'y: is missing in test/vocabulary.json',
      'x: is not in the list of names',
      'x: is listed more than once',
    ])
  })

  it('refuses an entry without a reason, without a test or with an unknown status', () => {
    for (const entry of [
      { name: 'x', status: 'not a name' },
      { name: 'x', status: 'built' },
      { name: 'x', status: 'done' },
    ])
      expect(() => entriesIn(JSON.stringify([entry]))).toThrow()
    expect(() => entriesIn('[')).toThrow('not JSON')
  })

  it('takes only passed tests from a report', () => {
    const assertionResults = ['passed', 'failed', 'skipped'].map((status) => ({ status, title: status }))
    const report = { testResults: [{ name: '/repo/a.test.ts', assertionResults }] }
    expect(passedIn(report, '/repo/')).toEqual(new Set(['a.test.ts passed']))
  })
})
