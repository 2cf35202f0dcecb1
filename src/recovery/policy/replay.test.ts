import { describe, expect, it } from 'vitest'
import { defaultPolicyRecovery } from './recovery-policy.ts'
import { replay, type FailureCase, type PathCase, type ReplayRules } from './replay.ts'

const plain: ReplayRules = {
  ...defaultPolicyRecovery,
  deniedPaths: [],
  'policyRecovery.generatedPaths': [],
  'policyRecovery.extraGeneratedPaths': [],
  'policyRecovery.useLlm': true,
  'policyRecovery.attempts': 5,
  'playbooks.disabled': [],
  'requeue.maxRetries': -1,
  'requeue.inPlaceLimit': 5,
  'requeue.sameFailureLimit': 4,
  'requeue.suppressionLimit': 2,
  'requeue.reworkDepth': 2,
  'requeue.fruitlessCalls': 4,
}
const strict: ReplayRules = { ...plain, mode: 'conservative' }

const common = {
  ...{ taskId: 't-1', title: 'Parse', runId: 'r-1' },
  task: {
    ...{ role: 'worker' as const, title: 'Parse', instructions: 'Parse.', commands: ['make test'], contextFiles: [] },
    ...{ allowedPaths: ['src'], deniedPaths: [] },
  },
}
const stored = (path: string, more: Partial<PathCase> = {}): PathCase => ({
  ...{ ...common, path, kind: 'outside', facts: { mode: '100644', tracked: true } },
  ...more,
})

const failedRun = (code: string, signature: string, epoch: number) => ({
  ...{ taskId: 't-1', epoch, failureCode: code, signature, command: 'npm test' },
})
const failed = (more: Partial<FailureCase['facts']> = {}, code = 'test_failure'): FailureCase => ({
  ...common,
  isCheck: true,
  facts: {
    ...{ status: 'blocked(needs_rework)', taskId: 't-1', commands: ['npm test', 'npm run lint'] },
    ...{ runs: [failedRun(code, 'one', 1)], fruitless: 0, past: [], hasChild: false, solvesConflict: false, depth: 0 },
    failure: {
      ...{
        failureCode: code,
        category: 'test',
        retryable: true,
        isOfWork: true,
        violations: [],
        outside: [],
        never: [],
      },
    },
    ...more,
  },
})
const given = (paths: PathCase[], failures: FailureCase[] = []) => ({ paths, failures })
const changed = (found: ReturnType<typeof replay>) =>
  found.changed.map(({ subject, before, after, keys }) => [subject, before.rule, after.rule, keys.join()])

describe('stored violations with other rules', () => {
  it('names only what would be decided otherwise, with both rules and the key', () => {
    expect(changed(replay(given([stored('go.mod'), stored('other.txt')]), plain, strict))).toEqual([
      ['go.mod', 'command_rule', 'model', 'mode'],
    ])
  })
  it('finds nothing with the same rules', () => {
    expect(replay(given([stored('go.mod')]), strict, strict)).toEqual({
      ...{ paths: 1, failures: 0, checks: 0, changed: [] },
    })
  })
  it('counts a path of a task once, and the same path of another task again', () => {
    const cases = [stored('go.mod'), stored('go.mod', { runId: 'r-2' }), stored('go.mod', { taskId: 't-2' })]
    expect(replay(given(cases), plain, strict)).toMatchObject({
      paths: 2,
      changed: [{ taskId: 't-1' }, { taskId: 't-2' }],
    })
  })
  it.each(['secret', 'nested_repository', 'symlink_out', 'encoding'])('never allows a kind %s', (kind) => {
    expect(changed(replay(given([stored('go.mod', { kind })]), strict, plain))).toEqual([])
  })
  it.each<[string, Partial<ReplayRules>, string, string]>([
    ['a denied path', { deniedPaths: ['go.mod'] }, 'denied', 'deniedPaths'],
    ['no recovery', { 'policyRecovery.attempts': 0 }, 'no_attempts', 'policyRecovery.attempts'],
    ['a playbook', { 'playbooks.disabled': ['policy-allow'] }, 'playbook_disabled', 'playbooks.disabled'],
  ])('%s decides otherwise', (_title, more, rule, key) => {
    expect(changed(replay(given([stored('go.mod')]), plain, { ...plain, ...more }))).toEqual([
      ['go.mod', 'command_rule', rule, key],
    ])
  })
  it('a generated pattern leaves out a new file, and not one that the commit has', () => {
    const rules = { ...plain, 'policyRecovery.generatedPaths': ['gen/**'] }
    const cases = [stored('gen/a.c'), stored('gen/b.c', { facts: { mode: '000000', tracked: false } })]
    expect(changed(replay(given(cases), plain, rules))).toEqual([
      ['gen/b.c', 'model', 'generated', 'policyRecovery.generatedPaths'],
    ])
  })
})

describe('stored failures with other settings', () => {
  const past = (cause: string, times: number) => Array.from({ length: times }, () => ({ cause, epoch: 1 }))
  it.each<[string, FailureCase, Partial<ReplayRules>, [string, string, string]]>([
    [
      'fewer starts in place',
      failed({ past: past('in_place', 2) }),
      { 'requeue.inPlaceLimit': 2 },
      ['needs_rework_in_place_retry', 'needs_rework', 'requeue.inPlaceLimit'],
    ],
    [
      'fewer equal failures',
      failed({ runs: [1, 2, 3].map((epoch) => failedRun('test_failure', 'one', epoch)) }),
      { 'requeue.sameFailureLimit': 3 },
      ['needs_rework', 'repeated_same_failure_signature', 'requeue.sameFailureLimit'],
    ],
    [
      'a lower depth',
      failed({ depth: 1, past: past('in_place', 5) }),
      { 'requeue.reworkDepth': 1 },
      ['needs_rework', 'rework_chain_max_depth_reached', 'requeue.reworkDepth'],
    ],
    [
      'fewer starts of a failed task',
      failed({ status: 'failed', past: past('test', 1), failure: { ...failed().facts.failure, isOfWork: false } }),
      { 'requeue.maxRetries': 1 },
      ['cooldown_retry', 'needs_rework', 'requeue.maxRetries'],
    ],
  ])('%s', (_title, entry, more, expected) => {
    const [row] = changed(replay(given([], [entry]), plain, { ...plain, ...more }))
    expect(row?.slice(1)).toEqual(expected)
  })

  const violation = failed({
    failure: {
      ...{ failureCode: 'policy_violation', category: 'policy', retryable: true, isOfWork: true },
      ...{ violations: ['go.mod'], outside: ['go.mod'], never: [] },
    },
    past: past('suppressed', 1),
  })
  it('a path that another mode would not allow is not added to the task', () => {
    const [first] = replay(given([], [violation]), plain, strict).changed
    expect(first).toMatchObject({
      before: { decision: 'starts again', rule: 'policy_allowed_paths_adjusted_from_blocked' },
      after: { decision: 'waits', rule: 'policy_violation_rework_suppressed_no_safe_path' },
      keys: ['mode'],
    })
  })
  it('names all keys that only together make the difference', () => {
    const off = { ...plain, 'requeue.inPlaceLimit': 0, 'requeue.reworkDepth': 0 }
    const [first] = replay(given([], [violation]), { ...strict }, { ...off, mode: 'conservative' }).changed
    expect(first).toMatchObject({
      after: { decision: 'a question to you' },
      keys: ['requeue.inPlaceLimit', 'requeue.reworkDepth'],
    })
  })
  it('counts those of checks', () => {
    expect(replay(given([], [violation, { ...failed(), isCheck: false }]), plain, plain)).toEqual({
      ...{ paths: 0, failures: 2, checks: 1, changed: [] },
    })
  })
})
