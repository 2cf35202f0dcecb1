/** The picture of one goal is the one that the status shows of it, rivals of other goals included; and which goals it shows. */
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { goalView, statusView } from '../../src/runtime/people/views.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { openPglite } from '../../src/store/pglite.ts'
import { loadTemplate } from '../../src/store/template.ts'
import { activeGoal, agents, claimed, end } from './scene.ts'

let db: Db
beforeAll(async () => {
  db = await openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })
})
afterAll(() => db.close())

it('one goal looks as in the status', async () => {
  await activeGoal(db, 'g', [{ allowedPaths: ['src/**'] }, { allowedPaths: ['docs/**'], dependsOn: ['g-t1'] }])
  await activeGoal(db, 'h', [{ allowedPaths: ['lib/**'] }, { allowedPaths: ['src/api/**'] }])
  await agents(db, 'a1', 'a2')
  await claimed(db, 'a1')
  const { run } = await claimed(db, 'a2')
  await end(db, run, 'interrupted', 'interrupted')
  const status = await statusView(db, 9)
  const steps = status.goals.flatMap(({ tasks }) => tasks.map(({ id, nextStep }) => [id, nextStep?.text]))
  expect(new Map(steps as [string, string][])).toEqual(
    new Map([
      ['g-t1', expect.stringMatching(/^run \S+: prepare$/)],
      ['g-t2', 'waits for task 1'],
      ['h-t1', expect.any(String)],
      ['h-t2', 'waits for task 1 "task 1", which is at work in src/api'],
    ]),
  )
  for (const goal of status.goals) expect(await goalView(db, goal.id)).toEqual(goal)
  expect(await goalView(db, 'unknown')).toBeUndefined()
})

it('of goals that have ended the status shows the newest, and says how many it leaves out', async () => {
  const ended = await openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })
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
