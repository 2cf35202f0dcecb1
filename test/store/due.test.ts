/** What a pass of the leader asks first: each kind of due work alone, and nothing before its time. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { limitAccount } from '../../src/store/account.ts'
import { quietTime } from '../../src/store/anomaly.ts'
import { claimTask, type Claim } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db, type Queryable, type Sql } from '../../src/store/db.ts'
import { readDue, type DueWork } from '../../src/store/due.ts'
import { registerEngine } from '../../src/store/engine.ts'
import { stableUpTo, storeNow } from '../../src/store/event.ts'
import { deleteSchedule, insertSchedule } from '../../src/store/schedule.ts'
import { getGoal, moveGoal } from '../../src/store/goal.ts'
import { forgetLeftovers, setLeftovers } from '../../src/store/goal-leftover.ts'
import { insertJudgement, moveJudgement } from '../../src/store/judgement.ts'
import { machineNews } from '../../src/store/machine-failure.ts'
import { finishRun, judgeRun, saveRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { activeGoal, empty, end, engineOf, task } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

/** In thousands of seconds, so that a busy machine changes nothing. */
const after = { renewSeconds: 1_000, watchSeconds: 6_000, cancelSeconds: 9_000, engineId: 'e-1' }

let db: Db
let claim: Claim
let runs = 0
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db?.close())
beforeEach(async () => {
  await empty(db)
  await activeGoal(db, 'g', [{}])
  // Its own heartbeat is never due here.
  await db.transaction((tx) => registerEngine(tx, engineOf('e-1', { ttlSeconds: 1_000_000 }), ['a1']))
  const taken = await db.transaction((tx) =>
    claimTask(tx, { agentId: 'a1', runId: `due-${(runs += 1)}`, ttlSeconds: 30_000 }),
  )
  if (taken === undefined) throw new Error('nothing to claim')
  claim = taken
})

/** The names of what is due so many seconds from now. */
const dueIn = (seconds: number, asked: Partial<typeof after> = {}): Promise<string[]> =>
  db.transaction(async (tx) => {
    await tx.query(
      sql`select set_config('unstuck.now', (unstuck_now() + make_interval(secs => ${seconds}::float8))::text, true)`,
    )
    const due: DueWork = await readDue(tx, { ...after, ...asked })
    return Object.entries(due).flatMap(([name, isDue]) => (isDue === true ? [name] : []))
  })

const in10000Seconds = (): Date => new Date(Date.now() + 10_000_000)

/** The run has succeeded, and a judge claimed its work. */
const review = async (tx: Queryable) => {
  const run = await judgeRun(tx, claim.run.id)
  if (run === undefined) throw new Error('judged before')
  const made = { id: `j-${run.id}`, mode: 'llm', trigger: 'claimed', engineId: 'e-2', ttlSeconds: 2_000 } as const
  const judgement = await insertJudgement(tx, { ...run, commit: 'c'.repeat(40) }, made)
  if (judgement === undefined) throw new Error('no judgement')
  return judgement
}

it('nothing while a run has its lease', async () => {
  expect(await dueIn(0)).toEqual([])
  expect(await dueIn(29_000)).toEqual([])
})

it('owners: a lease that has expired', async () => {
  expect(await dueIn(31_000)).toEqual(['owners'])
})

it('owners: an engine without a heartbeat', async () => {
  await db.query(sql`update engine set ttl_seconds = 3000`)
  expect(await dueIn(2_000)).toEqual([])
  expect(await dueIn(4_000)).toEqual(['owners'])
})

it('owners: a run without a lease, and a lease without a run, each for longer than a renewal takes', async () => {
  await db.query(sql`delete from lease`)
  expect(await dueIn(500)).toEqual([])
  expect(await dueIn(1_500)).toEqual(['owners'])
  await db.query(sql`update run set state = 'failed'`)
  expect(await dueIn(500)).toEqual([])
  expect(await dueIn(1_500)).toEqual(['owners'])
})

it('owners: a lease whose run has ended, at once', async () => {
  await db.query(sql`update run set state = 'failed'`)
  expect(await dueIn(0)).toEqual(['owners'])
})

it('tasks: one whose wait for a retry is over', async () => {
  const retry = { reason: 'provider_overloaded', at: in10000Seconds(), count: 1, limit: 5 }
  await db.transaction(async (tx) => {
    mustSucceed(await finishRun(tx, claim.run, 'failed', null))
    mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'run_failed', { retry }))
  })
  expect(await dueIn(9_000)).toEqual([])
  expect(await dueIn(11_000)).toEqual(['tasks'])
})

it('tasks: one that waits for the judge and was not looked at for a while', async () => {
  await end(db, claim.run, 'succeeded', 'run_succeeded')
  expect(await dueIn(5_000)).toEqual([])
  expect(await dueIn(7_000)).toEqual(['tasks'])
})

it('judgements: a claim that has expired, one of this engine at once, and a wait that is over', async () => {
  const looked = { watchSeconds: 1_000_000 }
  await end(db, claim.run, 'succeeded', 'run_succeeded')
  const judgement = await db.transaction(review)
  expect(await dueIn(1_000, looked)).toEqual([])
  expect(await dueIn(3_000, looked)).toEqual(['judgements'])
  expect(await dueIn(0, { ...looked, engineId: 'e-2' })).toEqual(['judgements'])
  await db.transaction(async (tx) =>
    mustSucceed(await moveJudgement(tx, judgement, 'unanswered', { failures: 1, retryAt: in10000Seconds() })),
  )
  expect(await dueIn(9_000, { ...looked, engineId: 'e-2' })).toEqual([])
  expect(await dueIn(11_000, looked)).toEqual(['judgements'])
})

it('limits: that of an account which has reset', async () => {
  const limit = { account: 'claude:1', harnesses: ['claude'], evidence: 'limit', taskId: 'g-t1', runId: claim.run.id }
  await db.transaction((tx) => limitAccount(tx, { ...limit, until: in10000Seconds() }, 'g'))
  expect(await dueIn(9_000)).toEqual([])
  expect(await dueIn(11_000)).toEqual(['limits'])
})

it('cancels: a goal that was cancelled for a while, with a task that was not', async () => {
  await end(db, claim.run, 'interrupted', 'interrupted')
  await db.transaction(async (tx) => {
    const goal = await getGoal(tx, 'g')
    if (goal !== undefined) mustSucceed(await moveGoal(tx, goal, 'cancelled', 'cancelled by a person'))
  })
  await forgetLeftovers(db, 'g')
  expect(await dueIn(8_000)).toEqual([])
  expect(await dueIn(10_000)).toEqual(['cancels'])
  await db.transaction(async (tx) => mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'cancelled')))
  expect(await dueIn(10_000)).toEqual([])
})

it('leftovers: those of a goal that ended, at once and again when their time has come', async () => {
  await end(db, claim.run, 'interrupted', 'interrupted')
  await db.transaction(async (tx) => {
    const goal = await getGoal(tx, 'g')
    if (goal !== undefined) mustSucceed(await moveGoal(tx, goal, 'cancelled', 'cancelled by a person'))
  })
  expect(await dueIn(0)).toEqual(['leftovers'])
  await setLeftovers(db, 'g', 5_000)
  expect(await dueIn(4_000)).toEqual([])
  expect(await dueIn(6_000)).toEqual(['leftovers'])
  await forgetLeftovers(db, 'g')
  expect(await dueIn(6_000)).toEqual([])
})

it('schedules: one whose time has come', async () => {
  await end(db, claim.run, 'interrupted', 'interrupted')
  const nextAt = new Date((await storeNow(db)).getTime() + 5_000_000)
  const schedule = { id: 's-1', cron: '0 2 * * *', timeZone: 'UTC', title: 'Nightly', file: null, request: {} }
  const none = { trigger: null, branch: null, seen: null }
  await insertSchedule(db, { ...schedule, ...none, nextAt, addedBy: 'me' })
  expect(await dueIn(4_000)).toEqual([])
  expect(await dueIn(6_000)).toEqual(['schedules'])
  await deleteSchedule(db, 's-1', 'me')
  expect(await dueIn(6_000)).toEqual([])
})

it('finds due tasks by index, also where there is none and the store has no statistics', async () => {
  await activeGoal(
    db,
    'large',
    Array.from({ length: 1_000 }, () => ({})),
  )
  let asked: Sql | undefined
  const seen: Queryable = {
    query: (statement) => {
      asked = statement
      return db.query(statement)
    },
  }
  await readDue(seen, after)
  const rows = await db.query<Record<string, string>>({
    text: `explain (costs off) ${asked?.text}`,
    values: asked?.values ?? [],
  })
  const plan = rows.map((row) => Object.values(row)[0]).join('\n')
  expect(plan).toMatch(/Index Scan (on|using) task_due/)
  expect(plan).toMatch(/Index Scan (on|using) task_watched/)
})

it('the time without progress: from the work on, and explained by a run that is at work', async () => {
  const quietIn = (seconds: number) =>
    db.transaction(async (tx) => {
      await tx.query(
        sql`select set_config('unstuck.now', (unstuck_now() + make_interval(secs => ${seconds}::float8))::text, true)`,
      )
      const { quietSeconds, unexplainedSeconds } = await quietTime(tx, { ofInterest: 3600, verificationSeconds: 0 })
      return [quietSeconds, unexplainedSeconds].map((found) => Math.round(found / 1000))
    })
  await db.query(sql`update leader set since = unstuck_now() - interval '1 day'`)
  await db.query(sql`update run set started_at = (select created_at from task)`)
  expect(await quietIn(20_000)).toEqual([20, 0])
  // Its lease has ended.
  expect(await quietIn(40_000)).toEqual([40, 40])
  await end(db, claim.run, 'succeeded', 'run_succeeded')
  expect(await quietIn(40_000)).toEqual([40, 40])
  await db.query(sql`update run set ended_at = ended_at + interval '10000 seconds'`)
  expect(await quietIn(40_000)).toEqual([30, 30])
})

it('what is known about failures: changed by a run that ended, and by no other event', async () => {
  const before = await stableUpTo(db)
  const news = async () => machineNews(db, { after: before, upTo: await stableUpTo(db, before) })
  expect(await news()).toBe(false)
  await db.transaction((tx) => saveRun(tx, claim.run, { phase: 'launch' }))
  expect(await news()).toBe(false)
  await end(db, claim.run, 'failed', 'run_failed')
  expect(await news()).toBe(true)
})
