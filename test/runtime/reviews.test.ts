/** Tasks before the judge, on a real store: whatever is lost on the way, the task has a next step, and no verdict is given twice. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { insertJudgement } from '../../src/store/judgement.ts'
import { enqueueMerge } from '../../src/store/merge.ts'
import { judgedRunOf } from '../../src/store/judged-run.ts'
import { finishRun, getRun, judgeRun, saveRun, unjudgedRuns } from '../../src/store/run.ts'
import { getTask, moveTask } from '../../src/store/task.ts'
import { takeOverTask } from '../../src/runtime/people/take-over-task.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let runs = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

const head = 'a'.repeat(40)

/** A task over a branch, or one with work of its own. */
const newTask = async (isReview = true): Promise<string> => {
  const { tasks } = await opened.newGoal()
  const [id = ''] = tasks
  if (isReview)
    await opened.store.db.query(
      sql`update task set role = 'judge', review = ${JSON.stringify({ branch: 'feature', head: null })}::jsonb where id = ${id}`,
    )
  return id
}

/** A run that succeeds over this commit, so that the judge has the task. */
const succeed = async (id: string, reviewed?: string): Promise<Run> => {
  const { db } = opened.store
  const runId = `r-review-${(runs += 1)}`
  const claim = await db.transaction((tx) =>
    claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60, harnesses: ['x'] }),
  )
  expect(claim?.task.id).toBe(id)
  // Only a review has a commit that is not its own.
  const over = (await taskOf(id)).review === null ? null : (reviewed ?? head)
  return db.transaction(async (tx) => {
    const made = { commit: 'c'.repeat(40), reviewed: over }
    const run = mustSucceed(await saveRun(tx, (await getRun(tx, runId)) as Run, made))
    await finishRun(tx, run, 'succeeded', null)
    await tx.query(sql`update task set review = review || ${JSON.stringify({ head: over })}::jsonb where id = ${id}`)
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'run_succeeded', { runId }))
    return run
  })
}

const taskOf = (id: string): Promise<Task> => opened.store.task(id)

/** Time passes for a task that waits for the judge, and for a judge that took its run. */
const later = async (id: string): Promise<void> => {
  const { db } = opened.store
  await db.query(sql`update task set watched_at = watched_at - interval '1 hour' where id = ${id}`)
  await db.query(sql`update run set judged_at = judged_at - interval '1 hour' where task_id = ${id}`)
}

/** Brings a task with a successful run into another status, as an engine of an older version or a person may have left it. */
const put = async (id: string, state: 'failed' | 'needs_rework'): Promise<void> => {
  await opened.store.db.query(
    state === 'failed'
      ? sql`update task set state = 'failed', block_reason = null, watched_at = null, retry = '{"reason":"x","count":1,"limit":1}', retry_at = unstuck_now(), version = version + 1 where id = ${id}`
      : sql`update task set block_reason = 'needs_rework', watched_at = null, retry = '{"reason":"x","count":1,"limit":1}', retry_at = unstuck_now(), version = version + 1 where id = ${id}`,
  )
}

const judgeTakes = (run: Run): Promise<unknown> => opened.store.db.transaction((tx) => judgeRun(tx, run.id))

const objects = async (run: Run): Promise<void> => {
  await judgeTakes(run)
  const verdict = { trigger: 'gates_decided', verdict: 'request_changes', reason: 'it is wrong' } as const
  // One verdict per head commit, and each of these runs has the same.
  const judged = { ...run, commit: run.id }
  await opened.store.db.transaction((tx) =>
    insertJudgement(tx, judged, { id: `j-${(runs += 1)}`, mode: 'auto', ...verdict }),
  )
}

const reasons = async (id: string): Promise<unknown[]> =>
  (await opened.payloads(id, 'task.requeued')).map(({ reason }) => reason)

it('is not taken over by a person, because its work is corrected where it comes from', async () => {
  const id = await newTask()
  await expect(takeOverTask(opened.contextOf(), id)).rejects.toThrow(
    `task ${id} only reviews branch feature; correct the work there. A new commit on feature is reviewed by itself.`,
  )
})

it.each([true, false])('is left with the judge while a run of it can be judged (review: %s)', async (isReview) => {
  const id = await newTask(isReview)
  const run = await succeed(id)
  await opened.pass()
  const before = await taskOf(id)
  await later(id)
  await opened.pass()
  // Looked at, and not written: nobody's view of the task is out of date by it.
  expect(await taskOf(id)).toEqual(before)
  expect((await unjudgedRuns(opened.store.db)).map((each) => each.id)).toEqual([run.id])
  // It is not looked at again before the same time has passed.
  const { db } = opened.store
  const [row] = await db.query<{ fresh: boolean }>(
    sql`select watched_at > unstuck_now() - interval '1 minute' as fresh from task where id = ${id}`,
  )
  expect(row?.fresh).toBe(true)
})

it.each([true, false])(
  'awaiting_judge_run_restored: a judge that died gives the run back (review: %s)',
  async (isReview) => {
    const id = await newTask(isReview)
    const run = await succeed(id)
    await judgeTakes(run)
    await opened.pass()
    expect(await unjudgedRuns(opened.store.db)).toEqual([])
    await later(id)
    await opened.pass()
    expect((await taskOf(id)).status).toBe('blocked(awaiting_judge)')
    expect(await unjudgedRuns(opened.store.db)).toMatchObject([{ id: run.id, judgementVersion: 1 }])
    expect(await reasons(id)).toEqual(['awaiting_judge_run_restored'])
  },
)

it('a run with a verdict, or in the merge queue, is never given back', async () => {
  const { db } = opened.store
  const id = await newTask(false)
  const run = await succeed(id)
  await judgeTakes(run)
  await db.transaction(async (tx) => enqueueMerge(tx, 'm-1', (await getRun(tx, run.id)) as Run))
  await later(id)
  await opened.pass()
  expect(await reasons(id)).toEqual([])
  expect((await judgedRunOf(db, await taskOf(id), 60))?.state).toBe('pending')
  const other = await newTask()
  const refused = await succeed(other)
  await objects(refused)
  await later(other)
  expect((await judgedRunOf(db, await taskOf(other), 60))?.state).toBe('none')
  await opened.pass()
  expect(await unjudgedRuns(db)).toEqual([])
})

it('awaiting_judge_missing_run_retry: a review whose run is gone starts once, then a person is asked', async () => {
  const id = await newTask()
  await objects(await succeed(id))
  await later(id)
  await opened.pass()
  expect((await taskOf(id)).status).toBe('queued')
  await objects(await succeed(id, 'b'.repeat(40)))
  await later(id)
  await opened.pass()
  expect((await taskOf(id)).status).toBe('blocked(awaiting_human)')
  expect(await reasons(id)).toEqual(['awaiting_judge_missing_run_retry'])
  const [question] = await listEscalations(opened.store.db, { pendingOnly: true })
  expect(question).toMatchObject({ taskId: id, tried: ['started it again, because the judge had no work of it once'] })
  expect(question?.happened).toContain('reviews branch feature, but none of its runs can be judged')
})

it('awaiting_judge_timeout_retry: any other task without a run starts again, at most three times', async () => {
  const id = await newTask(false)
  for (let count = 1; count <= 3; count += 1) {
    await objects(await succeed(id))
    await later(id)
    await opened.pass()
    expect((await opened.payloads(id, 'task.requeued')).at(-1)).toMatchObject({
      ...{ reason: 'awaiting_judge_timeout_retry', count, limit: 3 },
    })
  }
  await objects(await succeed(id))
  await later(id)
  await opened.pass()
  expect((await taskOf(id)).status).toBe('blocked(awaiting_human)')
})

it.each([
  ['failed', 'pr_review_failed_to_awaiting_judge'],
  ['needs_rework', 'pr_review_needs_rework_to_awaiting_judge'],
] as const)('%s: %s', async (state, reason) => {
  const id = await newTask()
  const run = await succeed(id)
  await put(id, state)
  await opened.pass()
  expect(await taskOf(id)).toMatchObject({ status: 'blocked(awaiting_judge)', retry: null })
  expect(await reasons(id)).toEqual([reason])
  expect((await unjudgedRuns(opened.store.db)).map((each) => each.id)).toEqual([run.id])
})

it.each([
  ['failed', 'pr_review_failed_run_restored'],
  ['needs_rework', 'pr_review_needs_rework_run_restored'],
] as const)('%s: %s', async (state, reason) => {
  const id = await newTask()
  const run = await succeed(id)
  await judgeTakes(run)
  await put(id, state)
  await later(id)
  await opened.pass()
  expect((await taskOf(id)).status).toBe('blocked(awaiting_judge)')
  expect(await reasons(id)).toEqual([reason])
  expect((await unjudgedRuns(opened.store.db)).map((each) => each.id)).toEqual([run.id])
})

it('pr_review_needs_rework_missing_run_retry: a review that did not pass starts once more, then a person is asked', async () => {
  const id = await newTask()
  await opened.fail(id, failure())
  await opened.pass()
  expect((await opened.payloads(id, 'task.requeued')).at(-1)).toMatchObject({
    ...{ reason: 'pr_review_needs_rework_missing_run_retry', count: 1, limit: 1 },
  })
  await opened.fail(id, failure())
  await opened.pass()
  expect((await taskOf(id)).status).toBe('blocked(awaiting_human)')
  // No agent may change the work of somebody else.
  expect(await opened.causes(id)).toEqual(['judge_missing'])
})

it('a failed review without a run that can be judged is retried as any other failed task', async () => {
  const id = await newTask()
  await opened.fail(id, failure({ source: 'execution', failureCode: 'model_or_unknown_failure' }), 'run_failed')
  await opened.pass()
  expect(await reasons(id)).toEqual(['cooldown_retry'])
})

it('a run over an older commit of the branch is not judged any more', async () => {
  const { db } = opened.store
  const id = await newTask()
  await succeed(id)
  await db.query(sql`update task set review = '{"branch":"feature","head":"new"}' where id = ${id}`)
  expect(await unjudgedRuns(db)).toEqual([])
  expect(await judgedRunOf(db, await taskOf(id), 60)).toBeUndefined()
})
