import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CheckAdjustment } from '../domain/run.ts'
import { failureCodes } from './diagnosis/labels.ts'
import {
  categoryLimits,
  chooseRequeue,
  totalRequeues,
  type RequeueDecision,
  type RequeueFacts,
  type RequeueLimits,
} from './requeue.ts'
import type { FailedRun } from './requeue/repetition.ts'
import { samples } from '../../test/support/samples.ts'

const limits: RequeueLimits = {
  ...{ maxRetries: -1, inPlaceLimit: 5, sameFailureLimit: 4, suppressionLimit: 2, reworkDepth: 2, fruitlessCalls: 4 },
}

const run = (signature: string, more: Partial<FailedRun> = {}): FailedRun => ({
  ...{ taskId: 't-1', epoch: 1, failureCode: 'test_failure', signature, command: 'npm test' },
  ...more,
})

type Given = Partial<Omit<RequeueFacts, 'failure' | 'limits'>> & {
  code?: string
  failure?: Partial<RequeueFacts['failure']>
  limits?: Partial<RequeueLimits>
}

const factsOf = ({ code = 'test_failure', failure, limits: own, ...more }: Given = {}): RequeueFacts => {
  const [category, retryable] = failureCodes[code] ?? ['model', false]
  return {
    ...{ status: 'blocked(needs_rework)', taskId: 't-1', commands: ['npm test', 'npm run lint'] },
    ...{
      runs: [run('one')],
      fruitless: 0,
      past: [],
      allowable: [],
      hasChild: false,
      solvesConflict: false,
      depth: 0,
    },
    ...more,
    failure: {
      failureCode: code,
      category,
      retryable,
      isOfWork: true,
      violations: [],
      outside: [],
      never: [],
      ...failure,
    },
    limits: { ...limits, ...own },
  }
}

const decide = (given: Given = {}): RequeueDecision => chooseRequeue(factsOf(given))

const past = (cause: string, times: number, epoch = 1): RequeueFacts['past'] =>
  Array.from({ length: times }, () => ({ cause, epoch }))

const drop = (command: string): CheckAdjustment => ({ type: 'drop_command', command })
const outside = { code: 'policy_violation', failure: { violations: ['Makefile', 'key.pem'], outside: ['Makefile'] } }

const adjusted = [
  ['verification_command_missing_script', 'verification_command_missing_script_adjusted'],
  ['verification_command_no_test_files', 'verification_command_no_test_files_adjusted'],
  ['verification_command_missing_make_target', 'verification_command_missing_make_target_adjusted'],
  ['verification_command_unsupported_format', 'verification_command_unsupported_format_adjusted'],
] as const

it('a check that cannot run is dropped under the reason of its code, for a failed task and for one that waits', () => {
  const reasonsOf = (status: RequeueFacts['status']): string[] =>
    adjusted.map(([code]) => decide({ status, code, failure: { adjustment: drop('npm test') } }).reason)
  expect(reasonsOf('failed')).toEqual([
    'verification_command_missing_script_adjusted',
    'verification_command_no_test_files_adjusted',
    'verification_command_missing_make_target_adjusted',
    'verification_command_unsupported_format_adjusted',
  ])
  expect(reasonsOf('blocked(needs_rework)')).toEqual([
    'verification_command_missing_script_adjusted_from_blocked',
    'verification_command_no_test_files_adjusted_from_blocked',
    'verification_command_missing_make_target_adjusted_from_blocked',
    'verification_command_unsupported_format_adjusted_from_blocked',
  ])
})

describe('a failed task', () => {
  it.each(adjusted)('with %s is queued without that check: %s', (code, reason) => {
    const failure = { adjustment: drop('npm test') }
    expect(decide({ status: 'failed', code, failure })).toMatchObject({
      ...{ kind: 'requeue', reason, cause: 'commands', commands: ['npm run lint'] },
    })
  })

  it('verification_command_sequence_adjusted: is queued with its checks in the order in which they can run', () => {
    const adjustment: CheckAdjustment = { type: 'reorder', command: 'test -s out', order: ['make', 'test -s out'] }
    const code = 'verification_command_sequence_issue'
    expect(
      decide({ status: 'failed', code, commands: ['test -s out', 'make'], failure: { adjustment } }),
    ).toMatchObject({
      ...{ kind: 'requeue', reason: 'verification_command_sequence_adjusted', commands: ['make', 'test -s out'] },
    })
  })

  it('policy_allowed_paths_adjusted: is queued with the paths that may be allowed, and with no other path', () => {
    expect(decide({ ...outside, status: 'failed', allowable: ['Makefile', 'go.mod'] })).toMatchObject({
      ...{ kind: 'requeue', reason: 'policy_allowed_paths_adjusted', paths: ['Makefile'] },
    })
  })

  it('cooldown_retry: is queued again after its wait, up to the limit of its category', () => {
    const code = 'model_or_unknown_failure'
    expect(decide({ status: 'failed', code, past: past('model', 2) })).toEqual({
      ...{ kind: 'requeue', reason: 'cooldown_retry', cause: 'model', count: 3, limit: 3 },
    })
    expect(decide({ status: 'failed', code, past: past('model', 3) })).toEqual({ kind: 'park', reason: code })
  })

  it('every category has its own limit', () => {
    const codes = Object.entries(failureCodes).filter(([, [, retryable]]) => retryable)
    for (const [code, [category]] of codes) {
      const at = (times: number): string => decide({ status: 'failed', code, past: past(category, times) }).kind
      const limit = categoryLimits[category]
      expect([code, at(limit - 1), at(limit)]).toEqual([code, 'requeue', 'park'])
    }
    expect(categoryLimits).toEqual({
      ...{ env: 5, setup: 3, permission: 0, noop: 0, policy: 3, test: 3, flaky: 6, model: 3, model_loop: 1 },
    })
  })

  it('FAILED_TASK_MAX_RETRY_COUNT lowers the limit of every category, and counts all of them together', () => {
    const at = (rows: RequeueFacts['past']): string =>
      decide({ status: 'failed', code: 'timeout', past: rows, limits: { maxRetries: 2 } }).kind
    expect(at(past('flaky', 1))).toBe('requeue')
    expect(at(past('flaky', 2))).toBe('park')
    expect(at([...past('flaky', 1), ...past('model', 1)])).toBe('park')
  })

  it('two equal failures in a row take the next step, unless the wait itself is what helps', () => {
    const runs = [run('same'), run('same')]
    expect(decide({ status: 'failed', code: 'model_or_unknown_failure', runs }).kind).toBe('park')
    expect(decide({ status: 'failed', code: 'transient_or_flaky_failure', runs }).kind).toBe('requeue')
    expect(decide({ status: 'failed', code: 'timeout', runs }).kind).toBe('park')
  })
})

describe('a task whose work did not pass', () => {
  it.each(adjusted)('with %s is queued without that check: %s_from_blocked', (code, reason) => {
    const failure = { adjustment: drop('npm test') }
    expect(decide({ code, failure })).toMatchObject({ kind: 'requeue', reason: `${reason}_from_blocked` })
  })

  it('verification_command_sequence_adjusted_from_blocked: is queued with its checks in another order', () => {
    const adjustment: CheckAdjustment = { type: 'reorder', command: 'npm test', order: ['npm run lint', 'npm test'] }
    expect(decide({ code: 'verification_command_sequence_issue', failure: { adjustment } })).toMatchObject({
      reason: 'verification_command_sequence_adjusted_from_blocked',
    })
  })

  it('a denied path is never widened, nor one that is no rule of its own', () => {
    expect(decide({ ...outside, allowable: ['key.pem'] }).kind).toBe('wait')
    const failure = { violations: ['a*.txt'], outside: ['a*.txt'] }
    expect(decide({ code: 'policy_violation', failure, allowable: ['a*.txt'] }).kind).toBe('wait')
  })

  it('policy_allowed_paths_adjusted_from_blocked: is queued with the paths that may be allowed now', () => {
    expect(decide({ ...outside, allowable: ['Makefile'] })).toMatchObject({
      ...{ kind: 'requeue', reason: 'policy_allowed_paths_adjusted_from_blocked', paths: ['Makefile'], cause: 'paths' },
    })
  })

  it('setup_or_bootstrap_retry_from_blocked: is queued three times, also after equal failures', () => {
    const code = 'setup_or_bootstrap_issue'
    const runs = [run('same'), run('same'), run('same')]
    expect(decide({ code, runs, past: past('setup', 2) })).toEqual({
      ...{ kind: 'requeue', reason: 'setup_or_bootstrap_retry_from_blocked', cause: 'setup', count: 3, limit: 3 },
    })
    expect(decide({ code, past: past('setup', 3) }).kind).toBe('split')
  })

  it('needs_rework_in_place_retry: is queued up to BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT, then a new task continues', () => {
    expect(decide({ past: past('in_place', 4) })).toEqual({
      ...{ kind: 'requeue', reason: 'needs_rework_in_place_retry', cause: 'in_place', count: 5, limit: 5 },
    })
    expect(decide({ past: past('in_place', 5) })).toEqual({ kind: 'split', reason: 'needs_rework' })
  })

  it('a smaller FAILED_TASK_MAX_RETRY_COUNT never gives a failed task more starts: parked, it gets none in place', () => {
    const startsAt = (maxRetries: number): number => {
      let [status, rows]: [RequeueFacts['status'], RequeueFacts['past']] = ['failed', []]
      for (let epoch = 1; ; epoch += 1) {
        const runs = [run(`noise ${epoch}`, { epoch, failureCode: 'agent_crash' })]
        const given = {
          failure: { category: 'flaky', isOfWork: false } as const,
          past: rows,
          limits: { maxRetries },
          runs,
        }
        let decision = decide({ ...given, status })
        if (decision.kind === 'park') decision = decide({ ...given, status: (status = 'blocked(needs_rework)') })
        if (decision.kind !== 'requeue') return rows.length
        rows = [...rows, { cause: decision.cause, epoch }]
      }
    }
    expect([0, 1, 2, 3, 6, 7, -1].map(startsAt)).toEqual([0, 1, 2, 3, 6, 6, 6])
  })

  it('BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT=-1 lifts that limit, and the total still ends it', () => {
    const at = (times: number): string => decide({ past: past('in_place', times), limits: { inPlaceLimit: -1 } }).kind
    expect([at(totalRequeues - 1), at(totalRequeues)]).toEqual(['requeue', 'split'])
  })

  it('two equal failures skip the start in place', () => {
    expect(decide({ runs: [run('same'), run('same')] })).toEqual({ kind: 'split', reason: 'needs_rework' })
    expect(decide({ runs: [run('same'), run('other')] }).kind).toBe('requeue')
  })

  it('repeated_same_failure_signature: FAILED_TASK_REPEATED_SIGNATURE_THRESHOLD equal failures, also of the tasks that it continues, end in a question', () => {
    const runs = [run('same', { taskId: 't-0' }), run('same', { taskId: 't-0' }), run('same'), run('same')]
    expect(decide({ runs, depth: 1 })).toEqual({ kind: 'ask', reason: 'repeated_same_failure_signature' })
    expect(decide({ runs: runs.slice(1), depth: 1 }).kind).toBe('split')
    expect(decide({ runs: runs.slice(1), depth: 1, limits: { sameFailureLimit: 3 } }).kind).toBe('ask')
  })

  it('fewer failing tests are progress: the count in place starts again, and the failure is no repetition', () => {
    const tests = (...items: string[]): Partial<FailedRun> => ({ failing: { items, areTests: true } })
    const runs = [run('same', { ...tests('a', 'b', 'c'), epoch: 1 }), run('same', { ...tests('a'), epoch: 7 })]
    expect(decide({ runs, past: past('in_place', 5, 1) })).toMatchObject({ kind: 'requeue', count: 1 })
    const back = [...runs, run('same', { ...tests('a', 'b', 'c'), epoch: 8 }), run('x', { ...tests('a'), epoch: 9 })]
    expect(decide({ runs: back, past: past('in_place', 5, 7) }).kind).toBe('split')
  })

  it('other failing tests are neither progress nor a repetition', () => {
    const tests = (...items: string[]): Partial<FailedRun> => ({ failing: { items, areTests: true } })
    const runs = [run('same', tests('a', 'b')), run('same', { ...tests('c'), epoch: 2 })]
    expect(decide({ runs, past: past('in_place', 5, 1) }).kind).toBe('split')
    expect(decide({ runs, past: past('in_place', 4, 1) }).kind).toBe('requeue')
  })

  it('policy_violation_rework_suppressed_no_safe_path: waits for a path that may be allowed', () => {
    expect(decide({ ...outside, past: past('suppressed', 1) })).toEqual({
      ...{ kind: 'wait', reason: 'policy_violation_rework_suppressed_no_safe_path', cause: 'suppressed' },
      ...{ count: 2, limit: 2 },
    })
  })

  it('does not wait for a path that no rule can allow, as a secret', () => {
    const failure = { ...outside.failure, never: ['key.pem'] }
    expect(decide({ ...outside, failure })).toEqual({
      ...{ kind: 'cancel', reason: 'policy_violation_rework_suppressed_exhausted' },
    })
  })

  it('policy_violation_rework_suppressed_exhausted: is cancelled after BLOCKED_POLICY_SUPPRESSION_MAX_RETRIES waits', () => {
    expect(decide({ ...outside, past: past('suppressed', 2) })).toEqual({
      ...{ kind: 'cancel', reason: 'policy_violation_rework_suppressed_exhausted' },
    })
  })

  it('conflict_autofix_needs_rework_suppressed: its parent does the work again when a conflict was not solved', () => {
    const solves = { solvesConflict: true }
    expect(decide(solves)).toMatchObject({ kind: 'requeue', reason: 'needs_rework_in_place_retry' })
    const given = { kind: 'cancel', reason: 'conflict_autofix_needs_rework_suppressed' }
    expect(decide({ ...solves, past: past('in_place', 5) })).toEqual(given)
    expect(decide({ ...solves, code: 'no_actionable_changes' })).toEqual(given)
    // There is no way from there to its end: it waits for its rework first.
    expect(decide({ ...solves, code: 'no_actionable_changes', status: 'failed' }).kind).toBe('park')
  })

  it('rework_child_already_exists: is cancelled when another task continues it already', () => {
    expect(decide({ past: past('in_place', 5), hasChild: true })).toEqual({
      ...{ kind: 'cancel', reason: 'rework_child_already_exists' },
    })
  })

  it('rework_chain_max_depth_reached: is cancelled at AUTO_REWORK_MAX_DEPTH', () => {
    const at = (depth: number): RequeueDecision => decide({ past: past('in_place', 5), depth })
    expect(at(1).kind).toBe('split')
    expect(at(2)).toEqual({ kind: 'cancel', reason: 'rework_chain_max_depth_reached' })
  })

  it('with AUTO_REWORK_MAX_DEPTH=0 a person is asked instead of a new task', () => {
    expect(decide({ past: past('in_place', 5), limits: { reworkDepth: 0 } })).toEqual({
      ...{ kind: 'ask', reason: 'test_failure' },
    })
  })
})

describe('in both states', () => {
  const states = ['failed', 'blocked(needs_rework)'] as const

  it('a failure that is not retryable (retryable=false) is a question at once', () => {
    for (const status of states)
      for (const [code, [, retryable]] of Object.entries(failureCodes))
        if (!retryable) expect([code, decide({ status, code }).kind]).toEqual([code, 'ask'])
  })

  it.each(states)('%s: with both limits 0 the question comes at once, whatever could be adjusted', (status) => {
    const off = { inPlaceLimit: 0, reworkDepth: 0 }
    const failure = { adjustment: drop('npm test') }
    expect(decide({ status, limits: off }).kind).toBe('ask')
    expect(decide({ status, limits: off, code: 'verification_command_missing_script', failure }).kind).toBe('ask')
    expect(decide({ ...outside, status, limits: off, allowable: ['Makefile'] }).kind).toBe('ask')
  })

  it.each(states)('%s: the last check is never dropped', (status) => {
    const code = 'verification_command_missing_script'
    expect(decide({ status, code, commands: ['npm test'], failure: { adjustment: drop('npm test') } }).kind).toBe('ask')
  })

  it.each(states)(
    '%s: nothing is dropped without an adjustment that a run stored, whatever the code says',
    (status) => {
      expect(decide({ status, code: 'verification_command_missing_script' }).kind).toBe('ask')
    },
  )
})

/** Plays a task and the tasks that continue it until nothing starts any more. */
const play = (failures: readonly FailedRun[], given: Given, own: RequeueLimits): { runs: number; kind: string } => {
  let [epoch, depth, taskId] = [0, 0, 't-0']
  let status: RequeueFacts['status'] = 'failed'
  let rows: RequeueFacts['past'] = []
  const runs: FailedRun[] = []
  for (let started = 0; ; started += 1) {
    const next = failures[started % failures.length] as FailedRun
    epoch += 1
    runs.push({ ...next, taskId, epoch })
    status =
      next.failureCode === 'test_failure' || next.failureCode === 'policy_violation'
        ? 'blocked(needs_rework)'
        : 'failed'
    for (let started_ = false; !started_;) {
      const paths = next.failureCode === 'policy_violation' ? ['a'] : []
      const failure = { violations: paths, outside: paths }
      const decision = decide({
        ...{ ...given, code: next.failureCode, failure, limits: own },
        ...{ status, taskId, runs: [...runs], past: rows, depth },
      })
      if (decision.kind === 'ask' || decision.kind === 'cancel') return { runs: runs.length, kind: decision.kind }
      if (decision.kind === 'park') status = 'blocked(needs_rework)'
      if (decision.kind === 'wait' || decision.kind === 'requeue') rows = [...rows, { cause: decision.cause, epoch }]
      if (decision.kind === 'split') {
        ;[depth, taskId, rows] = [depth + 1, `t-${depth + 1}`, []]
      }
      started_ = decision.kind === 'requeue' || decision.kind === 'split'
    }
    if (runs.length > 2_000) return { runs: runs.length, kind: 'endless' }
  }
}

const anyLimits = fc.record<RequeueLimits>({
  maxRetries: fc.integer({ min: -1, max: 20 }),
  inPlaceLimit: fc.integer({ min: -1, max: 20 }),
  sameFailureLimit: fc.integer({ min: 2, max: 10 }),
  suppressionLimit: fc.integer({ min: 0, max: 5 }),
  reworkDepth: fc.integer({ min: 0, max: 4 }),
  fruitlessCalls: fc.integer({ min: -1, max: 10 }),
})

const anyFailure = fc.record({
  failureCode: fc.constantFrom(
    ...Object.entries(failureCodes).flatMap(([code, [, retryable]]) => (retryable ? [code] : [])),
  ),
  signature: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  command: fc.constantFrom('npm test', 'make check'),
  failing: fc.record({ items: fc.subarray(['1', '2', '3', '4', '5']), areTests: fc.boolean() }),
  ...{ taskId: fc.constant(''), epoch: fc.constant(0) },
})

it('every sequence of failures ends in a question or a cancelled task', () => {
  fc.assert(
    fc.property(fc.array(anyFailure, { minLength: 1, maxLength: 40 }), anyLimits, (failures, own) => {
      const { kind } = play(failures, {}, own)
      expect(['ask', 'cancel']).toContain(kind)
    }),
    { numRuns: samples(500) },
  )
})

it('the counts of the causes are independent: requeues of other causes change no limit but the total', () => {
  const causes = [...Object.keys(categoryLimits), 'commands', 'paths', 'in_place', 'suppressed']
  const code = fc.constantFrom('test_failure', 'setup_or_bootstrap_issue', 'policy_violation')
  fc.assert(
    fc.property(code, fc.array(fc.constantFrom(...causes), { maxLength: totalRequeues - 1 }), (failureCode, rows) => {
      const violations = failureCode === 'policy_violation' ? ['a'] : []
      const decision = (present: readonly string[]): RequeueDecision =>
        decide({ code: failureCode, failure: { violations }, past: present.map((cause) => ({ cause, epoch: 1 })) })
      const own = { test_failure: ['in_place', 'test'], setup_or_bootstrap_issue: ['setup', 'in_place'] }
      const mine: readonly string[] = own[failureCode as keyof typeof own] ?? ['suppressed']
      expect(decision(rows)).toEqual(decision(rows.filter((cause) => mine.includes(cause))))
    }),
    { numRuns: samples(300) },
  )
})

describe('calls that bring nothing new', () => {
  it.each<[string, Given, string]>([
    ['fewer than the limit', { fruitless: 3 }, 'requeue'],
    ['as many as the limit', { fruitless: 4 }, 'ask'],
    ['of an agent that hangs', { fruitless: 4, code: 'timeout', status: 'failed' }, 'ask'],
    ['a machine that may recover', { fruitless: 9, code: 'environment_issue', status: 'failed' }, 'requeue'],
    ['of a task that solves a conflict', { fruitless: 4, solvesConflict: true }, 'cancel'],
    ['without a limit', { fruitless: 9, limits: { fruitlessCalls: -1 } }, 'requeue'],
  ])('%s', (_what, given, kind) => {
    expect(decide(given).kind).toBe(kind)
  })
})
