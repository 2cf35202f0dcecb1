/** Which tokens count for the ceiling per hour: those of launches that ended within the last hour by the store's clock. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { json, sql, type Db } from '../../src/store/db.ts'
import { storeNow } from '../../src/store/event.ts'
import { hourTokensNow } from '../../src/store/queue.ts'
import { activeGoal, agents, claimed, end } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let now: Date
beforeAll(async () => {
  db = await openTestDb()
  await activeGoal(db, 'g', [{}, {}])
  await agents(db, 'a-1', 'a-2')
  await end(db, (await claimed(db, 'a-1')).run, 'failed', 'cancelled')
  await claimed(db, 'a-2')
})
afterAll(() => db.close())
beforeEach(async () => {
  now = await storeNow(db)
})

/** A launch that began `began` minutes ago and took `minutes`; null = its spend is not stored yet. */
const launch = (began: number, minutes: number, tokens: number | null) => ({
  startedAt: new Date(now.getTime() - began * 60_000).toISOString(),
  spend: tokens === null ? null : { tokens, costUsd: 0, seconds: minutes * 60 },
})

/** `ended`: minutes since the first run ended; the second still runs. */
const given = async (ended: number, first: object[], second: object[]): Promise<void> => {
  await db.query(sql`update run set launches = ${json(first)}::jsonb, ended_at = ${new Date(now.getTime() - ended * 60_000)}
    where task_id = 'g-t1'`)
  await db.query(sql`update run set launches = ${json(second)}::jsonb where task_id = 'g-t2'`)
}

const minutesLeft = (until: Date | undefined): number => Math.round(((until?.getTime() ?? 0) - now.getTime()) / 60_000)

test('counts what ended runs and running ones have stored', async () => {
  await given(10, [launch(90, 40, 5), launch(40, 30, 7)], [launch(20, 5, 11), launch(5, 0, null)])
  const reached = await hourTokensNow(db, 20)
  // 5 + 7 + 11; the first launch ended 50 minutes ago and is the next to be older than an hour.
  expect(reached).toMatchObject({ limit: 20, used: 23 })
  expect(minutesLeft(reached?.until)).toBe(10)
  expect(await hourTokensNow(db, 24)).toBeUndefined()
  expect(await hourTokensNow(db, undefined)).toBeUndefined()
})

test('does not count what ended longer ago, also in a run that has ended since', async () => {
  await given(1, [launch(180, 100, 1000), launch(30, 20, 7)], [launch(119, 58, 500)])
  expect(await hourTokensNow(db, 8)).toBeUndefined()
  expect(await hourTokensNow(db, 7)).toMatchObject({ used: 7 })
})

test('a launch counts no longer than its run, whatever the clock of its engine says', async () => {
  await given(70, [launch(5, 4, 1000)], [launch(-600, 1, 3)])
  const reached = await hourTokensNow(db, 1)
  expect(reached).toMatchObject({ used: 3 })
  expect(minutesLeft(reached?.until)).toBeLessThanOrEqual(60)
})
