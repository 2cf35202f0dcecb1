/** A pull request that conflicts again and again, and one whose branch others have changed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { PullRequest } from '../../src/forge/forge.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { goalRef } from '../../src/runtime/core/context.ts'
import type { Ready } from '../../src/runtime/landing/land-goal.ts'
import { solvePullRequestConflict } from '../../src/runtime/landing/pull-request-conflict.ts'
import { getGoal, moveGoal, progressGoal } from '../../src/store/goal.ts'
import { mustSucceed } from '../../src/store/db.ts'
import type { Remote } from '../../src/workspace/remote.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let id: string
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())
beforeEach(async () => {
  await store.reset()
  id = (await store.goal()).goal.id
  await progressGoal(store.db, id, { baseCommit: 'base', headCommit: 'head-0' })
  await store.move(id, 'all_done')
})

const goalNow = async (): Promise<Ready> => (await getGoal(store.db, id)) as Ready

/** The forge has other commits than the goal; `isBelow`: whether the goal has them all. */
const solve = async (given: { hasConflicts?: boolean; isBelow?: boolean; branch?: string } = {}): Promise<boolean> => {
  const goal = await goalNow()
  const { hasConflicts = true, isBelow = false, branch = goal.headCommit } = given
  const context: Context = {
    ...store.context,
    ...{
      at: () => undefined,
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    },
    ports: { ...store.context.ports, git: { ...store.context.ports.git, isBelow: async () => isBelow } },
  }
  const fetchRefs = async () => ({ 'refs/heads/main': 'tip', [goalRef(goal)]: branch })
  const origin = { url: 'origin', fetchRefs } as unknown as Remote
  const pull = { number: 5, hasConflicts } as PullRequest
  return solvePullRequestConflict(context, { origin, pull, requireUnchanged: async () => undefined }, goal)
}

/** The goal was brought onto the tip, verified, and is ready with another head. */
const becomeReady = async (round: number): Promise<void> => {
  await progressGoal(store.db, id, { headCommit: `head-${round}`, landing: { outdated: false } })
  mustSucceed(await moveGoal(store.db, await goalNow(), 'all_done', 'done'))
}

test('three times the goal is brought onto the newer base, then a person is told', async () => {
  for (const round of [1, 2, 3]) {
    expect(await solve()).toBe(true)
    expect(await goalNow()).toMatchObject({ state: 'active', landing: { outdated: true, onForge: 'tip' } })
    await becomeReady(round)
  }
  expect(await solve()).toBe(true)
  const { state, landing, reason } = await goalNow()
  expect(state).toBe('ready')
  expect(landing.refused?.reason).toBe('pull-request-conflict')
  expect(reason).toContain('unstuck land')
})

test('commits of others on its branch are not overwritten', async () => {
  expect(await solve({ branch: 'theirs' })).toBe(true)
  expect(await goalNow()).toMatchObject({ state: 'ready', landing: { refused: { reason: 'branch-changed' } } })
})

test.each([
  ['nothing is said of a conflict', { hasConflicts: false }],
  ['the goal has all that the forge has', { isBelow: true }],
])('nothing follows where %s', async (_what, given) => {
  expect(await solve(given)).toBe(false)
  expect(await goalNow()).toMatchObject({ state: 'ready', landing: { refused: null } })
})
