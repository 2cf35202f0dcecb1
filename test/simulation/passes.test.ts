/** The passes of an engine: how many there are while a task that is due cannot be moved, and what they do not wait for. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { passEveryMs } from '../../src/runtime/engine/next-pass.ts'
import { aGoal, aPlan, aTask } from './plans.ts'
import { runPlan } from './run.ts'
import { openSyncStore, type SyncStore } from './sync-store.ts'
import { noHooks, type Hooks, type World } from './world.ts'

let store: SyncStore
beforeAll(async () => {
  store = await openSyncStore(inject('simulationSocket'))
})
afterAll(() => store.close())

const stuckMs = 120_000

/** For two minutes from the moment on in which a task is due, `isStuck`. Counts the passes of that time. */
const stuck = (hooksOf: (isStuck: (world: World) => boolean) => Partial<Hooks>) => {
  const seen = { passes: 0, from: Number.POSITIVE_INFINITY }
  const isStuck = ({ tables, scheduler, wall }: World): boolean => {
    const waits = [...tables.task.values()].find(({ status, retry }) => status === 'failed' && retry !== null)
    if (waits?.retry != null && seen.from === Number.POSITIVE_INFINITY)
      seen.from = scheduler.now() + waits.retry.at.getTime() - wall().getTime() - 1
    return scheduler.now() >= seen.from && scheduler.now() < seen.from + stuckMs
  }
  const given = hooksOf(isStuck)
  const hooks: Hooks = {
    context: given.context ?? noHooks.context,
    db: (db, world) => {
      const inner = given.db?.(db, world) ?? db
      return {
        ...inner,
        query: (statement) => {
          // What each pass asks for, whether the engine leads or not.
          if (statement.text.includes("run.state = 'running' and agent.engine_id =") && isStuck(world)) seen.passes += 1
          return inner.query(statement)
        },
      }
    },
  }
  return { seen, hooks }
}

const plan = aPlan([aGoal([aTask('t1', ['overload', 'success'])])])

test.each([
  [
    'the folder of the repository is missing',
    stuck((isStuck) => ({
      context: (context, world) => {
        const { git } = context.ports
        const directoryOf: typeof git.directoryOf = async (repository) =>
          isStuck(world) ? undefined : git.directoryOf(repository)
        return { ...context, ports: { ...context.ports, git: { ...git, directoryOf } } }
      },
    })),
  ],
  ['no engine leads', stuck((isStuck) => ({ db: (db, world) => ({ ...db, isLeader: () => !isStuck(world) }) }))],
])('a task that is due waits for the ordinary pass while %s', async (_title, { seen, hooks }) => {
  const { violation, ends } = await runPlan(plan, store, { hooks })
  expect(violation).toBeUndefined()
  expect(ends).toEqual({ ready: 1 })
  expect(seen.passes).toBeGreaterThan(10)
  expect(seen.passes).toBeLessThan((1.5 * stuckMs) / passEveryMs)
})

test('work goes on while a periodic job waits for an answer', async () => {
  let asked = 0
  const hooks: Hooks = {
    ...noHooks,
    db: (db) => ({
      ...db,
      query: (statement) => {
        if (!statement.text.includes('from task where review is not null')) return db.query(statement)
        asked += 1
        return new Promise(() => {})
      },
    }),
  }
  const { violation, ends } = await runPlan(plan, store, { hooks })
  expect(violation).toBeUndefined()
  expect(ends).toEqual({ ready: 1 })
  expect(asked).toBe(1)
})
