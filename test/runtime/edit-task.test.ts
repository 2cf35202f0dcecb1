/** Edits of a task against what moves it at the same time: claims, runs that drop checks, judge and merge queue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Task } from '../../src/domain/task.ts'
import type { Run } from '../../src/domain/run.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { finishRun } from '../../src/store/run.ts'
import { getTask, moveTask, setTaskCommands } from '../../src/store/task.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())

let runs = 0
/** A task under way, the only claimable one. */
const claimed = async (): Promise<{ task: Task; run: Run }> => {
  const { tasks } = await store.goal()
  const id = tasks[0]?.id ?? ''
  await store.db.query({ text: "update task set ready = (id = $1) where state = 'queued'", values: [id] })
  runs += 1
  const claim = await store.db.transaction((tx) =>
    claimTask(tx, { agentId: 'agent-1', runId: `r-edit-${runs}`, ttlSeconds: 60 }),
  )
  if (claim?.task.id !== id) throw new Error(`claimed ${claim?.task.id} instead of ${id}`)
  return claim
}

const move = (id: string, trigger: string): Promise<Task> =>
  store.db.transaction(async (tx) => mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, trigger)))

/** Ends the run and moves its task, as the runtime's endings do. */
const end = async ({ task, run }: { task: Task; run: Run }, trigger: string): Promise<Task> => {
  await store.db.transaction(async (tx) => mustSucceed(await finishRun(tx, run, 'failed', null)))
  return move(task.id, trigger)
}

const edits = async (id: string) =>
  (await readEvents(store.db, { after: 0, limit: 1000, goalId: null, taskId: id, runId: null })).filter(
    ({ type }) => type === 'task.edited',
  )

describe('an edit of a task in the queue', () => {
  test('counts at once: areas follow the paths, named checks are its own with nothing dropped', async () => {
    const { tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    const wakes = store.wakes()
    const edited = await requestEdit(store.context, id, { allowedPaths: ['src/a/**'], commands: ['node a.js'] })
    expect(edited).toMatchObject({
      ...{ allowedPaths: ['src/a/**'], areas: ['src/a'], commands: ['node a.js'], originalCommands: ['node a.js'] },
      ...{ commandSource: 'task', pendingEdit: null, status: 'queued' },
    })
    expect([edited, store.wakes()]).toEqual([await store.task(id), wakes + 1])
  })

  test('is taken along by a claim at the same moment, or waits for that attempt to end, and is never lost', async () => {
    const { tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await store.db.query({ text: "update task set ready = (id = $1) where state = 'queued'", values: [id] })
    const [claim] = await Promise.all([
      store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId: 'r-race', ttlSeconds: 60 })),
      requestEdit(store.context, id, { title: 'Edited' }),
    ])
    if (claim === undefined) throw new Error('nothing was claimed')
    expect(claim.task.title === 'Edited' || (await store.task(id)).pendingEdit?.title === 'Edited').toBe(true)
    expect((await end(claim, 'interrupted')).title).toBe('Edited')
  })
})

describe('an edit during an attempt', () => {
  test('leaves the task as it is, and the run may go on dropping checks; at its end the edit counts', async () => {
    const { task, run } = await claimed()
    await requestEdit(store.context, task.id, { commands: ['node mine.js'] })
    expect(await store.task(task.id)).toMatchObject({ commands: [], pendingEdit: { commands: ['node mine.js'] } })
    expect(await setTaskCommands(store.db, run, ['node dropped.js'])).toBe(true)
    // A later edit joins the one that waits.
    await requestEdit(store.context, task.id, { title: 'Mine' })
    expect(await store.task(task.id)).toMatchObject({ title: 'Task 1', commands: ['node dropped.js'] })
    expect(await end({ task, run }, 'escalated')).toMatchObject({
      ...{ title: 'Mine', commands: ['node mine.js'], originalCommands: ['node mine.js'], pendingEdit: null },
      status: 'blocked(awaiting_human)',
    })
    expect((await edits(task.id)).map(({ payload }) => payload.counts)).toEqual(['next attempt', 'next attempt'])
  })

  test('waits while the work waits to land, and is over when it has landed', async () => {
    const { task, run } = await claimed()
    await requestEdit(store.context, task.id, { title: 'Later' })
    expect((await end({ task, run }, 'run_succeeded')).title).toBe('Task 1')
    await move(task.id, 'merged')
    expect(await store.task(task.id)).toMatchObject({ status: 'done', title: 'Task 1', pendingEdit: null })
  })

  test('counts when its work could not land', async () => {
    const { task, run } = await claimed()
    await end({ task, run }, 'run_succeeded')
    await requestEdit(store.context, task.id, { title: 'Later' })
    expect((await move(task.id, 'escalated')).title).toBe('Later')
  })
})

describe('refused', () => {
  test.each<[string, Parameters<typeof requestEdit>[2], RegExp]>([
    ['a path that leaves the repository', { allowedPaths: ['a/../../b'] }, /allowedPaths\[0\]/],
    ['no path at all', { allowedPaths: [] }, /allowedPaths/],
    ['no check at all', { commands: [] }, /commands/],
    ['a check for a shell', { commands: ['a | b'] }, /cannot be run without a shell/],
    ['what is so already', { title: 'Task 1' }, /nothing would change/],
    ['nothing', {}, /nothing would change/],
    ['an option for a model', { model: '--yolo' }, /model/],
    ['two lines as a title', { title: 'a\nb' }, /title/],
    ['an unknown field', { state: 'done' } as never, /unknown key state/],
    ['a secret', { instructions: `ghp_${'a1B2'.repeat(9)}` }, /secret/],
  ])('%s', async (_what, fields, wanted) => {
    const { tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await expect(requestEdit(store.context, id, fields)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(wanted),
    })
    expect(await store.task(id)).toEqual(tasks[0])
    expect(await edits(id)).toEqual([])
  })

  test('wider paths without a reason; with one the event keeps what they are', async () => {
    const { tasks } = await store.goal()
    const id = tasks[0]?.id ?? ''
    await requestEdit(store.context, id, { allowedPaths: ['src'] })
    const wider = { allowedPaths: ['src', 'docs'] }
    await expect(requestEdit(store.context, id, wider)).rejects.toMatchObject({
      message: expect.stringMatching(/docs.*why/),
    })
    await requestEdit(store.context, id, wider, { why: 'the guide', by: 'ann' })
    expect((await edits(id)).at(-1)?.payload).toMatchObject({ by: 'ann', why: 'the guide', widened: ['docs'] })
  })
})
