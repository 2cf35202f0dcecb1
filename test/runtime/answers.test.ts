import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cancelGoal,
  cancelTask,
  pauseGoal,
  resumeGoals,
  retryGoal,
  retryTask,
} from '../../src/runtime/people/commands.ts'
import { runCycle } from '../../src/runtime/engine/cycle.ts'
import { cancelChoice, retryChoice } from '../../src/runtime/core/choices.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { claimTask } from '../../src/store/claim.ts'
import { listEscalations, openEscalation } from '../../src/store/escalation.ts'
import { getGoal, moveGoal } from '../../src/store/goal.ts'
import type { Task } from '../../src/domain/task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { mustSucceed, sql, type Queryable } from '../../src/store/db.ts'
import { insertRecovery, listRecoveries } from '../../src/store/recovery.ts'
import { finishRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { recoveryOf } from '../store/scene.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())

const nothingRuns = async (): Promise<void> => undefined
const stateOf = async (id: string) => (await getGoal(store.db, id))?.state
const pending = async (goalId: string) => listEscalations(store.db, { goalId, pendingOnly: true })
const answersOf = async (goalId: string) =>
  (await listEscalations(store.db, { goalId, pendingOnly: false })).map(({ answer }) => answer)

const refused = (work: Promise<unknown>, code: string, text: RegExp): Promise<void> =>
  expect(work).rejects.toMatchObject({ code, message: expect.stringMatching(text) })

describe('retry', () => {
  test('answers the question, queues the task again and lets the waiting goal go on', async () => {
    const { goal, tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await store.ask(id)
    await store.move(goal.id, 'only_questions_left')
    const wakes = store.wakes()
    const task = await retryTask(store.context, id)
    expect([task.status, await stateOf(goal.id), await pending(goal.id)]).toEqual(['queued', 'active', []])
    expect(await answersOf(goal.id)).toEqual(['retry'])
    expect(task.countFrom.getTime()).toBeGreaterThan(tasks[0]?.countFrom.getTime() ?? 0)
    expect(store.wakes()).toBe(wakes + 1)
  })

  test('a second answer is refused and changes nothing', async () => {
    const { goal, tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await store.ask(id)
    await retryTask(store.context, id)
    await refused(retryTask(store.context, id), 'ILLEGAL', /queued cannot be retried/)
    // A hint for its next attempt needs no retry.
    expect(await retryTask(store.context, id, { hint: 'look at a.js', by: 'ada' })).toMatchObject({
      ...{ status: 'queued', hint: 'look at a.js' },
    })
    expect(await answersOf(goal.id)).toEqual(['retry'])
  })

  test('does not wake a paused goal', async () => {
    const { goal, tasks } = await store.goal()
    await store.ask(tasks[0]?.id ?? '')
    await store.move(goal.id, 'paused')
    await retryTask(store.context, tasks[0]?.id ?? '')
    expect(await stateOf(goal.id)).toBe('paused')
  })

  test.each(['cancelled', 'paused'] as const)(
    'a goal whose runs spend at the same moment is %s all the same',
    async (to) => {
      const { goal } = await store.goal()
      const { db } = store.context
      const spending = Object.assign(Object.create(db), {
        transaction: async <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
          await db.query(sql`update goal set version = version + 1 where id = ${goal.id}`)
          return db.transaction(work)
        },
      }) as Context['db']
      const context = { ...store.context, db: spending }
      await (to === 'paused' ? pauseGoal(context, goal.id) : cancelGoal(context, goal.id, nothingRuns))
      expect(await stateOf(goal.id)).toBe(to)
    },
  )

  test.each([
    ['asked about', (id: string) => store.ask(id)],
    ['cancelled', (id: string) => cancelTask(store.context, id, nothingRuns)],
  ])('of a task that was %s is not lost in the pass that has its goal wait or end', async (_, block) => {
    const { goal, tasks } = await store.goal()
    const [{ id } = { id: '' }] = tasks
    await block(id)
    const { db } = store.context
    let isRetried = false
    const late = Object.assign(Object.create(db), {
      // The pass has read the task, and is about to move the goal.
      transaction: async <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
        if (!isRetried) await retryTask(store.context, id)
        isRetried = true
        return db.transaction(work)
      },
    }) as Context['db']
    const ports = { git: { readRef: async () => null, readRefs: async () => ({}) } }
    const stopping = new AbortController().signal
    const context = { ...store.context, db: late, ports, stopping } as unknown as Context
    await runCycle(context, new Map(), { limits: false, tasks: false })
    expect(isRetried).toBe(true)
    expect(await stateOf(goal.id)).toBe('active')
    expect((await store.task(id)).status).toBe('queued')
  })

  test('brings a cancelled task of a failed goal back, and not one of a cancelled goal', async () => {
    const { goal, tasks } = await store.goal(2)
    for (const { id } of tasks) await cancelTask(store.context, id, nothingRuns)
    await store.move(goal.id, 'work_cancelled')
    await retryTask(store.context, tasks[0]?.id ?? '')
    expect(await stateOf(goal.id)).toBe('active')
    await cancelGoal(store.context, goal.id, nothingRuns)
    await refused(retryTask(store.context, tasks[0]?.id ?? ''), 'ILLEGAL', /is cancelled; start a new one/)
  })

  test('of the last cancelled task answers the question what becomes of them', async () => {
    const { goal, tasks } = await store.goal(3)
    const [, second, third] = tasks.map(({ id }) => id)
    for (const id of [second, third]) await cancelTask(store.context, id ?? '', nothingRuns)
    await store.db.transaction((tx) =>
      openEscalation(tx, {
        ...{ id: `q-of-${goal.id}`, goalId: goal.id, taskId: null, runId: null, kind: 'exhausted' },
        ...{
          question: '2 task(s) were cancelled. Retry them?',
          details: '',
          choices: [retryChoice(goal.id), cancelChoice(goal.id)],
        },
        ...{ happened: '2 task(s) were cancelled.', tried: [] },
      }),
    )
    await retryTask(store.context, second ?? '')
    expect(await pending(goal.id)).toHaveLength(1)
    await retryTask(store.context, third ?? '')
    expect([await pending(goal.id), await answersOf(goal.id)]).toEqual([[], ['retry']])
  })

  test('of a goal takes every task that waits or was cancelled, and refuses where there is none', async () => {
    const { goal, tasks } = await store.goal(3)
    await store.ask(tasks[0]?.id ?? '')
    await cancelTask(store.context, tasks[1]?.id ?? '', nothingRuns)
    await retryGoal(store.context, goal.id)
    expect(await Promise.all(tasks.map(async ({ id }) => (await store.task(id)).status))).toEqual([
      'queued',
      'queued',
      'queued',
    ])
    await refused(retryGoal(store.context, goal.id), 'ILLEGAL', /has no task to retry/)
  })
})

describe('cancel', () => {
  test('answers the question with it, and a second one is refused', async () => {
    const { goal, tasks } = await store.goal(2)
    const id = tasks[0]?.id ?? ''
    await store.ask(id)
    await cancelTask(store.context, id, nothingRuns)
    expect([(await store.task(id)).status, await answersOf(goal.id)]).toEqual(['cancelled', ['cancel']])
    await refused(cancelTask(store.context, id, nothingRuns), 'ILLEGAL', /cancelled already/)
  })

  test('is refused while the run goes on: it may have begun just now, or its engine is stopping', async () => {
    const other = await openTestStore()
    const { tasks } = await other.goal()
    const id = tasks[0]?.id ?? ''
    await other.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId: 'r-under', ttlSeconds: 60 }))
    await refused(cancelTask(other.context, id, nothingRuns), 'STALE', /run r-under of task 1 has not ended yet/)
    expect((await other.task(id)).status).toBe('running')
    await other.close()
  })

  test('of a running task waits for its executor', async () => {
    const { tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await store.db.query({ text: "update task set state = 'running' where id = $1", values: [id] })
    const asked: string[] = []
    await cancelTask(store.context, id, async (taskId) => {
      asked.push(taskId)
      await moveTask(store.db, await store.task(id), 'cancelled')
    })
    expect([asked, (await store.task(id)).status]).toEqual([[id], 'cancelled'])
  })

  test.each<[string, (context: Store['context'], task: Task) => Promise<unknown>]>([
    ['a task', (context, { id }) => cancelTask(context, id, nothingRuns)],
    ['its goal', (context, { goalId }) => cancelGoal(context, goalId, nothingRuns)],
  ])('of %s closes the recovery that waited for a retry', async (_what, cancel) => {
    const other = await openTestStore()
    const { goal, tasks } = await other.goal()
    const id = tasks[0]?.id ?? ''
    await other.db.transaction(async (tx) => {
      const claim = await claimTask(tx, { agentId: 'agent-1', runId: 'r-waits', ttlSeconds: 60 })
      await insertRecovery(tx, recoveryOf(claim!.run))
      mustSucceed(await finishRun(tx, claim!.run, 'failed', null))
      const retry = { reason: 'overload', at: new Date(0), count: 1, limit: 5 }
      mustSucceed(await moveTask(tx, claim!.task, 'run_failed', { retry }))
    })
    await cancel(other.context, await other.task(id))
    expect((await listRecoveries(other.db, goal.id)).map(({ status, detail }) => [status, detail])).toEqual([
      ['failed', 'the task was cancelled by a person'],
    ])
    await other.close()
  })

  test('of a goal ends all of it', async () => {
    const { goal, tasks } = await store.goal(2)
    await store.ask(tasks[0]?.id ?? '')
    await cancelGoal(store.context, goal.id, nothingRuns)
    expect([await stateOf(goal.id), await pending(goal.id)]).toEqual(['cancelled', []])
    expect(await Promise.all(tasks.map(async ({ id }) => (await store.task(id)).status))).toEqual([
      'cancelled',
      'cancelled',
    ])
    await refused(cancelGoal(store.context, goal.id, nothingRuns), 'ILLEGAL', /it has ended/)
  })
})

describe('pause and resume', () => {
  test('go there and back once', async () => {
    const { goal } = await store.goal()
    expect((await pauseGoal(store.context, goal.id)).state).toBe('paused')
    await refused(pauseGoal(store.context, goal.id), 'ILLEGAL', /paused cannot be paused/)
    expect((await resumeGoals(store.context, goal.id)).map(({ state }) => state)).toEqual(['active'])
    await refused(resumeGoals(store.context, goal.id), 'ILLEGAL', /active cannot be resumed/)
  })

  test('resume answers blockers and leaves other questions open', async () => {
    const { goal, tasks } = await store.goal(2)
    await store.ask(tasks[0]?.id ?? '', 'blocker')
    await store.ask(tasks[1]?.id ?? '', 'budget')
    await store.move(goal.id, 'paused')
    await resumeGoals(store.context, goal.id)
    expect((await pending(goal.id)).map(({ kind }) => kind)).toEqual(['budget'])
    expect((await store.task(tasks[0]?.id ?? '')).status).toBe('queued')
  })

  test('a goal that waits for answers is not resumed but told which command answers', async () => {
    const { goal, tasks } = await store.goal()
    await store.ask(tasks[0]?.id ?? '')
    await store.move(goal.id, 'only_questions_left')
    await refused(resumeGoals(store.context, goal.id), 'ILLEGAL', /waits for answers.*unstuck retry/)
  })

  test('resume without a name takes every paused goal, and refuses where there is none', async () => {
    await resumeGoals(store.context, null).catch(() => undefined) // what other tests left paused
    await refused(resumeGoals(store.context, null), 'ILLEGAL', /no goal is paused/)
    const [one, other] = [await store.goal(), await store.goal()]
    await pauseGoal(store.context, one.goal.id)
    await pauseGoal(store.context, other.goal.id)
    expect((await resumeGoals(store.context, null)).map(({ id }) => id).sort()).toEqual(
      [one.goal.id, other.goal.id].sort(),
    )
  })
})

describe('an answer to a question', () => {
  const answer = (id: string, choice: string, input?: string) =>
    answerQuestion(store.context, { id, choice, ...(input === undefined ? {} : { input }), by: 'ada' }, nothingRuns)
  const asked = async (kind?: 'blocker') => {
    const { goal, tasks } = await store.goal()
    await store.ask(tasks[0]?.id ?? '', kind)
    const [question] = await pending(goal.id)
    return { goal, task: tasks[0]?.id ?? '', question: question?.id ?? '' }
  }

  test('carries the choice out once; a second one is told that it is decided', async () => {
    const { task, question } = await asked()
    expect(await answer(question, 'retry')).toMatchObject({ state: 'approved', answer: 'retry' })
    expect((await store.task(task)).status).toBe('queued')
    await refused(answer(question, 'cancel'), 'STALE', /already decided: retry/)
  })

  test('of two at once, one wins', async () => {
    const { question } = await asked()
    const both = await Promise.allSettled([answer(question, 'retry'), answer(question, 'cancel')])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('names what is wrong with it, and changes nothing', async () => {
    const { task, question } = await asked()
    await refused(answer('q-no', 'retry'), 'NOT_FOUND', /no question q-no/)
    await refused(answer(question, 'widen'), 'INPUT_INVALID', /^choice: .*does not offer "widen".*retry, cancel/)
    await refused(answer(question, 'retry', 'text'), 'INPUT_INVALID', /^input: .*takes no text/)
    expect((await store.task(task)).status).toBe('blocked(awaiting_human)')
  })

  test('lets a goal continue that paused for this question, and not one that a person paused', async () => {
    const [blocked, paused] = [await asked('blocker'), await asked()]
    const goal = await getGoal(store.db, blocked.goal.id)
    if (goal === undefined) throw new Error('no goal')
    mustSucceed(await moveGoal(store.db, goal, 'blocked', '?'))
    await pauseGoal(store.context, paused.goal.id)
    await answer(blocked.question, 'retry')
    await answer(paused.question, 'retry')
    expect([await stateOf(blocked.goal.id), await stateOf(paused.goal.id)]).toEqual(['active', 'paused'])
  })
})

test.each([
  ['retryTask', () => retryTask(store.context, 't-no')],
  ['cancelTask', () => cancelTask(store.context, 't-no', nothingRuns)],
  ['retryGoal', () => retryGoal(store.context, 'g-no')],
  ['cancelGoal', () => cancelGoal(store.context, 'g-no', nothingRuns)],
  ['pauseGoal', () => pauseGoal(store.context, 'g-no')],
  ['resumeGoals', () => resumeGoals(store.context, 'g-no')],
])('%s of an unknown id is NOT_FOUND with the list to look at', async (_name, work) => {
  await refused(work(), 'NOT_FOUND', /-no; "unstuck (status|tasks)"/)
})
