/** Tasks whose wait is over, on a real store: each decision is one transaction, and what a person does in between counts. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { requeueDue } from '../../src/runtime/engine/requeue.ts'
import { retryGoal, retryTask } from '../../src/runtime/people/commands.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { listPathGrants } from '../../src/store/path-grant.ts'
import { listTasks } from '../../src/store/task.ts'
import { everything, failure, nothing, openRequeueStore, strayed, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let store: RequeueStore['store']
let { contextOf, pass, fail, newGoal, payloads, causes } = {} as RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(async () => {
  await opened.reset()
  ;({ store, contextOf, pass, fail, newGoal, payloads, causes } = opened)
})

it('a task starts again with corrected checks, and keeps what was asked for', async () => {
  const { tasks } = await newGoal(1, ['npm test', 'npm run lint'])
  const [id = ''] = tasks
  const adjustment = { type: 'drop_command' as const, command: 'npm test' }
  await fail(id, failure({ failureCode: 'verification_command_missing_script', adjustment }))
  await pass()
  expect(await store.task(id)).toMatchObject({
    ...{ status: 'queued', commands: ['npm run lint'], originalCommands: ['npm test', 'npm run lint'], retry: null },
  })
  const [requeued] = await payloads(id, 'task.requeued')
  expect(requeued).toMatchObject({ reason: 'verification_command_missing_script_adjusted_from_blocked', count: 1 })
  expect(await causes(id)).toEqual(['commands'])
})

it('a task waits for a path that may be allowed, then starts again with it', async () => {
  const { tasks } = await newGoal()
  const [id = ''] = tasks
  await fail(id, strayed({ Makefile: 'outside' }))
  await pass()
  const waits = await store.task(id)
  expect(waits).toMatchObject({ status: 'blocked(needs_rework)', retry: { count: 1, limit: 2 } })
  expect(Number(waits.retry?.at)).toBeGreaterThan(Date.now())
  // Not due: nothing happens.
  await pass({}, everything)
  expect((await store.task(id)).status).toBe('blocked(needs_rework)')
  await store.db.query(sql`update task set retry_at = unstuck_now() where id = ${id}`)
  await pass({}, everything)
  // The paths that a person wrote stay; what a rule allows is a grant with its reason, and its area is kept from other tasks.
  expect(await store.task(id)).toMatchObject({
    ...{ status: 'queued', allowedPaths: ['src/**'], areas: ['Makefile', 'src'] },
  })
  expect(await causes(id)).toEqual(['suppressed', 'paths'])
  expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({
    ...{ reason: 'policy_allowed_paths_adjusted_from_blocked', paths: ['Makefile'] },
  })
  const [grant, ...more] = await listPathGrants(store.db, { days: 30, all: false })
  expect(more).toEqual([])
  expect(grant).toMatchObject({
    ...{ path: 'Makefile', scope: 'task', taskId: id, rule: 'root_infra', grantedBy: 'rule' },
    why: 'Makefile belongs to the build.',
  })
})

it('a failed task starts again up to the limit of its category, then its work is continued by a new one', async () => {
  const { goal, tasks } = await newGoal()
  const [id = ''] = tasks
  const code = { source: 'execution' as const, failureCode: 'model_or_unknown_failure' }
  for (let count = 1; count <= 3; count += 1) {
    await fail(id, failure(code), 'run_failed')
    await pass()
    expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({ reason: 'cooldown_retry', count, limit: 3 })
  }
  await fail(id, failure(code), 'run_failed')
  await pass({ blockedSeconds: 0 })
  expect((await store.task(id)).status).toBe('blocked(needs_rework)')
  await pass()
  expect((await listTasks(store.db, goal)).map(({ status }) => status)).toEqual(['cancelled', 'queued'])
  expect(await causes(id)).toEqual(['model', 'model', 'model'])
})

/** The store fails at one statement of the transaction, as if the engine were killed there. */
const killedAt = (statement: number): { db: Db; reached: () => boolean } => {
  let count = 0
  const db: Db = Object.create(store.db, {
    transaction: {
      value: (work: Parameters<Db['transaction']>[0]) =>
        store.db.transaction((tx) =>
          work(
            Object.create(tx, {
              query: {
                value: (query: Parameters<typeof tx.query>[0]) => {
                  count += 1
                  if (count === statement) throw new Error('killed')
                  return tx.query(query)
                },
              },
            }) as typeof tx,
          ),
        ),
    },
  }) as Db
  return { db, reached: () => count >= statement }
}

it('a new task continues the work once, wherever the engine is killed on the way, and dependents follow it', async () => {
  const { goal, tasks } = await newGoal(2)
  const [first = '', second = ''] = tasks
  await store.db.query(sql`update task set depends_on = ${JSON.stringify([first])}::jsonb where id = ${second}`)
  const same = failure()
  await fail(first, same)
  await pass()
  await fail(first, same)
  let at = 1
  for (; ; at += 1) {
    const { db, reached } = killedAt(at)
    await requeueDue(contextOf(db), nothing)
    if (!reached()) break
    const waits = await store.task(first)
    expect([at, waits.status, waits.supersededBy]).toEqual([at, 'blocked(needs_rework)', null])
    expect(await listTasks(store.db, goal)).toHaveLength(2)
  }
  expect(at).toBeGreaterThan(8)
  const [parent, dependent, child, ...more] = await listTasks(store.db, goal)
  expect(more).toEqual([])
  expect(child).toMatchObject({
    ...{ number: 3, title: '[Rework] Task 1', status: 'queued', priority: 5, dependsOn: [] },
    rework: { parent: first, depth: 1, because: 'it fails' },
  })
  expect(child?.instructions).toContain(`[auto-rework] parentTask=${first}`)
  expect(parent).toMatchObject({ status: 'cancelled', supersededBy: child?.id })
  expect(dependent).toMatchObject({ status: 'queued', ready: false, dependsOn: [child?.id] })
  expect(await payloads(first, 'task.split')).toMatchObject([{ reason: 'needs_rework', child: 3 }])
  expect((await payloads(first, 'task.cancelled'))[0]).toMatchObject({ reason: 'superseded_by_rework' })
  // A person retries the task that continues it, not the one that was given up.
  await expect(retryTask(contextOf(), first)).rejects.toThrow(`unstuck retry ${child?.id}`)
  await expect(retryGoal(contextOf(), goal)).rejects.toThrow('has no task to retry')
})

it('the task that continues the work is told without the secrets that its checks printed', async () => {
  // Put together here, so that nothing that looks for tokens finds one in this file.
  const token = ['gh', 'p_', 'aB3d'.repeat(9)].join('')
  const { goal, tasks } = await newGoal(1)
  const [first = ''] = tasks
  await store.db.query(sql`update task set title = ${`Remove ${token}`} where id = ${first}`)
  const same = failure({ message: `check_failed: ${token}`, evidence: `${token} is refused` })
  await fail(first, same)
  await pass()
  await fail(first, same)
  await pass()
  const child = (await listTasks(store.db, goal)).find(({ rework }) => rework?.parent === first)
  expect(child?.title).toMatch(/Remove /)
  expect(JSON.stringify([child, await payloads(first, 'task.split')])).not.toContain(token)
})

it('a chain at its end is cancelled with one question about the goal; a retry by a person begins a new count', async () => {
  const { goal, tasks } = await newGoal(2)
  const limits = { reworkDepth: 1, inPlaceLimit: 1 }
  for (const id of tasks) {
    const rework = JSON.stringify({ parent: 't-0', depth: 1, because: 'it fails' })
    await store.db.query(sql`update task set rework = ${rework}::jsonb where id = ${id}`)
    const same = failure()
    await fail(id, same)
    await pass(limits)
    await fail(id, same)
    await pass(limits)
    expect((await store.task(id)).status).toBe('cancelled')
  }
  const reasons = (await payloads(tasks[0] ?? '', 'task.recovery_escalated')).map(({ reason }) => reason)
  expect(reasons).toEqual(['rework_chain_max_depth_reached'])
  const asked = await listEscalations(store.db, { goalId: goal, pendingOnly: true })
  const ids = [{ id: 'hint' }, { id: 'edit' }, { id: 'retry' }, { id: 'cancel' }]
  expect(asked).toMatchObject([{ taskId: null, choices: ids }])
  expect(asked[0]?.happened).toBe('Task 1 "Task 1" was given up after one task had continued the same work: it fails.')
  await retryGoal(contextOf(), goal)
  expect(await listEscalations(store.db, { goalId: goal, pendingOnly: true })).toEqual([])
  const [id = ''] = tasks
  expect((await store.task(id)).status).toBe('queued')
  await fail(id, failure())
  await pass(limits)
  expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({
    reason: 'needs_rework_in_place_retry',
    count: 1,
  })
})

it('the fourth equal failure is a question about the task', async () => {
  const { goal, tasks } = await newGoal()
  const [id = ''] = tasks
  const same = failure({ failureCode: 'setup_or_bootstrap_issue' })
  for (let count = 1; count <= 3; count += 1) {
    await fail(id, same)
    await pass()
    const reason = 'setup_or_bootstrap_retry_from_blocked'
    expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({ reason, count })
  }
  await fail(id, same)
  await pass()
  expect((await store.task(id)).status).toBe('blocked(awaiting_human)')
  const asked = await listEscalations(store.db, { goalId: goal, pendingOnly: true })
  expect(asked).toMatchObject([{ taskId: id, tried: ['started the task again on its own work 3 times'] }])
  const reasons = (await payloads(id, 'task.recovery_escalated')).map(({ reason }) => reason)
  expect(reasons).toEqual(['repeated_same_failure_signature'])
})
