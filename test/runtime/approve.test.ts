/** What a person approves lands as it is, once; nothing else does. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelGoal, retryTask } from '../../src/runtime/people/commands.ts'
import { approveTask } from '../../src/runtime/people/approve.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { getGoal } from '../../src/store/goal.ts'
import { listMerges } from '../../src/store/merge.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())

const held = async (): Promise<{ goalId: string; id: string }> => {
  const { goal, tasks } = await store.goal()
  const id = tasks[0]?.id ?? ''
  await store.hold(id, 'c0ffee')
  return { goalId: goal.id, id }
}
const queueOf = async (goalId: string) =>
  (await listMerges(store.db, { goalId })).map(({ commit, state }) => [commit, state])
const refused = (work: Promise<unknown>, text: RegExp): Promise<void> =>
  expect(work).rejects.toMatchObject({ code: 'ILLEGAL', message: expect.stringMatching(text) })

test('the approved commit is in the merge queue, and the waiting goal goes on', async () => {
  const { goalId, id } = await held()
  await store.move(goalId, 'only_questions_left')
  const wakes = store.wakes()
  const task = await approveTask(store.context, id)
  expect([task.status, (await getGoal(store.db, goalId))?.state]).toEqual(['blocked(awaiting_judge)', 'active'])
  expect(await queueOf(goalId)).toEqual([['c0ffee', 'pending']])
  expect((await listEscalations(store.db, { goalId })).map(({ answer }) => answer)).toEqual(['approve'])
  expect(store.wakes()).toBe(wakes + 1)
})

test('a second answer is refused and queues nothing', async () => {
  const { goalId, id } = await held()
  await approveTask(store.context, id)
  await refused(approveTask(store.context, id), /no finished work/)
  await refused(retryTask(store.context, id), /cannot be retried/)
  expect(await queueOf(goalId)).toHaveLength(1)
})

test('what is retried instead is not approved any more', async () => {
  const { goalId, id } = await held()
  expect((await retryTask(store.context, id)).status).toBe('queued')
  await refused(approveTask(store.context, id), /no finished work/)
  expect(await queueOf(goalId)).toEqual([])
})

test('a question about work that failed has no such answer', async () => {
  const { goal, tasks } = await store.goal()
  const id = tasks[0]?.id ?? ''
  await store.ask(id)
  await refused(approveTask(store.context, id), /no finished work/)
  expect(await queueOf(goal.id)).toEqual([])
})

test('nothing of a cancelled goal is approved', async () => {
  const { goalId, id } = await held()
  await cancelGoal(store.context, goalId, async () => undefined)
  await refused(approveTask(store.context, id), /no finished work/)
  expect(await queueOf(goalId)).toEqual([])
})
