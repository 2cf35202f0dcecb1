/** Commands of a person at the moment at which an engine moves the same task: each is decided again on the new state. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { cancelGoal, cancelTask, retryTask } from '../../src/runtime/people/commands.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { awaitLink } from '../../src/runtime/people/link-task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, type Queryable, type Sql } from '../../src/store/db.ts'
import { finishRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
beforeEach(() => store.reset())
afterAll(() => store.close())

const isReadOfTask = ({ text }: Sql): boolean => /^select \* from task\b/.test(text.trim())

/** What the engine does right after each of the first `times` reads of a task in a transaction, before the command writes what it decided. */
const raced = (engine: () => Promise<unknown>, times = 1): Context => {
  let left = times
  const readsFirst = (tx: Queryable): Queryable => ({
    query: async <Row>(statement: Sql) => {
      const rows = await tx.query<Row>(statement)
      if (left > 0 && isReadOfTask(statement)) {
        left -= 1
        await engine()
      }
      return rows
    },
  })
  const transaction: Store['db']['transaction'] = (work) => store.db.transaction((tx) => work(readsFirst(tx)))
  const config = () => ({ requeue: { linkSeconds: 60 } }) as ReturnType<Context['config']>
  return { ...store.context, config, db: { ...store.db, query: (statement) => store.db.query(statement), transaction } }
}

const queued = async (): Promise<Task> => (await store.goal()).tasks[0] as Task

let claims = 0
/** The engine claims the task; gives what ends its run. */
const claim = async (): Promise<Run> => {
  claims += 1
  const taken = await store.db.transaction((tx) =>
    claimTask(tx, { agentId: 'agent-1', runId: `r-lost-${claims}`, ttlSeconds: 60 }),
  )
  if (taken === undefined) throw new Error('nothing was claimed')
  return taken.run
}

const endRun = (run: Run | undefined): Promise<void> =>
  store.db.transaction(async (tx) => {
    if (run === undefined) throw new Error('no run')
    mustSucceed(await finishRun(tx, run, 'failed', null))
    mustSucceed(await moveTask(tx, await store.task(run.taskId), 'interrupted'))
  })

/** Any change of the task by the engine that leaves it where it is. */
const touch = (id: string) => (): Promise<unknown> =>
  store.db.query({ text: 'update task set version = version + 1 where id = $1', values: [id] })

describe('a command that lost its race', () => {
  it('cancel: the run that was claimed meanwhile is stopped, and the task is cancelled', async () => {
    const { id } = await queued()
    let run: Run | undefined
    const stopped: string[] = []
    const context = raced(async () => {
      run = await claim()
    })
    const cancelled = await cancelTask(context, id, async (taskId) => {
      stopped.push(taskId)
      await endRun(run)
    })
    expect([cancelled.status, stopped]).toEqual(['cancelled', [id]])
  })

  it('cancel: the same where the claim comes before the transaction', async () => {
    const { id } = await queued()
    let run: Run | undefined
    const { transaction } = store.db
    const context: Context = {
      ...store.context,
      db: {
        ...store.db,
        query: (statement) => store.db.query(statement),
        transaction: async (work) => {
          run ??= await claim()
          return transaction.call(store.db, work)
        },
      } as Context['db'],
    }
    const cancelled = await cancelTask(context, id, () => endRun(run))
    expect(cancelled.status).toBe('cancelled')
  })

  it('cancel of the goal: no task of it is left', async () => {
    const { goal, tasks } = await store.goal(2)
    const context = raced(touch(tasks[1]?.id ?? ''))
    await cancelGoal(context, goal.id, async () => undefined)
    expect(await Promise.all(tasks.map(async ({ id }) => (await store.task(id)).status))).toEqual([
      'cancelled',
      'cancelled',
    ])
  })

  it.each<[string, (context: Context, id: string) => Promise<Task>]>([
    ['edit', (context, id) => requestEdit(context, id, { title: 'Edited' })],
    ['link', (context, id) => awaitLink(context, id, { waitsFor: 'an issue' })],
    ['retry', async (context, id) => retryTask(context, (await store.ask(id), id))],
    ['hint', (context, id) => retryTask(context, id, { hint: 'Use the parser.' })],
  ])('%s: is carried out on the newer version', async (_name, command) => {
    const { id } = await queued()
    expect(await command(raced(touch(id)), id)).toMatchObject({ id })
  })

  it('ends after a bounded number of tries', async () => {
    const { id } = await queued()
    let tries = 0
    const always = async (): Promise<void> => {
      tries += 1
      await touch(id)()
    }
    const given = cancelTask(raced(always, 50), id, async () => undefined)
    await expect(given).rejects.toMatchObject({ code: 'STALE' })
    expect(tries).toBeLessThan(10)
  })
})
