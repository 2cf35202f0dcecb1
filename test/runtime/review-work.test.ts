/** What follows from the answer of a reviewer, and from none, on a real store. The answers are kept ones, so no agent is launched. */
import { basename } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Run } from '../../src/domain/run.ts'
import { AppError } from '../../src/errors.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { ReviewAnswer } from '../../src/recovery/review/review-answer.ts'
import type { Context, RemoteLink } from '../../src/runtime/core/context.ts'
import { realPorts, type Ports } from '../../src/runtime/core/ports.ts'
import { systemClock } from '../../src/runtime/core/system-clock.ts'
import { restartGoal } from '../../src/runtime/landing/restart-goal.ts'
import { claimReviews, type ClaimedReview } from '../../src/runtime/landing/review-claim.ts'
import { reviewWork } from '../../src/runtime/landing/review-work.ts'
import { askReviewerAgain } from '../../src/runtime/people/approve.ts'
import { sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { getGoal } from '../../src/store/goal.ts'
import { judgementOfRun, judgementsOf } from '../../src/store/judgement.ts'
import { listMerges } from '../../src/store/merge.ts'
import { openRequeueStore, type RequeueStore } from './requeue-store.ts'
import { succeedOn } from './succeeded-run.ts'

let opened: RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
// The store is shared, because opening one takes seconds: nothing happens to the goals of earlier tests any more.
beforeEach(() => opened.store.db.query(sql`update goal set state = 'paused' where state = 'active'`))

const approval: ReviewAnswer = {
  ...{ verdict: 'approve', risk: 'low', summary: 'It fits.' },
  points: [{ path: 'src/a.ts', severity: 'note', what: 'The name is long', why: '' }],
}

interface Given {
  config?: object
  /** The kept answer to the question with this key; undefined = there is none, and the agent would be launched. */
  kept?: (key: string) => ReviewAnswer | undefined
  git?: Partial<Ports['git']>
  more?: Partial<Context>
}

const contextWith = ({ config = {}, kept = () => approval, git, more }: Given = {}): Context => {
  const parsed = configSchema.parse({ harness: { x: { command: ['true'] } }, ...config })
  const keyOf = (path: string): string | undefined => (path.includes('/answers/') ? basename(path, '.json') : undefined)
  const files: Ports['files'] = {
    ...realPorts.files,
    statSync: (path) => realPorts.files.statSync(keyOf(path) === undefined ? path : process.execPath),
    readFileSync: (path, encoding) => {
      const key = keyOf(path)
      if (key === undefined) return realPorts.files.readFileSync(path, encoding)
      const answer = kept(key)
      if (answer === undefined) throw Object.assign(new Error('there is none'), { code: 'ENOENT' })
      return JSON.stringify({ key, at: new Date().toISOString(), answer })
    },
  }
  return {
    ...opened.contextOf(),
    ...{ config: () => parsed, stateDir: '/nonexistent', shadow: { gitDir: '/nonexistent' } as Context['shadow'] },
    repository: { root: '/nonexistent' } as Context['repository'],
    ...{ policy: () => ({ playbooks, disabled: [], retry: parsed.retry }), at: () => undefined, clock: systemClock },
    environment: { PATH: process.env['PATH'] },
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    ports: {
      ...{ ...realPorts, files },
      git: {
        ...realPorts.git,
        isCommitOf: async () => true,
        readPatch: async () => ({ text: '+a\n', files: [{ path: 'src/a.ts', kind: 'modified' }], leftOut: [] }),
        ...git,
      },
    },
    ...more,
  }
}

/** A run of the task that succeeds. */
const succeed = (id: string): Promise<Run> => succeedOn(opened.store.db, id)

const newWork = async (): Promise<{ goal: string; task: string; run: Run }> => {
  const { goal, tasks } = await opened.newGoal()
  const [task = ''] = tasks
  await opened.store.db.query(sql`update task set judge = 'llm' where id = ${task}`)
  return { goal, task, run: await succeed(task) }
}

const claim = async (context: Context): Promise<ClaimedReview> => {
  const [claimed] = await claimReviews(context, { engineId: 'e-1', working: [] }, 9)
  if (claimed === undefined) throw new Error('nothing was claimed')
  return claimed
}

const statusOf = async (id: string) => (await opened.store.task(id)).status
const questionOf = async (goal: string) =>
  (await listEscalations(opened.store.db, { goalId: goal, pendingOnly: true }))[0]
const judgement = async (run: Run) => judgementOfRun(opened.store.db, run.id)
const merges = (goal: string) => listMerges(opened.store.db, { goalId: goal })

it('lands what the reviewer approves', async () => {
  const { goal, run } = await newWork()
  await reviewWork(contextWith(), await claim(contextWith()))
  expect(await judgement(run)).toMatchObject({ state: 'decided', verdict: 'approve', summary: 'It fits.' })
  expect(await merges(goal)).toMatchObject([{ commit: run.commit }])
})

const stricter: [string, object, string][] = [
  ['the mode of the judge', { mode: 'human' }, 'it lands only if you approve it.'],
  ['a rule for its paths', { rules: [{ paths: ['src/**'], mode: 'human' }] }, 'it lands only if you approve it.'],
  ['a required check', { requiredChecks: ['lint'] }, 'a required check did not pass on it: lint'],
]

it.each(stricter)('holds an approval back when the owner made %s stricter meanwhile', async (_, judge, reason) => {
  const { goal, task, run } = await newWork()
  const claimed = await claim(contextWith())
  await reviewWork(contextWith({ config: { judge } }), claimed)
  expect(await statusOf(task)).toBe('blocked(awaiting_human)')
  expect(await judgement(run)).toMatchObject({ state: 'asked', verdict: null, risk: 'low' })
  const question = await questionOf(goal)
  expect(question?.happened).toContain(reason)
  expect(question?.details).toContain('The reviewer says: It fits.\n- [note] src/a.ts: The name is long')
  expect(await merges(goal)).toEqual([])
})

it.each(stricter)(
  'asks a person instead of a reviewer that waits when the owner made %s stricter',
  async (_, judge, reason) => {
    const { goal, task, run } = await newWork()
    await claim(contextWith())
    await opened.store.db.query(
      sql`update judgement set state = 'waiting', retry_at = unstuck_now() where run_id = ${run.id}`,
    )
    expect(await claimReviews(contextWith({ config: { judge } }), { engineId: 'e-1', working: [] }, 9)).toEqual([])
    expect(await statusOf(task)).toBe('blocked(awaiting_human)')
    expect(await judgement(run)).toMatchObject({ state: 'asked', version: 1 })
    const question = await questionOf(goal)
    expect(question?.happened).toContain(reason)
    expect(question?.choices.map(({ id }) => id)).toEqual(expect.arrayContaining(['approve', 'cancel']))
  },
)

it('asks a really new question each time a person has the reviewer asked again', async () => {
  const { goal, task, run } = await newWork()
  const seen = new Set<string>()
  /** It objects without a point, which is no answer that counts, and was kept all the same. */
  const objection: ReviewAnswer = { verdict: 'request_changes', risk: 'low', points: [], summary: '' }
  const context = contextWith({ config: { judge: { retries: 0 } }, kept: (key) => (seen.add(key), objection) })
  for (const times of [1, 2]) {
    await reviewWork(context, await claim(context))
    expect((await questionOf(goal))?.happened).toContain('it objects without a point on a changed file')
    expect(seen.size).toBe(times)
    await askReviewerAgain(context, task)
  }
  const answered = contextWith({ kept: (key) => (seen.has(key) ? objection : approval) })
  await reviewWork(answered, await claim(answered))
  expect(await judgement(run)).toMatchObject({ state: 'decided', verdict: 'approve' })
})

/** The commit is on another host, and the git remote that has it answers with this. */
const awayContext = (code: 'REMOTE_UNAVAILABLE' | 'REMOTE_REFUSED', config: object = {}): Context =>
  contextWith({
    config,
    git: { isCommitOf: async () => false },
    more: {
      remote: {
        fetchRefs: async () => {
          throw new AppError(code, 'the fetch failed')
        },
        waitMs: () => 30_000,
      } as unknown as RemoteLink,
    },
  })

it('waits for a git remote that does not respond, without a person and without counting it', async () => {
  const { goal, task, run } = await newWork()
  const context = awayContext('REMOTE_UNAVAILABLE', { judge: { retries: 0, retrySeconds: 0 } })
  for (const _ of [1, 2]) {
    await reviewWork(context, await claim(context))
    expect(await judgement(run)).toMatchObject({ state: 'waiting', failures: 0 })
    expect((await judgement(run))?.retryAt?.getTime()).toBeGreaterThan(Date.now() + 10_000)
    await opened.store.db.query(sql`update judgement set retry_at = unstuck_now() where run_id = ${run.id}`)
  }
  expect(await statusOf(task)).toBe('blocked(awaiting_judge)')
  expect(await questionOf(goal)).toBeUndefined()
  expect((await judgement(run))?.reason).toBe('the git remote does not respond: the fetch failed')
})

const unstarted: [string, () => Context, string][] = [
  [
    'its commit is nowhere',
    () => contextWith({ config: { judge: { retries: 0 } }, git: { isCommitOf: async () => false } }),
    'the reviewer (x) could not be asked: the commit',
  ],
  [
    'its program is missing',
    () => contextWith({ config: { judge: { retries: 0 }, harness: { x: { command: ['/nowhere/x'] } } } }),
    'the reviewer (x) could not be asked: ',
  ],
  [
    'the remote refuses',
    () => awayContext('REMOTE_REFUSED', { judge: { retries: 0 } }),
    'could not be reviewed: the review failed: the fetch failed.',
  ],
]

it.each(unstarted)('does not say that a reviewer was asked where %s', async (_, contextOf, reason) => {
  const { goal } = await newWork()
  await reviewWork(contextOf(), await claim(contextOf()))
  const happened = (await questionOf(goal))?.happened
  expect(happened).toContain(reason)
  expect(happened).not.toMatch(/gave no valid answer|was asked/)
})

it('says that the ceiling of the goal is reached, and asks the reviewer when a person lifts it', async () => {
  const { goal, task, run } = await newWork()
  const { db } = opened.store
  await db.query(
    sql`update goal set limits = '{"goalTokens": 1000}', spend = '{"tokens": 1000, "costUsd": 0, "seconds": 0}' where id = ${goal}`,
  )
  const context = contextWith({ kept: () => undefined })
  await reviewWork(context, await claim(context))
  const question = await questionOf(goal)
  expect(question).toMatchObject({
    kind: 'budget',
    happened: `Task 1 "Task 1" was not reviewed, because the goal's ceiling of 1000 tokens is reached (1000 spent).`,
  })
  expect(question?.choices.map(({ id }) => id)).toEqual(['approve', 'ask_again', 'reject', 'cancel'])
  expect(question?.choices[1]?.effect).toContain('The spend of the goal is counted from zero')
  expect((await judgement(run))?.reason).not.toContain('valid answer')
  await askReviewerAgain(context, task)
  expect((await getGoal(db, goal))?.spend.tokens).toBe(0)
  await reviewWork(contextWith(), await claim(context))
  expect(await judgement(run)).toMatchObject({ state: 'decided', verdict: 'approve' })
})

const start = 'd'.repeat(40)

/** The task is started again without a word about its judgement, as an engine of an older version did it. */
const startAgain = async (task: string): Promise<Run> => {
  await opened.store.db.query(
    sql`update task set state = 'queued', block_reason = null, watched_at = null where id = ${task}`,
  )
  return succeed(task)
}

it('withdraws every open judgement of a task that a restart of its goal begins again', async () => {
  const { goal, task } = await newWork()
  const { db } = opened.store
  await claim(contextWith())
  await startAgain(task)
  const claimed = await claim(contextWith())
  const context = contextWith({
    git: { readRef: async () => start, restoreRef: async () => 'done' },
    more: { wake: () => undefined },
  })
  expect(await restartGoal(context, (await getGoal(db, goal))!)).toBe(true)
  expect(await statusOf(task)).toBe('queued')
  expect((await judgementsOf(db, [task])).map(({ state }) => state)).toEqual(['withdrawn', 'withdrawn'])
  // The reviewer that is still at work is too late.
  await succeed(task)
  await reviewWork(contextWith(), claimed)
  expect(await merges(goal)).toEqual([])
  expect(await statusOf(task)).toBe('blocked(awaiting_judge)')
})

it('does not divide a goal again that a restart begins again', async () => {
  const { goal, task } = await newWork()
  const { db } = opened.store
  await db.query(sql`update task set plan = 'run', state = 'done', block_reason = null where id = ${task}`)
  const context = contextWith({
    git: { readRef: async () => start, restoreRef: async () => 'done' },
    more: { wake: () => undefined },
  })
  expect(await restartGoal(context, (await getGoal(db, goal))!)).toBe(true)
  expect(await statusOf(task)).toBe('done')
})

it('stores no verdict about a run after which another one of the task succeeded', async () => {
  const { goal, task, run } = await newWork()
  const claimed = await claim(contextWith())
  await startAgain(task)
  await reviewWork(contextWith(), claimed)
  expect(await merges(goal)).toEqual([])
  expect(await judgement(run)).toMatchObject({ state: 'claimed', verdict: null })
})
