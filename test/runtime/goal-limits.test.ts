/** The limits of a new goal: those of the configuration, those of the request before them, and none that sets no limit. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Limits } from '../../src/domain/budget.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { createGoal } from '../../src/runtime/goal/create-goal.ts'
import { goalFromSentence } from '../../src/runtime/goal/goal-input.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let top: string
beforeAll(async () => {
  store = await openTestStore()
  top = mkdtempSync(join(tmpdir(), 'unstuck-folder-'))
})
afterAll(async () => {
  await store.close()
  rmSync(top, { recursive: true, force: true })
})

const limitsOf = async (configured: object, limits: Limits): Promise<Limits> => {
  const context = {
    ...store.context,
    ...{ repository: { root: top, commonDir: null }, stateDir: join(top, 'state'), at: () => undefined },
    config: () => configSchema.parse({ limits: configured, harness: { x: { command: [process.execPath] } } }),
  } as unknown as Context
  const options = { autoMerge: false, repoMode: 'direct' as const, allowedDirs: [], harness: 'x', limits }
  return (await createGoal(context, goalFromSentence('one'), options)).limits
}

test.each<[string, object, Limits, Limits]>([
  ['those of the configuration', { runTokens: 10, hourTokens: 5 }, {}, { runSeconds: 3600, runTokens: 10 }],
  ['those of the request first', { runTokens: 10 }, { runTokens: 20 }, { runSeconds: 3600, runTokens: 20 }],
  ['the request lifts one with -1', { goalCostUsd: 5 }, { runSeconds: -1 }, { goalCostUsd: 5 }],
  ['the request lifts one with 0', { goalCostUsd: 5 }, { runSeconds: 0, goalCostUsd: 0 }, {}],
])('%s', async (_name, configured, given, expected) => {
  expect(await limitsOf(configured, given)).toEqual(expected)
})
