import { describe, expect, test } from 'vitest'
import { commitMessage, type MessageFacts } from './commit-message.ts'

const conventional = { extends: ['@commitlint/config-conventional'] }
const json = (value: object): string => JSON.stringify(value)

const facts = (files: Record<string, string>, more: Partial<MessageFacts> = {}): MessageFacts => ({
  ...{ recent: [], files: new Map(Object.entries(files)), changed: ['src/parser.ts'] },
  ...more,
})

const subjectOf = (title: string, files: Record<string, string>, more: Partial<MessageFacts> = {}): string =>
  commitMessage({ title, body: '' }, facts(files, more)).subject

const plain = ['Add zones', 'Fix commas', 'Say why', 'Drop Node 18', 'Keep zones'].map((title) => ({
  title,
  isSignedOff: false,
}))

const rules = (own: object): Record<string, string> => ({ '.commitlintrc.json': json({ rules: own }) })
const extended = (own: object): Record<string, string> => ({
  '.commitlintrc.json': json({ ...conventional, rules: own }),
})

describe('the rules of commitlint', () => {
  test.each([
    ['.commitlintrc', json(conventional)],
    ['.commitlintrc', 'extends:\n  - "@commitlint/config-conventional"\n'],
    ['.commitlintrc.yml', 'extends: "@commitlint/config-conventional"\n'],
    ['commitlint.config.js', "export default { extends: ['@commitlint/config-conventional'] }"],
    ['commitlint.config.ts', "module.exports = { extends: ['@commitlint/config-conventional'] }"],
    ['package.json', json({ name: 'x', commitlint: conventional })],
  ])('in %s, %j, count whatever the commits show', (name, text) => {
    expect(subjectOf('Add a retry.', { [name]: text }, { recent: plain })).toBe('feat: add a retry')
  })

  test.each([
    ['.commitlintrc', 'extends: ['],
    ['commitlint.config.js', "export default { extends: ['./rules.js'] }"],
    ['package.json', '{"name":"x"}'],
    ['package.json', '{'],
  ])('in %s, %j, are none where they cannot be read', (name, text) => {
    expect(subjectOf('Add a retry.', { [name]: text }, { recent: plain })).toBe('Add a retry.')
  })

  test.each([
    ['API errors name their cause', extended({}), 'chore: api errors name their cause'],
    ['TypeScript 7 compiles it', extended({}), 'chore: typescript 7 compiles it'],
    ['iOS is supported', extended({}), 'chore: iOS is supported'],
    ['fix(parser): keep zones', extended({}), 'fix(parser): keep zones'],
    ['feat!: Drop Node 18', extended({}), 'feat!: drop Node 18'],
    ['Note: it is slow', extended({}), 'chore: note: it is slow'],
    ['hotfix: keep zones', extended({}), 'fix: keep zones'],
    ['Add a retry', rules({ 'type-enum': [2, 'always', ['feature', 'bugfix']] }), 'feature: add a retry'],
    ['Fix the zones', rules({ 'type-enum': [1, 'always', ['feature', 'bugfix']] }), 'bugfix: fix the zones'],
    ['Cache it', rules({ 'type-enum': [2, 'always', ['one', 'two']] }), 'one: cache it'],
    ['Add a retry', rules({ 'type-enum': [0, 'always', ['one']] }), 'Add a retry'],
    ['Add a retry', extended({ 'subject-case': [2, 'always', 'sentence-case'] }), 'feat: Add a retry'],
    ['add a Retry', extended({ 'subject-case': [2, 'always', ['lower-case']] }), 'feat: add a retry'],
    ['Add a retry', extended({ 'subject-case': [0] }), 'feat: add a retry'],
    ['Add a retry', extended({ 'scope-empty': [2, 'never'] }), 'feat(src): add a retry'],
    [
      'Add a retry',
      extended({ 'scope-empty': [2, 'never'], 'scope-enum': [2, 'always', ['web', 'api']] }),
      'feat(web): add a retry',
    ],
    ['feat: add a retry', extended({ 'scope-empty': [2, 'never'] }), 'feat(src): add a retry'],
    ['Add words of every kind', extended({ 'header-max-length': [2, 'always', 20] }), 'feat: add words of…'],
    ['Add words of every kind', rules({ 'header-max-length': [2, 'always', 16] }), 'Add words of…'],
  ])('%s, with %j, is %s', (title, files, expected) => {
    expect(subjectOf(title, files)).toBe(expected)
  })

  test('lines of the body are as short as they ask', () => {
    const long = `- ${'word '.repeat(30).trim()}`
    const { body } = commitMessage({ title: 'x', body: `Short.\n\n${long}\n${'x'.repeat(250)}` }, facts(extended({})))
    const lines = body.split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
    expect(lines.slice(0, 4)).toEqual([
      'Short.',
      '',
      `- ${'word '.repeat(19).trim()}`,
      `  ${'word '.repeat(11).trim()}`,
    ])
    expect(lines.slice(4).join('')).toBe('x'.repeat(250))
    expect(commitMessage({ title: 'x', body: long }, facts({})).body).toBe(long)
  })
})

test('a guide that asks for the convention decides where there are few commits', () => {
  const guide = { 'CONTRIBUTING.md': 'We use [Conventional Commits](https://www.conventionalcommits.org).' }
  expect(subjectOf('Add a retry', guide)).toBe('feat: add a retry')
  expect(subjectOf('Add a retry', guide, { recent: plain })).toBe('Add a retry')
})

describe('a sign-off', () => {
  const signed = plain.map(({ title }) => ({ title, isSignedOff: true }))
  const none = plain.slice(0, 1)
  test.each<[what: string, files: Record<string, string>, recent: MessageFacts['recent'], isAsked: boolean]>([
    ['is not added unasked', {}, plain, false],
    ['is asked for by a file DCO', { DCO: 'Developer Certificate of Origin' }, plain, true],
    ['is asked for by the settings of its check', { '.github/dco.yml': 'require:\n  members: false\n' }, [], true],
    ['is asked for by a guide', { 'CONTRIBUTING.md': 'Add a `Signed-off-by` line.' }, plain, true],
    ['is a habit of nearly all', {}, [...signed, ...signed, ...none], true],
    ['is no habit of most', {}, [...signed, ...none], false],
    ['is no habit of few', {}, signed.slice(0, 3), false],
  ])('%s', (_what, files, recent, isAsked) => {
    expect(commitMessage({ title: 'x', body: '' }, facts(files, { recent })).isSignedOff).toBe(isAsked)
  })
})
