/** Work in place shares one folder: whichever goal it is of, one task at a time is claimed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { createGoal } from '../../src/runtime/goal/create-goal.ts'
import { goalFromSentence } from '../../src/runtime/goal/goal-input.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask, type Claim } from '../../src/store/claim.ts'
import { mustSucceed } from '../../src/store/db.ts'
import { finishRun } from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
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

const claim = (agentId: string, runId: string): Promise<Claim | undefined> =>
  store.db.transaction((tx) => claimTask(tx, { agentId, runId, ttlSeconds: 60 }))

test('a task of another goal waits until the work in the folder is done', async () => {
  const context = {
    ...store.context,
    ...{ repository: { root: top, commonDir: null }, stateDir: join(top, 'state'), at: () => undefined },
    config: () => configSchema.parse({ harness: { x: { command: [process.execPath] } } }),
  } as unknown as Context
  const direct = async (title: string): Promise<string> => {
    const options = { autoMerge: false, repoMode: 'direct' as const, allowedDirs: [], harness: 'x', limits: {} }
    return (await createGoal(context, goalFromSentence(title), options)).id
  }
  await store.db.transaction((tx) => registerAgents(tx, ['agent-1', 'agent-2'], 'here'))
  const [one, two] = [await direct('one'), await direct('two')]
  const first = await claim('agent-1', 'r-1')
  expect(first?.task.goalId).toBe(one)
  expect(await claim('agent-2', 'r-2')).toBeUndefined()
  await store.db.transaction(async (tx) => {
    mustSucceed(await finishRun(tx, first!.run, 'succeeded', null))
    mustSucceed(await moveTask(tx, first!.task, 'verdict_recorded', { runId: 'r-1' }))
  })
  expect((await claim('agent-2', 'r-2'))?.task.goalId).toBe(two)
})
