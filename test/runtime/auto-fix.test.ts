/** A task whose finished work is corrected by another one: however that one ends, its parent has a next step. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import type { Task, TaskStatus } from '../../src/domain/task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { runCycle } from '../../src/runtime/engine/cycle.ts'
import { startAutoFix, autoFixRefusal, type AutoFix } from '../../src/runtime/landing/auto-fix.ts'
import { waitingOn } from '../../src/runtime/people/waiting-on.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { getGoal } from '../../src/store/goal.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { getTask, listTasks, moveTask } from '../../src/store/task.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let runs = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

/** A run of the task that succeeds, so that the judge has the task. */
const succeed = async (id: string): Promise<Run> => {
  const { db } = opened.store
  const runId = `r-fix-${(runs += 1)}`
  await db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
  const claim = await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
  expect(claim?.task.id).toBe(id)
  return db.transaction(async (tx) => {
    const run = mustSucceed(await saveRun(tx, (await getRun(tx, runId)) as Run, { commit: 'c'.repeat(40) }))
    await finishRun(tx, run, 'succeeded', null)
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'run_succeeded', { runId }))
    return run
  })
}

const statusOf = async (id: string): Promise<TaskStatus> => (await opened.store.task(id)).status

/** Two tasks, the second after the first, and the AutoFix task of the first. */
const scene = async (
  kind: AutoFix['kind'] = 'conflict',
  given: Partial<AutoFix> = {},
): Promise<{ goal: string; parent: string; dependent: string; fix: string }> => {
  const { store, contextOf, newGoal } = opened
  const { goal, tasks } = await newGoal(2)
  const [parent = '', dependent = ''] = tasks
  await store.db.query(sql`update task set depends_on = ${JSON.stringify([parent])}::jsonb where id = ${dependent}`)
  const run = await succeed(parent)
  const fix = await store.db.transaction(async (tx) =>
    startAutoFix(
      contextOf(),
      tx,
      { task: (await getTask(tx, parent)) as Task, run },
      {
        ...{ kind, title: '[AutoFix-Conflict] PR #1: Task 1', instructions: 'solve it', priority: 90 },
        ...{ because: 'conflicts in a.txt', lane: 'conflict_recovery' },
        ...given,
      },
    ),
  )
  return { goal, parent, dependent, fix: fix.id }
}

const land = async (id: string): Promise<void> => {
  await succeed(id)
  await opened.store.db.transaction(async (tx) =>
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'merged')),
  )
}

it('ends with the task that corrects it, and what depends on it follows', async () => {
  const { goal, parent, dependent, fix } = await scene()
  const { store } = opened
  const tasks = await listTasks(store.db, goal)
  expect(tasks.find(({ id }) => id === fix)).toMatchObject({
    ...{ status: 'queued', lane: 'conflict_recovery', rework: { parent, depth: 1, kind: 'conflict' } },
  })
  const waiting = tasks.find(({ id }) => id === parent) as Task
  expect(waiting).toMatchObject({ status: 'blocked(needs_rework)', retry: null })
  const facts = { task: waiting, goal: (await getGoal(store.db, goal))!, tasks, runs: [], merges: [], escalations: [] }
  expect(waitingOn(facts)?.text).toMatch(
    /^its work could not land yet \(.+\); task 3 "Solve the conflict of: Task 1" corrects it$/,
  )
  // The rework table leaves it alone meanwhile.
  await opened.pass()
  expect(await statusOf(parent)).toBe('blocked(needs_rework)')
  await land(fix)
  expect(await store.task(parent)).toMatchObject({ status: 'cancelled', supersededBy: fix })
  expect(await store.task(dependent)).toMatchObject({ dependsOn: [fix], ready: true })
})

it('has one living child, and a line of such tasks has an end', async () => {
  const { parent, fix } = await scene()
  const { store, contextOf } = opened
  const refusalFor = async (id: string) => autoFixRefusal(contextOf(), store.db, await store.task(id))
  expect(await refusalFor(parent)).toBe('rework_child_already_exists')
  expect(await refusalFor(fix)).toBeUndefined()
  await store.db.query(sql`update task set rework = jsonb_set(rework, '{depth}', '2') where id = ${fix}`)
  expect(await refusalFor(fix)).toBe('rework_chain_max_depth_reached')
})

it('continues with one question when the task that corrects it is cancelled', async () => {
  const { goal, parent, fix } = await scene()
  const { store, pass } = opened
  await store.db.transaction(async (tx) =>
    mustSucceed(await moveTask(tx, (await getTask(tx, fix)) as Task, 'cancelled')),
  )
  // The goal has lost nothing: the parent does the work.
  expect(await store.task(fix)).toMatchObject({ status: 'cancelled', supersededBy: parent })
  expect(await store.task(parent)).toMatchObject({
    status: 'blocked(needs_rework)',
    retry: { reason: 'auto_fix_ended' },
  })
  await pass()
  expect(await statusOf(parent)).toBe('blocked(awaiting_human)')
  expect(await listEscalations(store.db, { goalId: goal, pendingOnly: true })).toMatchObject([{ taskId: parent }])
})

it('leaves its goal to a person when one is asked about the task that corrects it', async () => {
  const { goal, fix } = await scene('objection')
  const { store, contextOf } = opened
  const context = { ...contextOf(), ports: { git: { readRef: async () => null } } } as unknown as Context
  await succeed(fix)
  await runCycle(context, new Map(), { limits: false, tasks: false })
  expect((await getGoal(store.db, goal))?.state).toBe('active')
  await store.db.transaction(async (tx) =>
    mustSucceed(await moveTask(tx, (await getTask(tx, fix)) as Task, 'escalated')),
  )
  await runCycle(context, new Map(), { limits: false, tasks: false })
  expect((await getGoal(store.db, goal))?.state).toBe('awaiting_human')
})

it('waits for whatever continues the task that corrects it', async () => {
  const { goal, parent, fix } = await scene('objection')
  const { store, pass, fail } = opened
  const same = failure()
  await fail(fix, same)
  await pass()
  await fail(fix, same)
  await pass()
  const next = (await listTasks(store.db, goal)).at(-1) as Task
  expect(next.rework).toMatchObject({ parent: fix, depth: 2, kind: 'rework' })
  expect(await store.task(fix)).toMatchObject({ status: 'cancelled', supersededBy: next.id })
  expect(await store.task(parent)).toMatchObject({ status: 'blocked(needs_rework)', retry: null })
  await land(next.id)
  expect(await store.task(parent)).toMatchObject({ status: 'cancelled', supersededBy: next.id })
})

it('is told without the secrets that a reviewer or a check quotes', async () => {
  // Put together here, so that nothing that looks for tokens finds one in this file.
  const token = ['gh', 'p_', 'aB3d'.repeat(9)].join('')
  const { store } = opened
  const { goal, fix } = await scene('objection', {
    ...{ title: `Remove ${token}`, instructions: `a.txt: ${token} is in it`, because: `${token} is in a.txt` },
  })
  const made = await store.task(fix)
  expect(made.title).toMatch(/^Remove /)
  expect(made.instructions).toMatch(/ is in it$/)
  expect(JSON.stringify([made, await readEvents(store.db, { after: 0, limit: 1000, goalId: goal })])).not.toContain(
    token,
  )
})
