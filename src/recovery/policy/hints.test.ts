import { describe, expect, it } from 'vitest'
import type { PathTask } from './auto-allow.ts'
import { aggregateHints, applyHints, type AppliedRecovery, type PathHint } from './hints.ts'

const source = { title: 'Speed up the tests', instructions: '', commands: ['make test'] }

const recovery = (paths: string[], more: Partial<AppliedRecovery> = {}, day = 1): AppliedRecovery => ({
  role: 'worker',
  paths,
  task: source,
  succeeded: true,
  at: new Date(Date.UTC(2026, 0, day)),
  ...more,
})

const task: PathTask = {
  role: 'worker',
  title: 'Fix the parser',
  instructions: '',
  commands: ['make test'],
  contextFiles: [],
  allowedPaths: ['src'],
  deniedPaths: [],
}

const added = (more: Partial<PathTask>, applied: AppliedRecovery[]) =>
  applyHints({ ...task, ...more }, aggregateHints(applied)).matchedHints.map(({ path, reason }) => `${path} ${reason}`)

describe('hints from recoveries', () => {
  it('count a path by role, the most frequent first', () => {
    const hints = aggregateHints([
      recovery(['Makefile'], {}, 1),
      recovery(['a.mk', 'Makefile', 'Makefile'], {}, 2),
      recovery(['Makefile'], { role: 'tester' }, 3),
    ])
    expect(hints.map(({ role, path, count }) => [role, path, count])).toEqual([
      ['worker', 'Makefile', 2],
      ['tester', 'Makefile', 1],
      ['worker', 'a.mk', 1],
    ])
  })

  it('come only from recoveries that succeeded', () => {
    expect(aggregateHints([recovery(['Makefile'], { succeeded: false })])).toEqual([])
  })

  it('never contain a secret, an unsafe path or a docs task', () => {
    const paths = ['.env', 'server.pem', '../x', '/etc/x', '**', 'a*', '.git/config', '.unstuck/config.json', '']
    expect(aggregateHints([recovery(paths), recovery(['README.md'], { role: 'docser' })])).toEqual([])
  })

  it('remember the newest task, in whatever order the recoveries come', () => {
    const older = recovery(['Makefile'], { task: { ...source, title: 'Old' } }, 1)
    const newer = recovery(['Makefile'], { task: { ...source, title: 'New' } }, 2)
    for (const applied of [
      [older, newer],
      [newer, older],
    ])
      expect(aggregateHints(applied)).toMatchObject([{ count: 2, task: { title: 'New' } }])
  })

  it('are at most 50', () => {
    const paths = Array.from({ length: 80 }, (_, at) => `f${String(at).padStart(2, '0')}`)
    const hints = aggregateHints([recovery(paths), recovery(['f79'])])
    expect(hints).toHaveLength(50)
    expect(hints.slice(0, 2).map(({ path }) => path)).toEqual(['f79', 'f00'])
  })
})

describe('a new task', () => {
  it('gets a path that it lists as context', () => {
    const applied = [recovery(['lib/a.ts'], { task: { title: 'x', instructions: '', commands: [] } })]
    expect(added({ commands: [], contextFiles: ['lib/a.ts'] }, applied)).toEqual(['lib/a.ts context_file_match'])
  })

  it('gets a path of a task that ran the same tool', () => {
    expect(added({}, [recovery(['Makefile'])])).toEqual(['Makefile signal_match_strong'])
    expect(added({ commands: ['cargo test'] }, [recovery(['Makefile'])])).toEqual([])
  })

  it('gets a path by a general word only from the second success', () => {
    const weak = { task: { title: 'Speed up the build', instructions: '', commands: [] } }
    const own = { title: 'Build the settings page', commands: [] }
    expect(added(own, [recovery(['tool/x'], weak)])).toEqual([])
    expect(added(own, [recovery(['tool/x'], weak), recovery(['tool/x'], weak)])).toEqual([
      'tool/x signal_match_repeated_weak',
    ])
  })

  it('"Make the button blue" is no signal of make', () => {
    const twice = [recovery(['Makefile']), recovery(['Makefile'])]
    expect(added({ title: 'Make the button blue', commands: ['npm test'] }, twice)).toEqual([])
    const blue = { task: { title: 'Make the button blue', instructions: '', commands: [] } }
    expect(added({}, [recovery(['Makefile'], blue), recovery(['Makefile'], blue)])).toEqual([])
  })

  it.each([
    ['a docs task', { role: 'docser' as const }],
    ['another role', { role: 'tester' as const }],
    ['a denied path', { deniedPaths: ['makefile'] }],
    ['a path that is allowed already', { allowedPaths: ['*'] }],
  ])('gets nothing: %s', (_, more) => {
    expect(applyHints({ ...task, ...more }, aggregateHints([recovery(['Makefile'])]))).toEqual({
      addedAllowedPaths: [],
      matchedHints: [],
    })
  })

  it('never gets a secret, even from a stored hint', () => {
    const hint: PathHint = { role: 'worker', path: '.env', count: 9, task: source, at: new Date(0) }
    expect(applyHints({ ...task, contextFiles: ['.env'] }, [hint]).addedAllowedPaths).toEqual([])
  })

  it('records which hint added a path, with at most 220 characters of its source', () => {
    const long = { ...source, instructions: 'x '.repeat(300) }
    const { addedAllowedPaths, matchedHints } = applyHints(
      task,
      aggregateHints([recovery(['Makefile'], { task: long })]),
    )
    expect(addedAllowedPaths).toEqual(['Makefile'])
    expect(matchedHints).toEqual([
      {
        path: 'Makefile',
        hintRole: 'worker',
        hintCount: 1,
        reason: 'signal_match_strong',
        hintSourceText: expect.stringMatching(/^Speed up the tests: x x .*…$/),
      },
    ])
    expect(matchedHints[0]?.hintSourceText).toHaveLength(220)
  })
})
