/** One goal is shown as in the status, with the tasks of other goals that it waits for; and which goals the status shows. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defaultLanes } from '../../src/domain/dispatch.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { systemClock } from '../../src/runtime/core/system-clock.ts'
import { goalView, statusView, viewOptions } from '../../src/runtime/people/views.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { registerEngine } from '../../src/store/engine.ts'
import { activeGoal, claimed, end, engineOf } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())

it('one goal looks as in the status', async () => {
  await activeGoal(db, 'g', [{ allowedPaths: ['src/**'] }, { allowedPaths: ['docs/**'], dependsOn: ['g-t1'] }])
  await activeGoal(db, 'h', [{ allowedPaths: ['lib/**'] }, { allowedPaths: ['src/api/**'] }])
  await db.transaction((tx) => registerEngine(tx, engineOf('e-1'), ['a1', 'a2']))
  await claimed(db, 'a1')
  const { run } = await claimed(db, 'a2')
  await end(db, run, 'interrupted', 'interrupted')
  const status = await statusView(db, 9)
  const steps = status.goals.flatMap(({ tasks }) => tasks.map(({ id, nextStep }) => [id, nextStep?.text]))
  expect(new Map(steps as [string, string][])).toEqual(
    new Map([
      ['g-t1', 'preparing (attempt 1)'],
      ['g-t2', 'waiting for task 1 "task 1"'],
      ['h-t1', 'ready to start; a free agent takes it next'],
      ['h-t2', 'waiting for task 1 "task 1" of goal g, which is changing src/api'],
    ]),
  )
  for (const goal of status.goals) expect(await goalView(db, goal.id)).toEqual(goal)
  expect(await goalView(db, 'unknown')).toBeUndefined()
  await db.query(sql`update task set lane = 'docser' where id = 'h-t1'`)
  const lanes = { ...defaultLanes, docserMaxSlots: 0 }
  const config = {
    lanes,
    harness: { failover: ['claude'] },
    limits: {},
    webhooks: {},
    notify: {},
    judge: { retries: 3 },
  }
  // No other repository is beside it.
  const alone = { ports: realPorts, clock: systemClock, stateDir: join(tmpdir(), 'unstuck-no-home', 'state') }
  const context = { config: () => config, ...alone } as unknown as Context
  const { queue } = viewOptions(context)
  expect(queue).toEqual({ lanes, failover: ['claude'], foreignLimits: [] })
  expect((await goalView(db, 'h', queue === undefined ? {} : { queue }))?.tasks[0]?.nextStep).toMatchObject({
    waitsFor: 'lane_limit',
  })
})

it('of goals that have ended the status shows the newest, and says how many it leaves out', async () => {
  const ended = await openTestDb()
  for (const id of ['old-open', 'a', 'b', 'c', 'd', 'open']) await activeGoal(ended, id, [{}])
  await ended.query(sql`update goal set state = 'failed' where id in ('a', 'b', 'c', 'd')`)
  const shown = async (count: number): Promise<[string[], string[], number]> => {
    const { goals, endedLeftOut } = await statusView(ended, count)
    return [goals.map(({ id }) => id), goals.flatMap(({ tasks }) => tasks.map(({ goalId }) => goalId)), endedLeftOut]
  }
  const all = ['open', 'd', 'c', 'b', 'a', 'old-open']
  expect(await shown(9)).toEqual([all, all, 0])
  expect(await shown(2)).toEqual([['open', 'd', 'c', 'old-open'], ['open', 'd', 'c', 'old-open'], 2])
  expect(await shown(0)).toEqual([['open', 'old-open'], ['open', 'old-open'], 4])
  await ended.close()
})
