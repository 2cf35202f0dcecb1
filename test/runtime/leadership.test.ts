/** A leader that is overtaken between its look at a goal and the step that follows moves no branch of the user's. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { runCycle } from '../../src/runtime/engine/cycle.ts'
import { sql } from '../../src/store/db.ts'
import { getGoal } from '../../src/store/goal.ts'
import { fencedByTerm, LeadershipLostError, becomeLeader } from '../../src/store/leader.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(() => store.reset())

/** Looks once at a finished goal that lands by itself; `meanwhile` happens after the look. */
const look = async (meanwhile: () => Promise<unknown>): Promise<{ moved: string[]; error: unknown; state: string }> => {
  const { goal } = await store.goal()
  await store.move(goal.id, 'all_done')
  await store.db.query(sql`update goal set auto_merge = true, head_commit = ${'c'.repeat(40)} where id = ${goal.id}`)
  const moved: string[] = []
  const git = {
    readRef: async () => 'd'.repeat(40),
    isBelow: async () => {
      await meanwhile()
      return false
    },
    fastForward: async (_repository: unknown, { branch, to }: { branch: string; to: string }) => {
      moved.push(branch)
      return { ok: true, from: '', to }
    },
    readSigning: async () => undefined,
  }
  const context = {
    ...store.context,
    db: fencedByTerm(store.db, await becomeLeader(store.db, 'e-1')),
    clock: { now: () => new Date() },
    stopping: new AbortController().signal,
    config: () => configSchema.parse({}),
    at: () => undefined,
    ports: { git },
  } as unknown as Context
  const error: unknown = await runCycle(context, new Map(), { limits: false, tasks: false }).catch(
    (thrown: unknown) => thrown,
  )
  return { moved, error, state: (await getGoal(store.db, goal.id))?.state ?? '' }
}

it('the leader lands a finished goal', async () => {
  expect(await look(async () => undefined)).toEqual({ moved: ['main'], error: undefined, state: 'done' })
})

it('one whose term is over moves nothing, and the goal waits for the next', async () => {
  const { moved, error, state } = await look(() => becomeLeader(store.db, 'e-2'))
  expect(moved).toEqual([])
  expect(error).toBeInstanceOf(LeadershipLostError)
  expect(state).toBe('ready')
})

it('of many finished goals that their user has not merged, only those are looked into whose target moved', async () => {
  for (let count = 0; count < 3; count += 1) {
    const { goal } = await store.goal()
    await store.move(goal.id, 'all_done')
    await store.db.query(sql`update goal set head_commit = ${'c'.repeat(40)} where id = ${goal.id}`)
  }
  let tip = 'd'.repeat(40)
  let now = 20_000
  const asked: string[] = []
  const git = {
    readRef: async () => {
      asked.push('tip')
      return tip
    },
    isBelow: async () => {
      asked.push('below')
      return false
    },
  }
  const clock = { now: () => new Date(now) }
  const config = () => configSchema.parse({})
  const context = { ...store.context, db: store.db, clock, config, ports: { git } } as unknown as Context
  const looked = new Map()
  const pass = async (): Promise<string[]> => {
    asked.length = 0
    await runCycle(context, looked, { limits: false, tasks: false })
    now += 20_000
    return [...asked]
  }
  expect(await pass()).toEqual(['tip', 'below', 'below', 'below'])
  expect(await pass()).toEqual(['tip'])
  tip = 'e'.repeat(40)
  expect(await pass()).toEqual(['tip', 'below', 'below', 'below'])
})
