import { describe, expect, test } from 'vitest'
import { notLanding } from '../../domain/goal.ts'
import { taskFlow, type TaskPlace } from '../../domain/task.ts'
import { nextStepOf, type TaskFacts } from './next-step.ts'

const at = new Date('2026-01-01T00:00:00Z')

const facts = (place: TaskPlace, more: Record<string, unknown> = {}): TaskFacts => {
  const { task: taskMore, goal: goalMore, ...rest } = more as { task?: object; goal?: object }
  const task = { id: 't-1', goalId: 'g-1', number: 1, place, dependsOn: [], retry: null, ...taskMore }
  return {
    task,
    goal: { id: 'g-1', state: 'active', targetBranch: 'main', landing: notLanding, ...goalMore },
    tasks: [task],
    runs: [],
    merges: [],
    escalations: [],
    ...rest,
  } as unknown as TaskFacts
}

const success = { id: 'r-1', taskId: 't-1', state: 'success', judgedAt: null }

const engine = (more: object = {}) => ({
  ...{ id: 'e-1', host: 'h', roles: ['executor'], state: 'online', harnesses: ['codex'], waiting: null, silent: false },
  ...more,
})
const queuedFor = (engines: object[], task: object = {}, others: object[] = []): TaskFacts => {
  const mine = { harness: 'codex', areas: ['src'], lane: 'feature', engineId: null, ...task }
  const made = facts('queued', { task: mine, engines })
  return { ...made, tasks: [made.task, ...(others as TaskFacts['tasks'])] }
}
const running = (more: object = {}) => ({
  ...{ id: 't-9', number: 9, title: 'Other', place: 'running', areas: [], lane: 'feature', dependsOn: [] },
  ...more,
})

describe('why a queued task is not taken', () => {
  test.each<[string, TaskFacts, string, RegExp]>([
    ['nothing but a free agent is missing', queuedFor([engine()]), 'dispatcher', /free agent/],
    ['no engine runs', queuedFor([engine({ state: 'offline' })]), 'person', /no engine that executes is running/],
    ['the only one is silent', queuedFor([engine({ silent: true })]), 'person', /no engine that executes/],
    ['the only one does not execute', queuedFor([engine({ roles: ['control'] })]), 'person', /no engine that executes/],
    [
      'no engine has its harness',
      queuedFor([engine(), engine({ id: 'e-2', harnesses: ['made'] })], { harness: 'claude' }),
      'person',
      /no running engine has harness "claude" \(there: codex, made\); install it .* unstuck worker/,
    ],
    ['its engine does not run', queuedFor([engine()], { engineId: 'e-7' }), 'person', /folder of engine e-7/],
    ['all that could are draining', queuedFor([engine({ state: 'draining' })]), 'person', /draining/],
    [
      'the machine is short of something',
      queuedFor([engine({ waiting: 'waiting for disk: 300 MB free of 1 GB' })]),
      'dispatcher',
      /^waiting for disk: 300 MB free of 1 GB on h$/,
    ],
    [
      'another one has room',
      queuedFor([engine({ waiting: 'waiting for disk: 1' }), engine({ id: 'e-2' })]),
      'dispatcher',
      /free agent/,
    ],
    [
      'its area is taken',
      queuedFor([engine()], {}, [running({ areas: ['src/api'] })]),
      'dispatcher',
      /waits for task 9 "Other", which is at work in src$/,
    ],
    [
      'its area is held until a merge',
      queuedFor([engine()], {}, [running({ areas: ['src/api'], place: 'blocked(awaiting_judge)' })]),
      'dispatcher',
      /waits until the work of task 9 "Other" in src is merged$/,
    ],
    [
      'its goal is rebased first',
      {
        ...queuedFor([engine()]),
        goal: facts('queued', { goal: { landing: { ...notLanding, outdated: true } } }).goal,
      },
      'merge queue',
      /the goal branch is brought onto main first/,
    ],
    [
      'its lane is full',
      queuedFor([engine()], { lane: 'docser' }, [running({ lane: 'docser' })]),
      'dispatcher',
      /waits for its lane: 1 of docser at work/,
    ],
  ])('%s', (_title, given, owner, text) => {
    expect(nextStepOf(given)).toMatchObject({ owner, text: expect.stringMatching(text) as string })
  })
})

describe('who takes the next step', () => {
  test.each<[string, TaskFacts, string, RegExp]>([
    ['a queued task', facts('queued'), 'dispatcher', /free agent/],
    ['one of a paused goal', facts('queued', { goal: { state: 'paused' } }), 'person', /unstuck resume g-1/],
    [
      'one that waits for another',
      facts('queued', { task: { dependsOn: ['t-0'] }, tasks: [{ id: 't-0', number: 7, place: 'running' }] }),
      'dispatcher',
      /waits for task 7/,
    ],
    [
      'a running task',
      facts('running', { runs: [{ id: 'r-1', taskId: 't-1', state: 'running', phase: 'verify' }] }),
      'executor',
      /r-1: verify/,
    ],
    ['a done task', facts('done'), 'nobody', /ended/],
    ['a cancelled task', facts('cancelled'), 'nobody', /ended/],
    [
      'a failed task with a retry',
      facts('failed', { task: { retry: { reason: 'overload', at, count: 2, limit: 6 } } }),
      'cycle manager',
      /retry 2 of 6 after overload/,
    ],
    ['an unjudged run', facts('blocked(awaiting_judge)', { runs: [success] }), 'judge', /r-1/],
    [
      'a merge entry in the queue',
      facts('blocked(awaiting_judge)', { runs: [success], merges: [{ runId: 'r-1', state: 'pending', number: 3 }] }),
      'merge queue',
      /entry 3 waits/,
    ],
    [
      'a merge entry in work',
      facts('blocked(awaiting_judge)', { runs: [success], merges: [{ runId: 'r-1', state: 'processing', number: 3 }] }),
      'merge queue',
      /entry 3 is in work/,
    ],
    [
      'a question',
      facts('blocked(awaiting_human)', {
        escalations: [
          {
            state: 'pending',
            taskId: 't-1',
            choices: [{ command: 'unstuck resume g-1' }, { command: 'unstuck retry t-1' }],
          },
        ],
      }),
      'person',
      /^your answer is needed: unstuck answer t-1$/,
    ],
  ])('%s', (_title, given, owner, text) => {
    expect(nextStepOf(given)).toMatchObject({ owner, text: expect.stringMatching(text) })
  })

  test('a merge that waits for an outage says for what, and when it goes on', () => {
    const waiting = { runId: 'r-1', startedAt: at, action: { delayMs: 5_000 }, issueDetected: 'the registry is away' }
    const merges = [{ runId: 'r-1', state: 'pending', number: 3 }]
    expect(nextStepOf(facts('blocked(awaiting_judge)', { runs: [success], merges, waits: [waiting] }))).toEqual({
      owner: 'merge queue',
      text: 'merge entry 3 runs its checks again after "the registry is away"',
      at: new Date('2026-01-01T00:00:05Z'),
    })
  })

  test('a countdown has its time', () => {
    expect(nextStepOf(facts('failed', { task: { retry: { reason: 'x', at, count: 1, limit: 2 } } }))?.at).toBe(at)
  })
})

describe('who is stuck', () => {
  test.each<[string, TaskFacts]>([
    ['running without a run', facts('running')],
    ['running with the run of another', facts('running', { runs: [{ id: 'r', taskId: 't-2', state: 'running' }] })],
    ['failed without a retry', facts('failed')],
    ['waiting for a judge with nothing to judge', facts('blocked(awaiting_judge)')],
    ['judged, and no merge entry', facts('blocked(awaiting_judge)', { runs: [{ ...success, judgedAt: at }] })],
    [
      'judged, and the merge failed',
      facts('blocked(awaiting_judge)', {
        runs: [{ ...success, judgedAt: at }],
        merges: [{ runId: 'r-1', state: 'failed', number: 1 }],
      }),
    ],
    ['waiting for a person who was asked nothing', facts('blocked(awaiting_human)')],
    [
      'waiting for an answer that was given',
      facts('blocked(awaiting_human)', { escalations: [{ state: 'approved', taskId: 't-1', choices: [] }] }),
    ],
  ])('%s', (_title, given) => {
    expect(nextStepOf(given)).toBeUndefined()
  })

  test('every place of the flow table is answered without throwing', () => {
    for (const place of taskFlow.states) expect(() => nextStepOf(facts(place))).not.toThrow()
  })
})
