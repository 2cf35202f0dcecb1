/** A goal that could not be landed: what is to be done again must be off its branch before anything of it starts. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { refuseLanding } from '../../src/runtime/landing/refused-landing.ts'
import { getGoal, progressGoal } from '../../src/store/goal.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeEach(async () => {
  store = await openTestStore()
})
afterEach(() => store.close())

const refusal = { reason: 'git-failed', detail: 'git failed', paths: [] }

it.each([
  ['whose work was sent back stays outdated', true],
  ['of which nothing was sent back goes on where it is', false],
])('one %s', async (_what, sentBack) => {
  const { goal } = await store.goal()
  await store.db.transaction((tx) => progressGoal(tx, goal.id, { landing: { outdated: true, sentBack } }))
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const context = { ...store.context, log } as unknown as Context
  // What the caller knows of it may be older.
  await refuseLanding(context, goal, refusal)
  const now = await getGoal(store.db, goal.id)
  expect(now?.landing).toMatchObject({ outdated: sentBack, refused: refusal })
})
