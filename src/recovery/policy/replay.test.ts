import { describe, expect, it } from 'vitest'
import { defaultPolicyRecovery, type PolicyRecovery } from './recovery-policy.ts'
import { replay, type ReplayCase } from './replay.ts'

const stored = (path: string, more: Partial<ReplayCase> = {}): ReplayCase => ({
  ...{ taskId: 't-1', runId: 'r-1', path, kind: 'outside' },
  task: {
    ...{ role: 'worker', title: 'Parse', instructions: 'Parse.', commands: ['make test'], contextFiles: [] },
    ...{ allowedPaths: ['src'], deniedPaths: [] },
  },
  ...more,
})
const balanced: PolicyRecovery = { ...defaultPolicyRecovery, mode: 'conservative' }
const changed = (cases: ReplayCase[]) =>
  replay(cases, defaultPolicyRecovery, balanced).changed.map(({ path, before, after }) => [
    path,
    before.rule,
    after.rule,
  ])

describe('stored violations with other rules', () => {
  it('names only what would be decided otherwise, with both rules', () => {
    expect(changed([stored('Makefile'), stored('other.txt')])).toEqual([['Makefile', 'command_rule', 'no_rule']])
  })
  it('finds nothing with the same rules', () => {
    expect(replay([stored('Makefile')], balanced, balanced)).toEqual({ cases: 1, changed: [] })
  })
  it('counts a path of a task once, and the same path of another task again', () => {
    const cases = [stored('Makefile'), stored('Makefile', { runId: 'r-2' }), stored('Makefile', { taskId: 't-2' })]
    expect(replay(cases, defaultPolicyRecovery, balanced)).toMatchObject({
      cases: 2,
      changed: [{ taskId: 't-1' }, { taskId: 't-2' }],
    })
  })
  it.each(['denied', 'secret', 'nested_repository', 'symlink_out'])('never allows a violation of kind %s', (kind) => {
    expect(changed([stored('Makefile', { kind })])).toEqual([])
  })
})
