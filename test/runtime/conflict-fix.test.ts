/** Finished work that conflicts: a new task solves it, else the work is done again, else one question; no entry is lost on the way. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { MergeEntry } from '../../src/domain/merge.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import type { ObservedCheck } from '../../src/recovery/evidence.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { recordEntryFailure } from '../../src/runtime/landing/entry-retries.ts'
import { handleFailedChecks, handleMergeConflict } from '../../src/runtime/landing/unmergeable-entry.ts'
import { approveTask } from '../../src/runtime/people/approve.ts'
import { requeueDue } from '../../src/runtime/engine/requeue.ts'
import { registerAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { getGoal } from '../../src/store/goal.ts'
import { enqueueMerge, getMerge, listMerges, moveMerge } from '../../src/store/merge.ts'
import { recoveriesOf } from '../../src/store/recovery.ts'
import { finishRun, getRun, saveRun } from '../../src/store/run.ts'
import { getTask, listTasks, moveTask } from '../../src/store/task.ts'
import { openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let count = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(() => opened.reset())

const base = 'b'.repeat(40)
const other = { commit: 'd'.repeat(40), parent: base, subject: 'Change it first', trailers: {} }

/** `requeue`: keys of the configuration. The line of the branch has one commit, which changes a.txt as well. */
const contextWith = (requeue: object = {}, db?: Db): Context => {
  const git = { commitsBetween: async () => [other], changesBetween: async () => [{ path: 'src/a.txt' }] }
  const plain = opened.contextOf(db, requeue)
  const policy = () => ({ playbooks, disabled: [], retry: plain.config().retry })
  return { ...plain, policy, at: () => undefined, ports: { ...plain.ports, git } } as unknown as Context
}

/** A run of the task that succeeds and is approved: its commit is being merged. */
const merging = async (id: string): Promise<{ run: Run; entry: MergeEntry }> => {
  const { db } = opened.store
  const runId = `r-conflict-${(count += 1)}`
  await db.query(sql`update task set ready = (id = ${id}) where state = 'queued'`)
  const claim = await db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))
  expect(claim?.task.id).toBe(id)
  return db.transaction(async (tx) => {
    const work = { commit: 'c'.repeat(40), baseCommit: base }
    const run = mustSucceed(await saveRun(tx, (await getRun(tx, runId)) as Run, work))
    mustSucceed(await finishRun(tx, run, 'succeeded', null))
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'run_succeeded', { runId }))
    await enqueueMerge(tx, `m-${runId}`, run)
    const entry = mustSucceed(await moveMerge(tx, (await getMerge(tx, `m-${runId}`)) as MergeEntry, 'claimed'))
    return { run: (await getRun(tx, runId)) as Run, entry }
  })
}

const landingOf = async (context: Context, id: string, { run, entry }: { run: Run; entry: MergeEntry }) => ({
  ...{ context, run, entry, tries: 0, task: await opened.store.task(id) },
  goal: { ...(await getGoal(opened.store.db, run.goalId))!, headCommit: 'e'.repeat(40) },
})

/** The work of the task is finished, and it conflicts. */
const conflict = async (id: string, { context = contextWith(), onto = 'e'.repeat(40) } = {}): Promise<MergeEntry> => {
  const work = await merging(id)
  await handleMergeConflict(await landingOf(context, id, work), { conflicts: ['src/a.txt'], onto })
  return work.entry
}

const last = async (goal: string): Promise<Task> => (await listTasks(opened.store.db, goal)).at(-1) as Task
const cancel = (id: string) =>
  opened.store.db.transaction(async (tx) =>
    mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'cancelled')),
  )
/** The goal has a branch: the requeue pass reads its head. */
const withBranch = (goal: string) =>
  opened.store.db.query(sql`update goal set head_commit = ${'f'.repeat(40)} where id = ${goal}`)
const tried = async (id: string) =>
  (await recoveriesOf(opened.store.db, id)).map(({ playbook, status }) => [playbook, status])
const questions = (goal: string) => listEscalations(opened.store.db, { goalId: goal, pendingOnly: true })

it('is solved by a new task that has the paths of the old one and knows what was merged first', async () => {
  const { goal, tasks } = await opened.newGoal()
  const id = tasks[0] ?? ''
  const entry = await conflict(id)
  const fix = await last(goal)
  expect(fix).toMatchObject({
    ...{ title: `[AutoFix-Conflict] PR #${entry.number}: Task 1`, status: 'queued', lane: 'conflict_recovery' },
    ...{ priority: 90, allowedPaths: ['src/**'], rework: { parent: id, kind: 'conflict', depth: 1 } },
  })
  expect(fix.instructions).toMatch(/<<<<<<<[^]*- src\/a\.txt[^]*remove every marker[^]*- Change it first/)
  expect(await opened.payloads(id, 'judge.conflict_autofix_task_created')).toMatchObject([{ child: 2 }])
  expect(await tried(id)).toEqual([['conflict-auto-fix', 'acting']])
  expect((await getMerge(opened.store.db, entry.id))?.state).toBe('failed')
  await merging(fix.id)
  await opened.store.db.transaction(async (tx) =>
    mustSucceed(await moveTask(tx, (await getTask(tx, fix.id)) as Task, 'merged')),
  )
  expect(await tried(id)).toEqual([['conflict-auto-fix', 'success']])
  expect(await opened.store.task(id)).toMatchObject({ status: 'cancelled', supersededBy: fix.id })
})

it('is done again when the new task ends without a result, then it is one question', async () => {
  const { goal, tasks } = await opened.newGoal()
  const id = tasks[0] ?? ''
  await withBranch(goal)
  await conflict(id)
  await cancel((await last(goal)).id)
  await requeueDue(contextWith(), async () => [])
  expect(await opened.store.task(id)).toMatchObject({ status: 'queued' })
  expect(await opened.payloads(id, 'judge.mainline_recreate_task_created')).toMatchObject([{ onto: 'f'.repeat(40) }])
  for (const onto of ['1', '2', '3']) {
    expect((await opened.store.task(id)).status).toBe('queued')
    await conflict(id, { onto: onto.repeat(40) })
  }
  expect((await opened.store.task(id)).status).toBe('blocked(awaiting_human)')
  expect(await listTasks(opened.store.db, goal)).toHaveLength(2)
  expect(await questions(goal)).toMatchObject([{ taskId: id, kind: 'merge_conflict' }])
  expect((await tried(id)).map(([playbook]) => playbook)).toEqual([
    ...['conflict-auto-fix', 'newer-base-run', 'newer-base-run', 'newer-base-run'],
  ])
})

it('makes no line of tasks: a solution that conflicts again is solved again by its own task, a limited number of times', async () => {
  const { goal, tasks } = await opened.newGoal()
  await conflict(tasks[0] ?? '')
  const { id } = await last(goal)
  let rounds = 0
  while ((await opened.store.task(id)).status === 'queued') {
    rounds += 1
    await conflict(id, { onto: `${rounds}`.repeat(40) })
  }
  expect(rounds).toBe(9)
  expect(await listTasks(opened.store.db, goal)).toHaveLength(2)
  expect(await questions(goal)).toMatchObject([{ taskId: id, kind: 'merge_conflict' }])
})

it('is done again at once where no new task may be made', async () => {
  const { goal, tasks } = await opened.newGoal()
  await conflict(tasks[0] ?? '', { context: contextWith({ reworkDepth: 0 }) })
  expect(await listTasks(opened.store.db, goal)).toHaveLength(1)
  expect(await opened.store.task(tasks[0] ?? '')).toMatchObject({ status: 'queued' })
  expect(await tried(tasks[0] ?? '')).toEqual([['newer-base-run', 'acting']])
})

it('has the files that conflicted for itself when it is done again, so that no solution for them lands meanwhile', async () => {
  const { goal, tasks } = await opened.newGoal(2)
  const { db } = opened.store
  // Tasks that may write anywhere exclude no other task.
  await db.query(sql`update task set allowed_paths = '["**"]', areas = '[]', span = null where goal_id = ${goal}`)
  const [id = '', other = ''] = tasks
  await conflict(id, { context: contextWith({ reworkDepth: 0 }) })
  await conflict(other)
  const fix = await last(goal)
  expect(fix).toMatchObject({ rework: { parent: other, kind: 'conflict' }, areas: ['src/a.txt'] })
  expect(await opened.store.task(id)).toMatchObject({ status: 'queued' })
  await db.transaction((tx) => registerAgents(tx, ['agent-1', 'agent-2'], 'here'))
  const claim = (agentId: string, runId: string) =>
    db.transaction((tx) => claimTask(tx, { agentId, runId, ttlSeconds: 60 }))
  await db.query(sql`update task set ready = true where id in (${id}, ${fix.id})`)
  const first = await claim('agent-1', 'r-first')
  expect([id, fix.id]).toContain(first?.task.id)
  expect(await claim('agent-2', 'r-second')).toBeUndefined()
})

it('stays in the queue when the new task cannot be stored, and is judged again', async () => {
  const { goal, tasks } = await opened.newGoal()
  const id = tasks[0] ?? ''
  const { db } = opened.store
  const work = await merging(id)
  const failing = Object.assign(Object.create(db), {
    transaction: () => Promise.reject(new Error('the store refused a task')),
  }) as Db
  const found = { conflicts: ['src/a.txt'], onto: 'e'.repeat(40) }
  const failed = handleMergeConflict(await landingOf(contextWith({}, failing), id, work), found)
  await expect(failed).rejects.toThrow('the store refused a task')
  const processes = { sweep: async () => undefined }
  const context = { ...contextWith(), ports: { ...contextWith().ports, processes } } as unknown as Context
  await recordEntryFailure(context, work.entry, new Error('the store refused a task'))
  const [entry] = await listMerges(db, { goalId: goal })
  expect(entry).toMatchObject({ state: 'pending', failures: 1 })
  expect((await opened.store.task(id)).status).toBe('blocked(awaiting_judge)')
  const again = mustSucceed(await db.transaction((tx) => moveMerge(tx, entry as MergeEntry, 'claimed')))
  await handleMergeConflict(await landingOf(contextWith(), id, { ...work, entry: again }), found)
  expect((await last(goal)).rework).toMatchObject({ parent: id, kind: 'conflict' })
})

it('is merged again by a person when git failed too often, and then counts from zero', async () => {
  const { goal, tasks } = await opened.newGoal()
  const [id = ''] = tasks
  const { db } = opened.store
  const { run } = await merging(id)
  const entryOf = async (): Promise<MergeEntry> => (await listMerges(db, { goalId: goal }))[0] as MergeEntry
  const processes = { sweep: async () => undefined }
  const context = { ...contextWith(), ports: { ...contextWith().ports, processes } } as unknown as Context
  let failures = 0
  while ((await questions(goal)).length === 0) {
    failures += 1
    await recordEntryFailure(context, await entryOf(), new Error('index.lock: File exists'))
  }
  expect(failures).toBe(5)
  expect(await entryOf()).toMatchObject({ state: 'failed', attempts: 1, failures: 4 })
  expect((await questions(goal))[0]?.choices).toMatchObject([
    { kind: 'approve', label: 'Merge it again' },
    ...[{ kind: 'retry' }, { kind: 'hint' }, { kind: 'cancel' }],
  ])
  await approveTask(context, id)
  expect(await listMerges(db, { goalId: goal })).toMatchObject([
    { runId: run.id, state: 'pending', attempts: 0, failures: 0 },
  ])
  expect(await opened.store.task(id)).toMatchObject({ status: 'blocked(awaiting_judge)' })
  expect(await opened.payloads(id, 'merge.enqueued')).toHaveLength(2)
})

it('gives a check that fails on top of the other work to a new task, with its output', async () => {
  const { goal, tasks } = await opened.newGoal()
  const id = tasks[0] ?? ''
  const work = await merging(id)
  const check: ObservedCheck = {
    ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false, remaining: 0 },
    ...{ stdout: 'not ok 3 - adds both', stderr: '' },
  }
  await handleFailedChecks(await landingOf(contextWith(), id, work), { kind: 'check', check })
  const fix = await last(goal)
  expect(fix.title).toBe(`[AutoFix-Conflict] PR #${work.entry.number}: Task 1`)
  expect(fix.instructions).toMatch(/No lines conflict, but[^]*not ok 3 - adds both[^]*Correct the work/)
  expect((await getMerge(opened.store.db, work.entry.id))?.state).toBe('failed')
})
