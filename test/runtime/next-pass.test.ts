/** How long an engine waits for its next pass, on a real store. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { msToNextPass, passEveryMs } from '../../src/runtime/engine/next-pass.ts'
import { sql } from '../../src/store/db.ts'
import { storeNow } from '../../src/store/event.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

/** Both in milliseconds before now: when a task became due, and when the leader asked what is due. */
const waitAfter = async (due: number, asked: number): Promise<number> => {
  const { tasks } = await opened.newGoal()
  const [id = ''] = tasks
  await opened.fail(id, failure(), 'run_failed')
  return opened.store.db.transaction(async (tx) => {
    const now = await storeNow(tx)
    const at = (before: number): Date => new Date(now.getTime() - before)
    await tx.query(sql`select set_config('unstuck.now', ${now.toISOString()}, true)`)
    await tx.query(sql`update task set retry_at = ${at(due)} where id = ${id}`)
    return msToNextPass({ db: { ...opened.store.db, query: tx.query } }, at(asked))
  })
}

it.each([
  ['a task that is due soon shortens the wait', -500, 100, 500],
  ['one that is due later does not', -60_000, 100, passEveryMs],
  ['one that became due after the leader asked is looked at next', 50, 100, 10],
  ['one that is due in a moment is waited for, so that a wait that ended early costs no whole one', -1, 0, 10],
  ['one that was due when the leader asked waits for the ordinary pass', 100, 100, passEveryMs],
  ['one that has been due for long as well', 3_600_000, 100, passEveryMs],
])('%s', async (_title, due, asked, expected) => {
  expect(await waitAfter(due, asked)).toBe(expected)
})

it('an engine that does not lead does not read what is due', async () => {
  const query = () => Promise.reject(new Error('read'))
  expect(await msToNextPass({ db: { query } as unknown as Context['db'] }, undefined)).toBe(passEveryMs)
})
