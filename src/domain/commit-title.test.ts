import { expect, test } from 'vitest'
import { commitTitle, type TitleFacts } from './commit-title.ts'

const habit = ['feat: read zones', 'fix(parser): keep commas', 'chore!: drop Node 18', 'docs: say why', 'test: zones']
const facts = (more: Partial<TitleFacts> = {}): TitleFacts => ({
  ...{ recent: habit, hasRules: false, changed: ['src/parser.ts', 'test/parser.test.ts'] },
  ...more,
})

test.each([
  ['Fix the date parser.', {}, 'fix: the date parser'],
  ['Correct the zone', {}, 'fix: correct the zone'],
  ['Add a retry', {}, 'feat: add a retry'],
  ['HTTP errors name their cause', {}, 'chore: HTTP errors name their cause'],
  ['Rename the helper', {}, 'refactor: rename the helper'],
  ['Add a retry', { changed: ['README.md', 'docs/retry.md'] }, 'docs: add a retry'],
  ['Cover the zones', { changed: ['test/zone.test.ts'] }, 'test: cover the zones'],
  ['feat(api): add a route', {}, 'feat(api): add a route'],
])('%s, with %j, is %s', (title, more, expected) => {
  expect(commitTitle(title, facts(more))).toBe(expected)
})

test('a habit of others, or too few commits, is no convention', () => {
  expect(commitTitle('Add a retry', facts({ recent: ['Add zones', 'Fix commas', ...habit] }))).toBe('Add a retry')
  expect(commitTitle('Add a retry', facts({ recent: habit.slice(0, 2) }))).toBe('Add a retry')
  expect(commitTitle('Add a retry', facts({ recent: [] }))).toBe('Add a retry')
})

test('a file with rules decides where there are few commits, unless these are of another form', () => {
  expect(commitTitle('Add a retry', facts({ recent: [], hasRules: true }))).toBe('feat: add a retry')
  expect(commitTitle('Add a retry', facts({ recent: ['Start'], hasRules: true }))).toBe('Add a retry')
})

test('a long title is cut at a word', () => {
  const title = commitTitle(`Add ${'words and '.repeat(20)}`, facts())
  expect(title.length).toBeLessThanOrEqual(100)
  expect(title).toMatch(/^feat: add (?:words and )+.*…$/)
})
