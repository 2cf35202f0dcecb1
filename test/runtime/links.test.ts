/** Tasks that wait for a link: only their owner ends the wait, and a person is asked when it takes too long. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { awaitLink, linkTask } from '../../src/runtime/people/link-task.ts'
import { cancelTask, retryTask } from '../../src/runtime/people/commands.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { secondsToNextRetry } from '../../src/store/due-tasks.ts'
import { answerEscalation, listEscalations, openEscalation, pendingEscalationOf } from '../../src/store/escalation.ts'
import { insertTasks } from '../../src/store/task.ts'
import { openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

const parked = async (): Promise<string> => {
  const { tasks } = await opened.newGoal()
  const [id = ''] = tasks
  await awaitLink(opened.contextOf(), id, { waitsFor: 'the issue', by: 'ada' })
  return id
}
const isOver = (id: string) =>
  opened.store.db.query(sql`update task set retry_at = unstuck_now() - interval '1 second' where id = ${id}`)

it('a queued task is parked, and starts when its owner links it', async () => {
  const id = await parked()
  const task = await opened.store.task(id)
  expect(task).toMatchObject({
    ...{ status: 'blocked(issue_linking)', link: { waitsFor: 'the issue', issue: null } },
    retry: { reason: 'issue_linking', count: 1, limit: 1 },
  })
  const { now } = (await opened.store.db.query<{ now: Date }>(sql`select unstuck_now() as now`))[0]!
  const wait = ((task.retry?.at.getTime() ?? 0) - now.getTime()) / 1000
  expect(await secondsToNextRetry(opened.store.db, now)).toBeCloseTo(wait, -1)
  // The cycle manager leaves it alone until then.
  await opened.pass()
  expect((await opened.store.task(id)).status).toBe('blocked(issue_linking)')
  await linkTask(opened.contextOf(), id, { issue: '#12', by: 'ada' })
  expect(await opened.store.task(id)).toMatchObject({
    ...{ status: 'queued', retry: null, ready: true, link: { waitsFor: 'the issue', issue: '#12' } },
  })
  await expect(linkTask(opened.contextOf(), id, { issue: '#13' })).rejects.toThrow('waits for no link')
})

it('a task is created waiting, and its event says for what', async () => {
  const { goal, tasks } = await opened.newGoal()
  const { db } = opened.store
  const first = await opened.store.task(tasks[0] ?? '')
  await insertTasks(db, [
    { ...first, id: 't-linked', number: 2, goalId: goal, awaitLink: { waitsFor: 'an issue', seconds: 60 } },
  ])
  expect(await opened.store.task('t-linked')).toMatchObject({
    status: 'blocked(issue_linking)',
    retry: { count: 1, limit: 1 },
  })
  expect(await opened.payloads('t-linked', 'task.created')).toMatchObject([{ waitsFor: 'an issue' }])
})

it('a person is asked once the time is over, and the owner may still link it', async () => {
  const id = await parked()
  await isOver(id)
  await opened.pass({ linkSeconds: 60 })
  expect((await opened.store.task(id)).status).toBe('blocked(awaiting_human)')
  const [question] = await listEscalations(opened.store.db, { pendingOnly: true })
  expect(question?.happened).toContain('has waited 60 s for the issue, and nothing was linked')
  await linkTask(opened.contextOf(), id, { issue: '#12' })
  expect((await opened.store.task(id)).status).toBe('queued')
  expect(await listEscalations(opened.store.db, { pendingOnly: true })).toEqual([])
})

it('a retry of a person starts it without a link', async () => {
  const id = await parked()
  await isOver(id)
  await opened.pass()
  await retryTask(opened.contextOf(), id)
  expect(await opened.store.task(id)).toMatchObject({ status: 'queued', link: null })
})

it('a retry of a cancelled task starts it without a link', async () => {
  const id = await parked()
  await cancelTask(opened.contextOf(), id, async () => undefined)
  expect((await opened.store.task(id)).link).toMatchObject({ waitsFor: 'the issue' })
  await retryTask(opened.contextOf(), id)
  expect(await opened.store.task(id)).toMatchObject({ status: 'queued', link: null })
})

/** Another question of the task, in place of the one about its link. */
const askedSomethingElse = async (id: string): Promise<void> => {
  const { db } = opened.store
  const pending = await pendingEscalationOf(db, id)
  if (pending === undefined) throw new Error('nothing was asked')
  await db.transaction(async (tx) => {
    mustSucceed(await answerEscalation(tx, pending, 'retry'))
    await openEscalation(tx, { ...pending, id: 'q-other', question: 'Does the finished work land?' })
  })
}

it('a link answers no question but its own', async () => {
  const id = await parked()
  await isOver(id)
  await opened.pass()
  await askedSomethingElse(id)
  await expect(linkTask(opened.contextOf(), id, { issue: '#12' })).rejects.toThrow('waits for no link')
  expect((await opened.store.task(id)).status).toBe('blocked(awaiting_human)')
  expect(await pendingEscalationOf(opened.store.db, id)).toMatchObject({ id: 'q-other', state: 'pending' })
})

it('a link does not start a task that a person has taken over', async () => {
  const id = await parked()
  await isOver(id)
  await opened.pass()
  const { db } = opened.store
  await db.transaction(async (tx) => {
    const pending = await pendingEscalationOf(tx, id)
    if (pending !== undefined) mustSucceed(await answerEscalation(tx, pending, 'take_over'))
  })
  await expect(linkTask(opened.contextOf(), id, { issue: '#12' })).rejects.toThrow('waits for no link')
})

it('each bad text is an error that names the field', async () => {
  const { tasks } = await opened.newGoal()
  await expect(awaitLink(opened.contextOf(), tasks[0] ?? '', { waitsFor: ' ' })).rejects.toThrow('waitsFor: allowed')
  await expect(linkTask(opened.contextOf(), tasks[0] ?? '', { issue: 'a\nb' })).rejects.toThrow('issue: allowed')
})

it('an event that schedules a start carries the countdown by the clock of the store', async () => {
  const id = await parked()
  const [event] = await opened.payloads(id, 'task.link_awaited')
  expect(event).toMatchObject({ retry: { reason: 'issue_linking', inSeconds: 3600, count: 1, limit: 1 } })
})
