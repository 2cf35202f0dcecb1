/** The contract's commands by role and by what changed, its order beside other checks, and what a broken one says. */
import { describe, expect, test } from 'vitest'
import { contractCommands, parseContract, plannedChecks, type VerifyContract } from './verify-contract.ts'

const parse = (value: unknown): VerifyContract => parseContract('verify.contract.json', JSON.stringify(value))

const contract = parse({
  commands: ['make check'],
  byRole: { tester: ['make coverage', 'make check'] },
  rules: [
    { whenChangedAny: ['docs/**', '*.md'], commands: ['make links'] },
    { whenChangedAll: ['src/**', 'schema.sql'], commands: ['make migrate'] },
    { whenChangedAny: ['src/**'], whenChangedAll: ['web/**'], commands: ['make e2e', 'make check'] },
  ],
})

describe('the checks of a change', () => {
  test.each<[string, 'worker' | 'tester', string[], string[]]>([
    ['that touches nothing named', 'worker', ['lib/a.c'], ['make check']],
    ['of a role', 'tester', ['lib/a.c'], ['make check', 'make coverage']],
    ['with one path of any', 'worker', ['README.md', 'lib/a.c'], ['make check', 'make links']],
    ['with a path of one pattern of all', 'worker', ['src/a.c'], ['make check']],
    ['with a path of each pattern of all', 'worker', ['src/a.c', 'schema.sql'], ['make check', 'make migrate']],
    ['with both conditions', 'worker', ['src/a.c', 'web/a.ts'], ['make check', 'make e2e']],
    ['with one of both conditions', 'worker', ['web/a.ts'], ['make check']],
    ['that is empty', 'worker', [], ['make check']],
  ])('%s', (_what, role, paths, expected) => expect(contractCommands(contract, role, paths)).toEqual(expected))
})

describe('beside other checks', () => {
  const task = (commands: string[], commandSource: 'task' | 'config' | 'inferred') => ({
    ...{ commands, commandSource, role: 'worker' as const },
  })
  const asked = { dropped: [] }
  test('what the task names comes first, and a command of both is run once, as the task’s', () => {
    const planned = plannedChecks(task(['npm test', 'make check'], 'task'), contract, ['a.md'], asked)
    expect(planned).toEqual({
      commands: ['npm test', 'make check', 'make links'],
      fromContract: new Set(['make links']),
    })
  })
  test('the contract stands in the place of what was inferred', () => {
    expect(plannedChecks(task(['npm test'], 'inferred'), contract, [], asked).commands).toEqual(['make check'])
    expect(plannedChecks(task(['npm test'], 'inferred'), parse({}), [], asked).commands).toEqual(['npm test'])
    expect(plannedChecks(task(['npm test'], 'inferred'), undefined, [], asked).commands).toEqual(['npm test'])
  })
  test('a docs task runs only check-style commands of its own while it changes documents', () => {
    const docs = {
      ...task(['pnpm run check', 'npm run check:links', 'npm test', 'make check'], 'task'),
      role: 'docser' as const,
    }
    const planned = (paths: string[]) => plannedChecks(docs, contract, paths, asked).commands
    expect(planned(['docs/a.md'])).toEqual(['pnpm run check', 'npm run check:links', 'make check', 'make links'])
    expect(planned(['docs/a.md', 'src/a.ts'])).toContain('npm test')
  })
  test('what was dropped does not come back', () => {
    const dropped = [{ command: 'make check', reason: '' }]
    expect(plannedChecks(task(['npm test'], 'task'), contract, [], { dropped }).commands).toEqual(['npm test'])
  })
  test('what was replaced is looked at as its replacement, and the order that was found is kept', () => {
    const dropped = [{ command: 'make check', reason: '', by: 'make all' }]
    const order = ['make all', 'npm test']
    expect(plannedChecks(task(['npm test'], 'task'), contract, [], { dropped, order })).toEqual({
      commands: ['make all', 'npm test'],
      fromContract: new Set(['make all']),
    })
  })
})

test.each<[string, unknown, RegExp]>([
  ['an unknown key', { comands: [] }, /unknown key comands\. Did you mean "commands"\?/],
  ['an unknown role', { byRole: { workr: [] } }, /unknown key byRole\.workr\. Did you mean "worker"\?/],
  ['an unknown condition', { rules: [{ whenChanged: ['a'], commands: ['x'] }] }, /unknown key rules\[0\]\.whenChanged/],
  ['a rule without a condition', { rules: [{ commands: ['x'] }] }, /rules\[0\] .*allowed: a rule with whenChangedAny/],
  ['a rule without commands', { rules: [{ whenChangedAny: ['a'], commands: [] }] }, /rules\[0\]\.commands/],
  ['a path outside', { rules: [{ whenChangedAny: ['../a'], commands: ['x'] }] }, /rules\[0\]\.whenChangedAny\[0\]/],
  ['a pipe', { commands: ['make check | tail'] }, /commands\[0\] .*cannot be run without a shell.*pipes/],
  ['text for a list', { commands: 'make check' }, /commands is "make check"; allowed: a list of commands/],
  ['a list', [], /the whole file/],
])('%s is an error with its place', (_what, value, expected) => expect(() => parse(value)).toThrow(expected))

test('what is not JSON is an error with the file', () => {
  expect(() => parseContract('verify.contract.json', '{ "commands": [')).toThrow(
    /verify\.contract\.json: it is not JSON/,
  )
})
