/** What a person reads about a task whose work did not pass and that continues by itself. */
import { expect, it } from 'vitest'
import { notLanding } from '../../domain/goal.ts'
import { baselineText, cancelledText, requeuedText, retriedText } from './story-text.ts'
import { waitingOn, type TaskFacts } from './waiting-on.ts'

const at = new Date('2026-01-01T00:02:00Z')

const policyViolations = [
  { path: 'lib/a.ts', kind: 'outside', rule: 'src/**' },
  { path: '.env', kind: 'secret', rule: '**/.env' },
]

const waits = (task: object, tasks: object[] = [], escalations: object[] = []): ReturnType<typeof waitingOn> =>
  waitingOn({
    task: { id: 't-1', goalId: 'g-1', number: 1, status: 'blocked(needs_rework)', takenOver: null, ...task },
    goal: { id: 'g-1', state: 'active', targetBranch: 'main', landing: notLanding },
    runs: [{ taskId: 't-1', errorMeta: { evidence: 'npm test: exit 1, 2 failed', policyViolations } }],
    ...{ tasks, merges: [], escalations },
  } as unknown as TaskFacts)

const retry = (reason: string, count = 1, limit = 1): object => ({ retry: { reason, at, count, limit } })

it.each([
  ['needs_rework_in_place_retry', 'it starts again on its own work (start 2 of 5)'],
  ['needs_rework', 'a new task continues its work'],
  ['verification_command_sequence_adjusted_from_blocked', 'it starts again with corrected checks'],
  [
    'policy_violation_rework_suppressed_no_safe_path',
    'to allow them: unstuck edit t-1 --add-path lib/a.ts --why "…" --retry; the rules for them are read again',
  ],
])('a task that waits (%s) says why, what follows and when', (reason, next) => {
  const numbers = reason === 'needs_rework_in_place_retry' ? ([2, 5] as const) : ([1, 1] as const)
  expect(waits(retry(reason, ...numbers))).toEqual({
    ...{ owner: 'cycle manager', at },
    text: `its work did not pass ("npm test: exit 1, 2 failed"); ${next}`,
  })
})

it('a task that waits for rework without a time has no next step', () => {
  expect(waits({ retry: null })).toBeUndefined()
})

it('a task that another one continues names that one', () => {
  const child = { id: 't-4', number: 4 }
  expect(waits({ status: 'cancelled', supersededBy: 't-4' }, [child])?.text).toBe('task 4 continues its work')
  expect(waits({ status: 'cancelled', supersededBy: null }, [child])?.text).toBe('ended')
})

it('a task that ended with one that it needs names that one, and how both come back', () => {
  const needed = { id: 't-4', number: 4, status: 'cancelled' }
  const text = waits({ status: 'cancelled', supersededBy: null, dependsOn: ['t-4'] }, [needed])?.text
  expect(text).toContain('task 4')
  expect(text).toContain('unstuck retry t-4')
})

it('what a person asked for is told as that', () => {
  const child = {
    id: 't-4',
    number: 4,
    status: 'queued',
    title: 'x',
    rework: { parent: 't-1', kind: 'objection', because: 'root objects: name it b.js' },
  }
  const text = waits({ retry: null }, [child])?.text
  expect(text).toContain('root asked: "name it b.js"; task 4')
})

it('a failed check is told once, with what it is on the base commit', () => {
  const failed = { command: 'npm test', failing: 'sh: 1: standard: not found', blocks: true }
  const same = baselineText({ ...failed, detail: 'nor can it run on the base commit (sh: 1: standard: not found)' })
  expect(same.split('standard: not found')).toHaveLength(2)
  const since = baselineText({ ...failed, failing: 'a > b', detail: 'it passes on the base commit' })
  expect(since).toBe('npm test fails since this work: a > b')
})

it('a task that was given up names the question of its goal', () => {
  const question = { state: 'pending', taskId: null, choices: [{ kind: 'hint', task: 't-1' }, { kind: 'retry' }] }
  const facts = { status: 'cancelled', supersededBy: null }
  expect(waits(facts, [], [question])).toEqual({
    owner: 'person',
    text: 'your answer is needed: unstuck answer g-1',
  })
  expect(waits({ ...facts, id: 't-2' }, [], [question])?.text).toBe('ended')
  expect(waits(facts, [], [{ ...question, state: 'approved' }])?.text).toBe('ended')
})

it('the story says why a task started again, and which start of how many it is', () => {
  expect(
    requeuedText({ reason: 'verification_command_missing_script_adjusted_from_blocked', count: 1, limit: 5 }),
  ).toBe(
    'the task went back to the queue: the script of a check does not exist, so the check was corrected (1 of at most 5)',
  )
  expect(requeuedText({ reason: 'needs_rework_in_place_retry', count: 2, limit: -1 })).toBe(
    'the task went back to the queue: its work did not pass, and it starts again where it stopped',
  )
})

it('the story says when a task is retried, and which retry it is, where a limit counts them', () => {
  expect(retriedText({ retryAt: 'T', count: 2, limit: 6 })).toBe('the task is retried at T (retry 2 of 6)')
  expect(retriedText({ retryAt: 'T', count: 2, limit: -1 })).toBe('the task is retried at T (retry 2)')
})

it('the story says why a task ended without its work', () => {
  expect(cancelledText({ reason: 'superseded_by_rework', child: 4 })).toBe(
    'the task ended because task 4 continues its work',
  )
  expect(cancelledText({ reason: 'policy_violation_rework_suppressed_exhausted' })).toContain('was given up')
  expect(cancelledText({ reason: 'conflict_autofix_needs_rework_suppressed' })).toContain('did not solve the conflict')
  expect(cancelledText({ by: 'person' })).toBe('the task was cancelled by a person')
})
