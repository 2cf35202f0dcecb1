/** What a task names may be weakened by its work; a wide path rule and a check's own command name nothing. */
import { describe, expect, test } from 'vitest'
import type { Weakening } from '../domain/run.ts'
import { isAskedByTask, unnamedWeakenings, type NamingTask } from './named-by-task.ts'

const weakening = (path: string, kind: Weakening['kind'] = 'check redefined'): Weakening => ({
  ...{ kind, path, count: 1, detail: '' },
})
const task = (change: Partial<NamingTask>): NamingTask => ({
  ...{ title: 'Do it', instructions: '', allowedPaths: ['**'], originalCommands: [], commands: [] },
  ...change,
})
const isNamed = (path: string, change: Partial<NamingTask>): boolean =>
  unnamedWeakenings(task(change), [weakening(path)]).length === 0

describe('is named', () => {
  test.each<[string, Partial<NamingTask>]>([
    ['test/login.test.ts', { allowedPaths: ['src/**', 'test/login.test.ts'] }],
    ['test/login.test.ts', { allowedPaths: ['test/login*.ts'] }],
    ['test/login.test.ts', { allowedPaths: ['**/*.test.ts'] }],
    ['.npmrc', { allowedPaths: ['.npmrc'] }],
    ['.npmrc', { title: 'Set the registry in .npmrc' }],
    ['test/login.test.ts', { instructions: 'Delete test/login.test.ts: the page is gone.' }],
    ['test/login.test.ts', { instructions: 'Do not touch the server. Delete login.test.ts.' }],
    ['check.mjs', { instructions: 'Rewrite `./check.mjs`.', commands: ['node ./check.mjs'] }],
    ['check.mjs', { instructions: 'Rewrite check.mjs.', commands: ['node check.mjs'] }],
  ])('%s by %j', (path, change) => {
    expect(isNamed(path, change)).toBe(true)
  })
})

describe('is not named', () => {
  test.each<[string, Partial<NamingTask>]>([
    ['test/login.test.ts', {}],
    ['test/login.test.ts', { allowedPaths: ['test'] }],
    ['test/login.test.ts', { allowedPaths: ['test/**'] }],
    ['test/login.test.ts', { allowedPaths: ['test/**/*.ts'] }],
    ['check.mjs', { instructions: 'Make `node check.mjs` pass.', commands: ['node check.mjs'] }],
    ['check.mjs', { instructions: 'Never change check.mjs.' }],
    ['check.mjs', { instructions: "Don't change check.mjs; mend the code." }],
    ['check.mjs', { instructions: 'Mend precheck.mjs and check.mjs.bak.' }],
  ])('%s by %j', (path, change) => {
    expect(isNamed(path, change)).toBe(false)
  })
})

test('a snapshot and a test under another name are shown only', () => {
  const shown = [weakening('a.snap', 'snapshot changed'), weakening('a.test.ts', 'test renamed')]
  expect(unnamedWeakenings(task({}), shown)).toEqual([])
})

describe('what a failed check lacks', () => {
  test.each<[boolean, string, string[]]>([
    [true, 'Write tool.sh, which prints hi.', ['tool.sh']],
    [true, 'Write lib/add.py with a function.', ['add.py']],
    [true, 'Make the tests pass.', []],
    [true, 'The build is broken since Monday.', []],
    [true, 'Fix CI', []],
    [false, 'Write tool.sh, which prints hi.', ['fixtures/key.pem']],
    [false, 'Never change tool.sh.', ['tool.sh']],
    [false, 'Write a parser, and a test for it.', ['requests.py']],
    [false, 'Add a retry to the client.', ['dd.py']],
  ])('is asked for (%s) by %s with %j', (isAsked, instructions, missing) => {
    expect(isAskedByTask(task({ instructions }), missing)).toBe(isAsked)
  })
})
