/** A commit that was judged and comes before the judge once more, on a real store: it is not judged twice, and nobody is left without a way on. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { JudgeMode } from '../../src/domain/judgement.ts'
import type { Run, Verdict } from '../../src/domain/run.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import { AppError } from '../../src/errors.ts'
import type { Context, RemoteLink } from '../../src/runtime/core/context.ts'
import { followReviewedBranches } from '../../src/runtime/engine/review-heads.ts'
import { judgeRuns } from '../../src/runtime/landing/judge.ts'
import { claimReviews } from '../../src/runtime/landing/review-claim.ts'
import { approveTask, rejectTask } from '../../src/runtime/people/approve.ts'
import { retryTask } from '../../src/runtime/people/commands.ts'
import { sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { judgementsOf } from '../../src/store/judgement.ts'
import { listMerges } from '../../src/store/merge.ts'
import type { Refs } from '../../src/workspace/refs.ts'
import { openRequeueStore, type RequeueStore } from './requeue-store.ts'
import { succeedOn, verified, weakened } from './succeeded-run.ts'

let opened: RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
// The store is shared, because opening one takes seconds: nothing happens to the goals of earlier tests any more.
beforeEach(() => opened.store.db.query(sql`update goal set state = 'paused' where state = 'active'`))

const head = 'a'.repeat(40)

/** `branch`: the newest commit of the reviewed branch. */
const contextWith = (branch = head): Context => {
  const parsed = configSchema.parse({ harness: { x: { command: ['true'] } } })
  const context = opened.contextOf()
  return {
    ...context,
    ...{
      config: () => parsed,
      policy: () => ({ playbooks, disabled: [], retry: parsed.retry }),
      stateDir: '/nonexistent',
      at: () => undefined,
      environment: { PATH: process.env['PATH'] },
    },
    ports: { ...context.ports, git: { ...context.ports?.git, readRef: async () => branch } },
  }
}

/** A run of the task that succeeds over the head of the branch; each makes a commit of its own. */
const succeed = (id: string, verdict: Verdict = verified): Promise<Run> =>
  succeedOn(opened.store.db, id, { verdict, reviewed: head })

const newReview = async (judge: JudgeMode | null, verdict: Verdict = verified) => {
  const { goal, tasks } = await opened.newGoal()
  const [task = ''] = tasks
  const review = JSON.stringify({ branch: 'feature', head })
  await opened.store.db.query(
    sql`update task set judge = ${judge}, role = 'judge', review = ${review}::jsonb where id = ${task}`,
  )
  return { goal, task, run: await succeed(task, verdict) }
}

const questionOf = async (goal: string) =>
  (await listEscalations(opened.store.db, { goalId: goal, pendingOnly: true }))[0]
const statesOf = async (task: string) => (await judgementsOf(opened.store.db, [task])).map(({ state }) => state)
const mergesOf = async (goal: string) => (await listMerges(opened.store.db, { goalId: goal })).map(({ runId }) => runId)

it.each(['human', 'llm'] as const)(
  'a retry does not have a commit judged again, and a person decides (mode %s)',
  async (mode) => {
    const context = contextWith()
    const { goal, task } = await newReview('human')
    await judgeRuns(context)
    await retryTask(context, task)
    await opened.store.db.query(sql`update task set judge = ${mode} where id = ${task}`)
    const second = await succeed(task)
    expect(await claimReviews(context, { engineId: 'e-1', working: [] }, 9)).toEqual([])
    await judgeRuns(context)
    expect(await statesOf(task)).toEqual(['withdrawn'])
    expect(await opened.payloads(task, 'judge.review')).toHaveLength(1)
    const question = await questionOf(goal)
    expect(question?.happened).toContain('its commit was judged before')
    expect(question?.choices.map(({ id }) => id)).toContain('approve')
    await approveTask(context, task, { by: 'ann' })
    expect(await mergesOf(goal)).toEqual([second.id])
    expect(await judgementsOf(opened.store.db, [task])).toMatchObject([
      { state: 'decided', verdict: 'approve', decidedBy: 'ann' },
    ])
  },
)

it('an approval of a milder mode does not count where the mode is stricter now', async () => {
  const context = contextWith()
  const { goal, task, run } = await newReview('auto')
  await judgeRuns(context)
  expect(await mergesOf(goal)).toEqual([run.id])
  await opened.store.db.query(
    sql`update task set state = 'queued', block_reason = null, watched_at = null, judge = 'human', version = version + 1 where id = ${task}`,
  )
  await succeed(task)
  await judgeRuns(context)
  expect(await mergesOf(goal)).toEqual([run.id])
  expect((await questionOf(goal))?.happened).toContain('judged before, in mode auto, and the mode is human now')
})

it('the last answer of a person is the verdict on the commit, also where another one was stored before', async () => {
  const context = contextWith()
  const { goal, task, run } = await newReview('auto')
  await judgeRuns(context)
  expect(await mergesOf(goal)).toEqual([run.id])
  const again = async (verdict: Verdict): Promise<void> => {
    await opened.store.db.query(
      sql`update task set state = 'queued', block_reason = null, watched_at = null, version = version + 1 where id = ${task}`,
    )
    await succeed(task, verdict)
    await judgeRuns(context)
  }
  // The gates approved it before, and hold what it became on a newer goal branch.
  await again({ ...verified, weakened })
  await rejectTask(context, task, { note: 'Keep the test', by: 'ann' })
  expect(await judgementsOf(opened.store.db, [task])).toMatchObject([
    { state: 'decided', verdict: 'request_changes', decidedBy: 'ann', points: [{ what: 'Keep the test' }] },
  ])
  // The approval of the gates counts no more.
  await again(verified)
  expect(await mergesOf(goal)).toEqual([run.id])
  expect((await questionOf(goal))?.happened).toContain('ann rejected it')
  await approveTask(context, task, { by: 'bob' })
  expect(await judgementsOf(opened.store.db, [task])).toMatchObject([{ verdict: 'approve', decidedBy: 'bob' }])
  const reviews = await opened.payloads(task, 'judge.review')
  expect(reviews.map(({ verdict }) => verdict)).toEqual(['approve', 'request_changes', 'approve'])
})

it('an approval counts for the same commit on a newer goal branch, unless a gate holds what it became there', async () => {
  const context = contextWith()
  const { goal, task, run } = await newReview('auto')
  await judgeRuns(context)
  expect(await mergesOf(goal)).toEqual([run.id])
  const again = async (verdict: Verdict): Promise<Run> => {
    await opened.store.db.query(
      sql`update task set state = 'queued', block_reason = null, watched_at = null, version = version + 1 where id = ${task}`,
    )
    const next = await succeed(task, verdict)
    await judgeRuns(context)
    return next
  }
  const second = await again(verified)
  expect(await mergesOf(goal)).toEqual([run.id, second.id])
  await again({ ...verified, weakened })
  expect(await mergesOf(goal)).toEqual([run.id, second.id])
  expect((await questionOf(goal))?.happened).toContain('the work weakened')
  expect(await statesOf(task)).toEqual(['decided'])
})

it('a new commit of the branch withdraws the question about the old one, and its judgement', async () => {
  const { goal, task } = await newReview('human')
  await judgeRuns(contextWith())
  const before = opened.store.wakes()
  await followReviewedBranches(contextWith())
  expect(await questionOf(goal)).toBeDefined()
  expect(opened.store.wakes()).toBe(before)
  await followReviewedBranches(contextWith('c'.repeat(40)))
  // It is dispatched at once.
  expect(opened.store.wakes()).toBe(before + 1)
  expect(await questionOf(goal)).toBeUndefined()
  expect(await statesOf(task)).toEqual(['withdrawn'])
  expect(await opened.store.task(task)).toMatchObject({ status: 'queued', review: { head: 'c'.repeat(40) } })
})

describe('on a repository by URL', () => {
  /** Reviews of these branches, of which each waits for a person. */
  const reviewsOf = async (...branches: string[]): Promise<string[]> => {
    const tasks: string[] = []
    for (const branch of branches) {
      const { goal, task } = await newReview('human')
      const review = JSON.stringify({ branch, head })
      await opened.store.db.query(sql`update goal set repo_mode = 'remote' where id = ${goal}`)
      await opened.store.db.query(sql`update task set review = ${review}::jsonb where id = ${task}`)
      tasks.push(task)
    }
    await judgeRuns(contextWith())
    return tasks
  }
  const remoteWith = (answer: () => Promise<Refs>, more: Partial<RemoteLink> = {}) => {
    const asked: string[][] = []
    const errors: object[] = []
    const fetchRefs = (refs: string[]): Promise<Refs> => {
      asked.push(refs)
      return answer()
    }
    const remote = { waitMs: () => 0, fetchRefs, ...more } as RemoteLink
    const context = contextWith()
    const log = { ...context.log, error: (fields: object) => void errors.push(fields) }
    return { asked, errors, context: { ...context, remote, log } }
  }
  const statuses = async (tasks: string[]): Promise<string[]> =>
    Promise.all(tasks.map(async (task) => (await opened.store.task(task)).status))

  it('one exchange reads the branches of all reviews', async () => {
    const tasks = await reviewsOf('one', 'two', 'two', 'gone')
    const moved = { 'refs/heads/one': head, 'refs/heads/two': 'c'.repeat(40) }
    const { asked, context } = remoteWith(async () => moved)
    await followReviewedBranches(context)
    expect(asked).toEqual([['refs/heads/one', 'refs/heads/two', 'refs/heads/gone']])
    const waits = 'blocked(awaiting_human)'
    expect(await statuses(tasks)).toEqual([waits, 'queued', 'queued', waits])
  })

  it('a remote that is to be left alone is not asked', async () => {
    await reviewsOf('one')
    const { asked, context } = remoteWith(async () => ({}), { waitMs: () => 1 })
    await followReviewedBranches(context)
    expect(asked).toEqual([])
  })

  it('an outage is told by the link alone, and another failure once', async () => {
    await reviewsOf('one', 'two')
    for (const [code, told] of [
      ['REMOTE_UNAVAILABLE', []],
      ['REMOTE_REFUSED', [{ error: 'no' }]],
    ] as const) {
      const { errors, context } = remoteWith(() => Promise.reject(new AppError(code, 'no')))
      await followReviewedBranches(context)
      expect(errors).toEqual(told)
    }
  })
})
