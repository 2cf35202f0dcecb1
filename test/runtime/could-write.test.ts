/** Which work could have changed the owner's files, and which keys goals in progress freeze, over a real store. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Launch, RunPhase } from '../../src/domain/run.ts'
import { couldWrite } from '../../src/runtime/engine/could-write.ts'
import { frozenKeys } from '../../src/runtime/engine/frozen-keys.ts'
import { registerEngine } from '../../src/store/engine.ts'
import { json, mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { openEscalation } from '../../src/store/escalation.ts'
import { storeNow } from '../../src/store/event.ts'
import { getGoal, moveGoal } from '../../src/store/goal.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { claimTask } from '../../src/store/claim.ts'
import { activeGoal, empty } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let number = 0
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  const engine = {
    ...{ id: 'e-1', host: 'here', bootId: '', pid: 1, startTime: '', roles: ['executor' as const] },
    ...{ harnesses: [], labels: [], ttlSeconds: 60 },
  }
  await db.transaction((tx) => registerEngine(tx, engine, ['e-1-1', 'e-1-2']))
})

const launched = (confined: boolean): Launch => ({
  ...{ number: 1, corrections: { addDirs: [], skipGitCheck: false }, resumeSession: null, hint: null, shim: null },
  ...{ gateOpened: true, startedAt: null, spend: null, confined },
})

/** A running run of a new goal. */
const running = async (phase: RunPhase, confined: boolean) => {
  number += 1
  const goal = await activeGoal(db, `g-${number}`, [{}])
  return db.transaction(async (tx) => {
    const claim = await claimTask(tx, { agentId: 'e-1-1', runId: `r-${number}`, ttlSeconds: 600 })
    if (claim === undefined) throw new Error('nothing was claimed')
    const run = mustSucceed(await saveRun(tx, claim.run, { phase, launches: [launched(confined)] }))
    return { goal, run }
  })
}
const could = (since?: Date): Promise<boolean> => couldWrite(db, 'here', since)

test('nothing runs: nothing could', async () => {
  expect(await could()).toBe(false)
})

test.each<[phase: RunPhase, confined: boolean, could: boolean]>([
  ['supervise', true, false],
  ['supervise', false, true],
  // Checks run what the agent wrote, and outside of its sandbox.
  ['prepare', true, true],
  ['launch', true, true],
  ['verify', true, true],
  ['finish', true, true],
])('a run in phase %s, confined: %s', async (phase, confined, expected) => {
  await running(phase, confined)
  expect(await could()).toBe(expected)
  expect(await couldWrite(db, 'elsewhere', undefined)).toBe(false)
})

test('a run that has ended since the files were read could, and one that ended before could not', async () => {
  const before = await storeNow(db)
  const { run } = await running('verify', true)
  await db.transaction(async (tx) => mustSucceed(await finishRun(tx, run, 'failed', null)))
  // A run that ended within the millisecond counts as one that could.
  const after = new Date((await storeNow(db)).getTime() + 1)
  expect([await could(before), await could(after), await could()]).toEqual([true, false, false])
})

test('checks of a merge and of a rebased goal could', async () => {
  const { goal, run } = await running('verify', true)
  await db.transaction(async (tx) => mustSucceed(await finishRun(tx, run, 'succeeded', null)))
  expect(await could()).toBe(false)
  await db.query(
    sql`insert into merge_entry (id, goal_id, task_id, run_id, commit, state) values ('m-1', ${goal.id}, ${run.taskId}, ${run.id}, 'c', 'processing')`,
  )
  expect(await could()).toBe(true)
  await db.query(sql`update merge_entry set state = 'merged'`)
  expect(await could()).toBe(false)
  await db.query(sql`update goal set landing = landing || ${json({ unverified: true })}::jsonb`)
  expect(await could()).toBe(true)
})

const frozen = (loop: object = {}): Promise<string[]> =>
  frozenKeys(db, { host: 'here', canStart: (_config, name) => name !== 'gone' }, configSchema.parse({ loop }))

test('a goal freezes its harnesses until it ends, also between two runs', async () => {
  expect(await frozen()).toEqual([])
  const goal = await activeGoal(db, 'g-two', [{ harness: 'codex' }, { harness: 'own' }])
  expect(await frozen()).toEqual(['harness.codex', 'harness.own'])
  await db.query(sql`update task set state = 'done' where harness = 'own'`)
  expect(await frozen()).toEqual(['harness.codex'])
  // Only a change helps where nothing can be started.
  await db.query(sql`update task set harness = 'gone' where harness = 'codex'`)
  expect(await frozen()).toEqual([])
  await db.query(sql`update task set harness = 'codex' where harness = 'gone'`)
  mustSucceed(await moveGoal(db, goal, 'cancelled'))
  expect(await frozen()).toEqual([])
})

test('a goal that waits for a person freezes nothing but what still runs', async () => {
  const { goal, run } = await running('supervise', true)
  const asked = { happened: '?', tried: [], question: '?', details: '', choices: [], kind: 'exhausted' as const }
  await db.transaction((tx) =>
    openEscalation(tx, { ...asked, id: 'q-1', goalId: goal.id, taskId: run.taskId, runId: run.id }),
  )
  await db.query(sql`update task set harness = 'other'`)
  expect(await frozen()).toEqual(['harness.codex'])
  const current = await getRun(db, run.id)
  if (current === undefined) throw new Error('no run')
  await db.transaction(async (tx) => mustSucceed(await finishRun(tx, current, 'failed', null)))
  expect(await frozen()).toEqual([])
  const now = await getGoal(db, goal.id)
  if (now === undefined) throw new Error('no goal')
  await db.query(sql`update escalation set state = 'approved'`)
  expect(await frozen()).toEqual(['harness.other'])
  mustSucceed(await moveGoal(db, now, 'paused'))
  expect(await frozen()).toEqual([])
})

test('a loop freezes its roles and their harnesses', async () => {
  const roles = { reviewer: { harness: 'strict' } }
  await activeGoal(db, 'g-loop', [{ harness: 'codex', kind: 'loop' }])
  expect(await frozen({ roles })).toEqual(['harness.codex', 'harness.strict', 'loop.roles'])
})
