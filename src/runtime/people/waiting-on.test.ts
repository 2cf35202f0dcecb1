import { describe, expect, test } from 'vitest'
import type { QueueFacts } from '../../domain/claimability.ts'
import { folderArea } from '../../domain/area.ts'
import { defaultLanes } from '../../domain/dispatch.ts'
import { notLanding } from '../../domain/goal.ts'
import { taskFlow, type TaskStatus } from '../../domain/task.ts'
import { waitingOn, type TaskFacts } from './waiting-on.ts'

const at = new Date('2026-01-01T00:00:00Z')

const facts = (status: TaskStatus, more: Record<string, unknown> = {}): TaskFacts => {
  const { task: taskMore, goal: goalMore, ...rest } = more as { task?: object; goal?: object }
  const task = {
    id: 't-1',
    goalId: 'g-1',
    number: 1,
    status,
    dependsOn: [],
    retry: null,
    takenOver: null,
    review: null,
    link: null,
    ...taskMore,
  }
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

const emptyQueue: QueueFacts = {
  ...{ engines: [], agents: [], limits: [], failover: [], lanes: defaultLanes },
  ...{ areaHolders: [], leases: [], waitingFeatures: [], hourTokens: null },
}

/** A queued task, with one idle agent per engine unless the queue says otherwise. */
const queuedFor = (engines: { id: string }[], task: object = {}, queue: object = {}): TaskFacts => {
  const agents = engines.map(({ id }) => ({ id: `${id}-1`, engineId: id, role: 'worker', state: 'idle' }))
  const mine = {
    harness: 'codex',
    model: null,
    areas: ['src'],
    role: 'worker',
    lane: 'feature',
    engineId: null,
    ...task,
  }
  return facts('queued', { task: mine, queue: { ...emptyQueue, engines, agents, ...queue } })
}

const inFolder = { areas: [folderArea] }
const other = (more: object = {}) => ({
  ...{ id: 't-9', goalId: 'g-1', number: 9, title: 'Other', status: 'running', areas: ['src/api'] },
  ...more,
})
const lease = (more: object = {}) => ({
  ...{ id: 't-4', goalId: 'g-1', number: 4, title: 'Guide', lane: 'docser', slot: 1 },
  ...more,
})
const limit = { harnesses: ['codex'], account: 'codex', until: at }
const hourTokens = { limit: 1_000_000, used: 1_200_000, until: at }
const busy = [{ id: 'e-1-1', engineId: 'e-1', role: 'worker', state: 'busy' }]

describe('why a queued task is not taken', () => {
  test.each<[string, TaskFacts, string, string, RegExp]>([
    ['no engine runs', queuedFor([engine({ state: 'offline' })]), 'no_engine', 'person', /^no engine that runs tasks/],
    ['the only one is silent', queuedFor([engine({ silent: true })]), 'no_engine', 'person', /unstuck up/],
    ['the only one does not execute', queuedFor([engine({ roles: ['control'] })]), 'no_engine', 'person', /^no engine/],
    [
      'no engine has its harness',
      queuedFor([engine(), engine({ id: 'e-2', harnesses: ['made'] })], { harness: 'claude' }),
      'no_harness',
      'person',
      /no running engine has harness "claude" \(there: codex, made\); install it .* unstuck worker/,
    ],
    [
      'its engine does not run',
      queuedFor([engine()], { engineId: 'e-7' }),
      'engine_away',
      'person',
      /folder of engine e-7/,
    ],
    ['all that could are draining', queuedFor([engine({ state: 'draining' })]), 'draining', 'person', /is draining/],
    [
      'the machine is short of something',
      queuedFor([engine({ waiting: 'waiting for disk: 300 MB free of 1 GB' })]),
      'admission',
      'dispatcher',
      /^waiting for disk: 300 MB free of 1 GB on h$/,
    ],
    [
      'no agent has its role',
      queuedFor([engine()], { role: 'planner' }),
      'no_role',
      'person',
      /an agent for planner tasks$/,
    ],
    [
      'every agent is at work',
      queuedFor([engine()], {}, { agents: busy }),
      'busy',
      'dispatcher',
      /^waiting for a free agent: 1 of 1 at work$/,
    ],
    [
      'its area is taken',
      queuedFor([engine()], {}, { areaHolders: [other()] }),
      'area',
      'dispatcher',
      /^waiting for task 9 "Other", which is changing src$/,
    ],
    [
      'its area is held until a merge of another goal',
      queuedFor([engine()], {}, { areaHolders: [other({ goalId: 'g-2', status: 'blocked(awaiting_judge)' })] }),
      'area',
      'dispatcher',
      /^waiting until the work of task 9 "Other" of goal g-2 in src is merged$/,
    ],
    [
      'another goal works in the same folder',
      queuedFor([engine()], inFolder, { areaHolders: [other({ ...inFolder, goalId: 'g-2' })] }),
      'area',
      'dispatcher',
      /^waiting for task 9 "Other" of goal g-2, which is changing the same folder$/,
    ],
    [
      'the work of another goal in the same folder is not approved yet',
      queuedFor([engine()], inFolder, {
        areaHolders: [other({ ...inFolder, goalId: 'g-2', status: 'blocked(awaiting_judge)' })],
      }),
      'area',
      'dispatcher',
      /^waiting until the work of task 9 "Other" of goal g-2 in the same folder is approved$/,
    ],
    [
      'its goal is rebased first',
      {
        ...queuedFor([engine()]),
        goal: facts('queued', { goal: { landing: { ...notLanding, outdated: true } } }).goal,
      },
      'branch_outdated',
      'merge queue',
      /^waiting until the goal branch is rebased onto main$/,
    ],
    [
      'its lane is full',
      queuedFor([engine()], { lane: 'docser' }, { leases: [lease()] }),
      'lane_limit',
      'dispatcher',
      /^waiting for a free slot of the docs lane: 1 of 1 in use by task 4 "Guide"$/,
    ],
    [
      'its lane is closed',
      queuedFor([engine()], { lane: 'docser' }, { lanes: { ...defaultLanes, docserMaxSlots: 0 } }),
      'lane_limit',
      'person',
      /^the docs lane is closed; raise lanes\.docserMaxSlots above 0$/,
    ],
    [
      'the ceiling of tokens per hour is reached',
      queuedFor([engine()], {}, { hourTokens, limits: [limit] }),
      'hour_tokens',
      'dispatcher',
      /^1,200,000 tokens were used in the last hour, of 1,000,000 allowed \(limits\.hourTokens\); work starts again$/,
    ],
    [
      'the account of its harness is at its limit',
      queuedFor([engine()], {}, { limits: [limit] }),
      'account_limit',
      'dispatcher',
      /^the limit of codex resets$/,
    ],
    [
      'what is idle is kept for features',
      queuedFor([engine()], { lane: 'docser' }, { waitingFeatures: [{ harness: 'codex', model: null }] }),
      'reserved',
      'dispatcher',
      /^free agents are reserved for feature tasks \(1 of 1\)$/,
    ],
  ])('%s', (_title, given, ...[waitsFor, owner, text]) => {
    expect(waitingOn(given)).toMatchObject({ waitsFor, owner, text: expect.stringMatching(text) as string })
  })

  test('many dependencies are counted', () => {
    const tasks = [2, 3, 4, 5].map((number) => ({
      id: `t-${number}`,
      goalId: 'g-1',
      number,
      title: 'x',
      status: 'queued',
    }))
    const task = { dependsOn: tasks.map(({ id }) => id) }
    expect(waitingOn(facts('queued', { task, tasks }))?.text).toBe(
      'waiting for task 2 "x", task 3 "x", task 4 "x" and 1 more',
    )
  })
})

describe('a queued task that an agent may take', () => {
  const claude = { id: 'e-2', harnesses: ['claude'] }
  test.each<[string, TaskFacts]>([
    ['with an idle agent', queuedFor([engine()])],
    ['where another engine has room', queuedFor([engine({ waiting: 'waiting for disk: 1' }), engine({ id: 'e-2' })])],
    [
      'whose lane has a second slot',
      queuedFor(
        [engine()],
        { lane: 'conflict_recovery' },
        { leases: [lease({ lane: 'conflict_recovery' })], lanes: { ...defaultLanes, conflictRecoveryMaxSlots: 2 } },
      ),
    ],
    [
      'whose lane has no limit',
      queuedFor(
        [engine()],
        { lane: 'docser' },
        { leases: [lease({ slot: null })], lanes: { ...defaultLanes, docserMaxSlots: -1 } },
      ),
    ],
    [
      'whose harness has a stand-in',
      queuedFor([engine({ harnesses: ['codex', 'claude'] })], {}, { limits: [limit], failover: ['claude'] }),
    ],
    [
      "of a person's work, which needs no harness and no account",
      queuedFor(
        [engine({ harnesses: [] })],
        { takenOver: { folder: '/w', givenBack: true } },
        { limits: [limit], hourTokens },
      ),
    ],
  ])('%s says so', (_title, given) => {
    expect(waitingOn(given)).toEqual({ owner: 'dispatcher', text: 'ready to start; a free agent takes it next' })
  })

  test('the ceiling of tokens per hour says when enough of them are older', () => {
    expect(waitingOn(queuedFor([engine()], {}, { hourTokens }))?.at).toBe(at)
  })

  test.each<[string, TaskFacts]>([
    [
      'another engine has the stand-in',
      queuedFor([engine(), engine(claude)], {}, { limits: [limit], failover: ['claude'] }),
    ],
    [
      'the task names a model',
      queuedFor(
        [engine({ harnesses: ['codex', 'claude'] })],
        { model: 'm' },
        { limits: [limit], failover: ['claude'] },
      ),
    ],
  ])('a stand-in is of no use where %s', (_title, given) => {
    expect(waitingOn(given)).toMatchObject({ waitsFor: 'account_limit', at })
  })
})

describe('who takes the next step', () => {
  test.each<[string, TaskFacts, string, RegExp]>([
    ['a queued task', facts('queued'), 'dispatcher', /free agent/],
    ['one of a paused goal', facts('queued', { goal: { state: 'paused' } }), 'person', /unstuck resume g-1/],
    [
      'one that waits for another',
      facts('queued', {
        task: { dependsOn: ['t-0'] },
        tasks: [{ id: 't-0', goalId: 'g-1', number: 7, title: 'Seven', status: 'running' }],
      }),
      'dispatcher',
      /^waiting for task 7 "Seven"$/,
    ],
    [
      'a running task',
      facts('running', { runs: [{ id: 'r-1', taskId: 't-1', number: 2, state: 'running', phase: 'verify' }] }),
      'executor',
      /^checking \(attempt 2\)$/,
    ],
    ['a done task', facts('done'), 'nobody', /ended/],
    ['a cancelled task', facts('cancelled'), 'nobody', /ended/],
    [
      'a failed task with a retry',
      facts('failed', { task: { retry: { reason: 'overload', at, count: 2, limit: 6 } } }),
      'cycle manager',
      /^next attempt \(retry 2 of 6, last failure: overload\)$/,
    ],
    [
      'a failed task whose retries have no limit',
      facts('failed', { task: { retry: { reason: 'overload', at, count: 2, limit: -1 } } }),
      'cycle manager',
      /^next attempt \(retry 2, last failure: overload\)$/,
    ],
    ['an unjudged run', facts('blocked(awaiting_judge)', { runs: [success] }), 'judge', /waiting for its review/],
    [
      'a merge entry in the queue',
      facts('blocked(awaiting_judge)', { runs: [success], merges: [{ runId: 'r-1', state: 'pending', number: 3 }] }),
      'merge queue',
      /^waiting to be merged$/,
    ],
    [
      'a merge entry in work',
      facts('blocked(awaiting_judge)', { runs: [success], merges: [{ runId: 'r-1', state: 'processing', number: 3 }] }),
      'merge queue',
      /is being merged/,
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
    [
      'a task that a person has taken over, whether or not a question is open',
      facts('blocked(awaiting_human)', { task: { takenOver: { folder: '/w', givenBack: false } } }),
      'person',
      /^taken over by you in \/w: unstuck give-back t-1$/,
    ],
  ])('%s', (_title, given, owner, text) => {
    expect(waitingOn(given)).toMatchObject({ owner, text: expect.stringMatching(text) })
  })

  test('a merge that waits for an outage says for what, and when it goes on', () => {
    const waiting = { runId: 'r-1', startedAt: at, action: { delayMs: 5_000 }, issueDetected: 'the registry is away' }
    const merges = [{ runId: 'r-1', state: 'pending', number: 3 }]
    expect(waitingOn(facts('blocked(awaiting_judge)', { runs: [success], merges, waits: [waiting] }))).toEqual({
      owner: 'merge queue',
      text: 'waiting to be merged: its checks run again after "the registry is away"',
      at: new Date('2026-01-01T00:00:05Z'),
    })
  })

  test('a countdown has its time', () => {
    expect(waitingOn(facts('failed', { task: { retry: { reason: 'x', at, count: 1, limit: 2 } } }))?.at).toBe(at)
  })
})

describe('who is stuck', () => {
  test.each<[string, TaskFacts]>([
    ['running without a run', facts('running')],
    ['running with the run of another', facts('running', { runs: [{ id: 'r', taskId: 't-2', state: 'running' }] })],
    ['failed without a retry', facts('failed')],
    ['waiting for a person who was asked nothing', facts('blocked(awaiting_human)')],
    [
      'waiting for an answer that was given',
      facts('blocked(awaiting_human)', { escalations: [{ state: 'approved', taskId: 't-1', choices: [] }] }),
    ],
  ])('%s', (_title, given) => {
    expect(waitingOn(given)).toBeUndefined()
  })

  test.each<[string, TaskFacts]>([
    ['nothing to judge', facts('blocked(awaiting_judge)')],
    ['a judgement without a merge entry', facts('blocked(awaiting_judge)', { runs: [{ ...success, judgedAt: at }] })],
    [
      'a merge that failed',
      facts('blocked(awaiting_judge)', {
        runs: [{ ...success, judgedAt: at }],
        merges: [{ runId: 'r-1', state: 'failed', number: 1 }],
      }),
    ],
  ])('waiting for a judge with %s is looked at again by the cycle manager', (_title, given) => {
    expect(waitingOn(given)?.owner).toBe('cycle manager')
  })

  test('with the judge switched off, a person is named, and how to switch it on', () => {
    expect(waitingOn({ ...facts('blocked(awaiting_judge)', { runs: [success] }), judgeOff: true })).toEqual({
      ...{ owner: 'person', text: 'its work waits for its review, and the judge is off: unstuck resume --judge' },
    })
    const judgements = [{ runId: success.id, state: 'claimed' }] as unknown as NonNullable<TaskFacts['judgements']>
    expect(waitingOn({ ...facts('blocked(awaiting_judge)', { runs: [success], judgements }), judgeOff: true })).toEqual(
      {
        ...{ owner: 'person', text: 'the judge is off, so no verdict on its work counts: unstuck resume --judge' },
      },
    )
  })

  test('waiting for a link names what is linked, and how', () => {
    const link = { waitsFor: 'the issue', issue: null }
    const retry = { reason: 'issue_linking', at, count: 1, limit: 1 }
    expect(waitingOn(facts('blocked(issue_linking)', { task: { link, retry } }))).toMatchObject({
      ...{ owner: 'planner', at },
      text: expect.stringMatching(/^waiting for the issue: unstuck link t-1 <issue>/),
    })
  })

  test('every place of the flow table is answered without throwing', () => {
    for (const place of taskFlow.states) expect(() => waitingOn(facts(place))).not.toThrow()
  })
})
