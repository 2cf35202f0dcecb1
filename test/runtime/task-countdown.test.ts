/** The countdown of tasks, as the API sends it: also of those whose reviewer is asked again, and whose limit is lifted. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { reportSchema } from '../../src/api/responses/views.ts'
import { taskSchema } from '../../src/api/responses/entities.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { shownTask, withCountdowns } from '../../src/runtime/people/task-countdown.ts'
import { goalView, reportView, viewOptions } from '../../src/runtime/people/views.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { getJudgement, insertJudgement, moveJudgement } from '../../src/store/judgement.ts'
import { finishRun, getRun, judgeRun, saveRun } from '../../src/store/run.ts'
import { getTask, listTasks, moveTask } from '../../src/store/task.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let runs = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

const retries = 7
const context = (db: Db = opened.store.db) => opened.contextOf(db, {}, { judge: { retries } })
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Finished work, by the id of its run. */
const succeed = async (id: string): Promise<string> => {
  const { db } = opened.store
  const runId = `r-countdown${(runs += 1)}`
  await db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
  await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
  await db.transaction(async (tx) => {
    const run = mustSucceed(
      await saveRun(tx, (await getRun(tx, runId)) as Run, { commit: `${runs}`.padStart(40, '0') }),
    )
    await finishRun(tx, run, 'succeeded', null)
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'run_succeeded', { runId }))
  })
  return runId
}

/** Finished work that a reviewer has. */
const claimedReview = async (id: string): Promise<void> => {
  const runId = await succeed(id)
  await opened.store.db.transaction(async (tx) => {
    const judged = await judgeRun(tx, runId)
    if (judged === undefined) throw new Error('the run is judged already')
    await insertJudgement(tx, judged, {
      id: `j-${runs}`,
      mode: 'llm',
      trigger: 'claimed',
      engineId: 'e-1',
      ttlSeconds: 60,
    })
  })
}

/** Finished work whose reviewer gave no answer so many times. */
const waitsForReviewer = async (id: string, failures: number): Promise<Date> => {
  const { db } = opened.store
  await claimedReview(id)
  const judgement = await getJudgement(db, `j-${runs}`)
  if (judgement === undefined) throw new Error('nothing is judged')
  const retryAt = new Date(Date.now() + 90_000)
  mustSucceed(
    await db.transaction((tx) =>
      moveJudgement(tx, judgement, 'unanswered', { retryAt, failures, reason: 'no answer' }),
    ),
  )
  return retryAt
}

it('a task whose reviewer is asked again has its retry, alike in every view', async () => {
  const { goal, tasks } = await opened.newGoal()
  const [id = ''] = tasks
  const at = await waitsForReviewer(id, 2)
  const retry = { reason: 'awaiting_judge', at: at.toISOString(), count: 2, limit: retries }
  const shown = taskSchema.parse(json(await shownTask(context(), await opened.store.task(id))))
  expect(shown).toMatchObject({ status: 'blocked(awaiting_judge)', retry })
  expect(shown.retry?.inSeconds).toBeGreaterThan(60)
  expect(shown.retry?.inSeconds).toBeLessThanOrEqual(91)

  const { judgeRetries } = viewOptions(context())
  const options = judgeRetries === undefined ? {} : { judgeRetries }
  const [inGoal] = (await goalView(opened.store.db, goal, options))?.tasks ?? []
  expect(json(inGoal)).toMatchObject({ retry, nextStep: { at: retry.at } })
  const report = reportSchema.parse(json(await reportView(opened.store.db, new Date(0), options)))
  expect(report.retrying).toMatchObject([{ task: id, ...retry }])
  expect(report.retrying[0]?.inSeconds).toBeGreaterThan(60)
})

it('work that its reviewer has, or that was done again since, has none', async () => {
  const { tasks } = await opened.newGoal(2)
  const [one = '', two = ''] = tasks
  await claimedReview(one)
  expect(await shownTask(context(), await opened.store.task(one))).toMatchObject({ retry: null })
  await waitsForReviewer(two, 1)
  await opened.store.db.query(sql`update task set state = 'queued', block_reason = null where id = ${two}`)
  expect(await shownTask(context(), await opened.store.task(two))).toMatchObject({ retry: null })
  // An older judgement says nothing about the new work.
  await succeed(two)
  expect(await shownTask(context(), await opened.store.task(two))).toMatchObject({ retry: null })
})

it('a page of tasks takes one query more, however many of them wait', async () => {
  const { goal, tasks } = await opened.newGoal(4)
  for (const id of tasks.slice(0, 3)) await waitsForReviewer(id, 1)
  let queries = 0
  const { db } = opened.store
  const counting: Db = {
    ...db,
    query: (query) => {
      queries += 1
      return db.query(query)
    },
  }
  const shown = await withCountdowns(context(counting), await listTasks(db, goal))
  expect(shown.map(({ retry }) => retry?.reason)).toEqual([
    ...Array.from({ length: 3 }, () => 'awaiting_judge'),
    undefined,
  ])
  // The judgements, and the time of the store.
  expect(queries).toBe(2)
})

it('a cause without a limit of its own has the limit -1', async () => {
  const { tasks } = await opened.newGoal()
  const [id = ''] = tasks
  await opened.fail(id, failure())
  const { db } = opened.store
  const retry = { reason: 'needs_rework_in_place_retry', count: 3, limit: -1 }
  await db.query(sql`update task set retry = ${JSON.stringify(retry)}::jsonb where id = ${id}`)
  expect(taskSchema.parse(json(await shownTask(context(), await opened.store.task(id)))).retry).toMatchObject(retry)
  expect(reportSchema.parse(json(await reportView(db, new Date(0)))).retrying).toMatchObject([
    { task: id, ...retry, inSeconds: 0 },
  ])
})
