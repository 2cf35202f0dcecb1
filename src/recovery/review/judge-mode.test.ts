import { expect, test } from 'vitest'
import { emptyVerdict, type CheckResult } from '../../domain/run.ts'
import { judgeModeOf, missingChecks, type ModeFacts } from './judge-mode.ts'

const facts = (more: Partial<ModeFacts> = {}): ModeFacts => ({
  ...{
    settings: { mode: 'auto', rules: [] },
    goal: { judge: null },
    task: { judge: null },
    changedPaths: ['src/a.ts'],
  },
  ...more,
})
const rules = [{ paths: ['src/auth/**', 'LICENSE'], mode: 'human' as const }]

test.each([
  ['nothing is set', facts(), 'auto'],
  ['the owner asks for a reviewer', facts({ settings: { mode: 'llm', rules: [] } }), 'llm'],
  ['the goal is stricter', facts({ goal: { judge: 'human' } }), 'human'],
  ['the goal is less strict', facts({ settings: { mode: 'human', rules: [] }, goal: { judge: 'auto' } }), 'human'],
  ['the task is stricter', facts({ goal: { judge: 'auto' }, task: { judge: 'llm' } }), 'llm'],
  ['no rule covers the change', facts({ settings: { mode: 'llm', rules } }), 'llm'],
  [
    'a rule covers one changed path',
    facts({ settings: { mode: 'auto', rules }, changedPaths: ['a', 'src/auth/x.ts'] }),
    'human',
  ],
  [
    'a file system without case sees the path',
    facts({ settings: { mode: 'auto', rules }, changedPaths: ['license'] }),
    'human',
  ],
  [
    'a rule cannot be read',
    facts({ settings: { mode: 'auto', rules: [{ paths: ['/etc'], mode: 'human' }] } }),
    'human',
  ],
])('the strictest mode counts: %s', (_, given, mode) => {
  expect(judgeModeOf(given)).toBe(mode)
})

const check = (command: string, more: Partial<CheckResult> = {}): CheckResult => ({
  ...{ command, source: 'task', exitCode: 0, signal: null, timedOut: false, durationMs: 1, ...more },
})

test.each([
  ['a script by its name', ['lint'], [check('npm run lint')], []],
  ['a script of another manager', ['test'], [check('pnpm test')], []],
  ['a whole command', ['node check.js'], [check('node check.js')], []],
  ['a command that only ends with the name', ['lint'], [check('echo lint')], ['lint']],
  ['the script with options that could narrow it', ['test'], [check('npm test -- one')], ['test']],
  ['a check that failed', ['lint'], [check('npm run lint', { exitCode: 1 })], ['lint']],
  ['a check that ran nothing', ['test'], [check('npm test', { ranNothing: 'no tests' })], ['test']],
  [
    'a check that failed before the work as well',
    ['test'],
    [check('npm test', { exitCode: 1, excused: { because: 'fails on the base commit', failing: [], proves: true } })],
    ['test'],
  ],
  ['no check at all', ['test', 'lint'], [], ['test', 'lint']],
])('a required check has to pass: %s', (_, required, checks, missing) => {
  expect(missingChecks({ verdict: { ...emptyVerdict, checks } }, required)).toEqual(missing)
})

test('work without a verdict has passed no check', () => {
  expect(missingChecks({ verdict: null }, ['test'])).toEqual(['test'])
})
