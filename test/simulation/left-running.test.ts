/** A run of which a process stays alive whatever is done: no check begins, and a person is asked. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { aGoal, aPlan, aTask } from './plans.ts'
import { runPlan } from './run.ts'
import { openSyncStore, type SyncStore } from './sync-store.ts'
import { noHooks, type Hooks } from './world.ts'

let store: SyncStore
beforeAll(async () => {
  store = await openSyncStore(inject('simulationSocket'))
})
afterAll(() => store.close())

/** An engine beside one immortal process; `checks` counts what it runs. */
const besides = (left: { pid: number; name: string }[]) => {
  const seen = { checks: 0, looks: 0 }
  const hooks: Hooks = {
    ...noHooks,
    context: (context) => {
      const { processes } = context.ports
      const counted: typeof processes = {
        ...processes,
        runCommand: (dir, request) => {
          seen.checks += 1
          return processes.runCommand(dir, request)
        },
        endLeft: async () => {
          seen.looks += 1
          return left
        },
      }
      return { ...context, ports: { ...context.ports, processes: counted } }
    },
  }
  return { seen, hooks }
}

const plan = aPlan([aGoal([aTask('t1', ['success'])])])

test('no check begins beside it, and the work is not accepted', async () => {
  const { seen, hooks } = besides([{ pid: 7, name: 'sleep' }])
  const { violation, ends } = await runPlan(plan, store, { hooks })
  expect(violation).toBeUndefined()
  expect(seen.looks).toBeGreaterThan(0)
  expect(seen.checks).toBe(0)
  expect(ends.ready ?? 0).toBe(0)
})

test('with nothing left the checks run', async () => {
  const { seen, hooks } = besides([])
  const { ends } = await runPlan(plan, store, { hooks })
  expect(seen.checks).toBeGreaterThan(0)
  expect(ends).toEqual({ ready: 1 })
})
