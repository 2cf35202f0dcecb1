/** Waits that are stored as times, after the clock of the store was set while they waited. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { createGracePeriod } from '../../src/runtime/engine/grace-period.ts'
import { limitAccount } from '../../src/store/account.ts'
import { moveWaits, secondsBehind } from '../../src/store/clock-change.ts'
import { firstRow, mustSucceed, sql, type Db, type Sql } from '../../src/store/db.ts'
import { registerEngine } from '../../src/store/engine.ts'
import { addJobs, listJobs, recordJob } from '../../src/store/job.ts'
import { finishRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { clockOf, openTestDb } from '../support/test-db.ts'
import { activeGoal, claimed, empty, engineOf, task } from './scene.ts'

const start = Date.UTC(2026, 10, 29, 12)
const at = (seconds: number): Date => new Date(start + seconds * 1000)
const day = 86_400

let db: Db
let setClock: (now: Date) => Promise<void>
/** The task that failed and is retried in ten minutes. */
let failed: string
beforeAll(async () => {
  db = await openTestDb()
  setClock = await clockOf(db)
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  await setClock(at(0))
  await activeGoal(db, 'g', [{}, {}])
  await db.transaction((tx) => registerEngine(tx, engineOf('e-1', { ttlSeconds: 60 }), ['a1', 'a2']))
  const first = await claimed(db, 'a1')
  failed = first.task.id
  const retry = { reason: 'failed' as const, count: 1, limit: 5, at: at(600) }
  await db.transaction(async (tx) => {
    mustSucceed(await finishRun(tx, first.run, 'failed', null))
    mustSucceed(await moveTask(tx, await task(tx, failed), 'run_failed', { retry }))
    const run = { taskId: failed, runId: first.run.id }
    const limit = { account: 'claude:1', harnesses: ['claude'], evidence: 'limit reached', ...run }
    await limitAccount(tx, { ...limit, until: at(3_600) }, 'g')
  })
  await addJobs(db, ['clean'])
  await recordJob(db, 'clean', { engineId: 'e-1', seconds: 300 })
  // It is at work: its lease ends in a minute.
  await claimed(db, 'a2')
})

/** Seconds from `from` until each wait ends. */
const left = async (from: number) => {
  const until = (time: Date | undefined): number => Math.round(((time?.getTime() ?? NaN) - at(from).getTime()) / 1000)
  const limit = await firstRow<{ until: Date }>(db, sql`select until from account_limit`)
  const [job] = await listJobs(db)
  const lease = await firstRow<{ expires_at: Date }>(db, sql`select expires_at from lease`)
  return {
    retry: until((await task(db, failed)).retry?.at),
    limit: until(limit?.until),
    job: until(job?.dueAt),
    lease: until(lease?.expires_at),
  }
}

it('keep what was left of them when the clock was set back by a day', async () => {
  const before = await left(0)
  expect(before).toMatchObject({ retry: 600, limit: 3_600, job: 300 })
  await setClock(at(-day))
  expect(await secondsBehind(db)).toBe(day)
  await moveWaits(db, -day)
  expect(await left(-day)).toEqual(before)
  // What was seen last lies no longer in the future, so that the next leader does not move them again.
  expect(await secondsBehind(db)).toBe(0)
})

it('are still waited for when the clock was set ahead, but for the times of a provider', async () => {
  const before = await left(0)
  await setClock(at(day))
  await moveWaits(db, day)
  expect(await left(day)).toEqual({ ...before, limit: 3_600 - day })
})

it.each([day, -day])('that had ended stay ended when the clock is set by %s s', async (seconds) => {
  await setClock(at(1_000 + seconds))
  await moveWaits(db, seconds)
  const { retry, job } = await left(1_000 + seconds)
  expect(Math.max(retry, job)).toBeLessThan(0)
})

it('are all moved: each column of the store that holds the end of a wait', async () => {
  const columns = await db.query<{ name: string }>(sql`select table_name || '.' || column_name as name
    from information_schema.columns where table_schema = current_schema() and data_type = 'timestamp with time zone'
      and column_name ~ '^(until|due_at|next_at|retry_at|expires_at|not_before)$' order by name`)
  const moved: string[] = []
  const record = ({ text }: Sql): Promise<[]> => {
    const [, table = '', column = ''] = /^update (\w+) set (\w+) =/.exec(text) ?? []
    moved.push(`${table}.${column}`)
    return Promise.resolve([])
  }
  await moveWaits({ query: record }, 1)
  expect(moved.toSorted()).toEqual(columns.map(({ name }) => name))
  expect(moved.length).toBeGreaterThan(5)
})

it('are moved by the next pass of the leader where one failed, once, and by no engine that does not lead', async () => {
  const before = await left(0)
  let elapsed = 0
  const clock = { elapsed: () => elapsed, sinceBoot: () => elapsed, now: () => at(elapsed / 1000) }
  const context = {
    db,
    clock,
    config: () => configSchema.parse({}),
    log: { warn: () => undefined },
  } as unknown as Context
  const [leader, other] = [createGracePeriod(context, 'e-1'), createGracePeriod(context, 'e-2')]
  for (const each of [leader, other]) await each.compareClocks()
  elapsed = 2_000
  await setClock(at(2 - day))
  for (const each of [leader, other]) await each.compareClocks()
  await other.followClock(undefined)
  await other.followClock(context)
  const lost = { ...context, db: { ...db, transaction: () => Promise.reject(new Error('the store is gone')) } }
  await expect(leader.followClock(lost)).rejects.toThrow('the store is gone')
  expect(await left(2 - day)).toMatchObject({ retry: 598 + day })
  for (let pass = 0; pass < 2; pass += 1) await leader.followClock(context)
  expect(await left(-day)).toEqual(before)
})
