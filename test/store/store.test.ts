/** What must hold of the statements, transactions and fences of the store. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { escalationFlow } from '../../src/domain/escalation.ts'
import { goalFlow } from '../../src/domain/goal.ts'
import { mergeFlow } from '../../src/domain/merge.ts'
import { proposalFlow } from '../../src/domain/recovery-proposal.ts'
import { runFlow, runPhases } from '../../src/domain/run.ts'
import { blockReasons, roles, taskStates } from '../../src/domain/task.ts'
import { cancelChoice, retryChoice } from '../../src/runtime/core/choices.ts'
import { dropEndedLimits, liftLimits, limitAccount, limitedAccounts } from '../../src/store/account.ts'
import { listAgents } from '../../src/store/agent.ts'
import { claimTask, isTaskReady } from '../../src/store/claim.ts'
import { mustSucceed, firstRow, sql, type Db, type Queryable } from '../../src/store/db.ts'
import { answerEscalation, listEscalations, openEscalation, pendingEscalationOf } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { moveGoal, progressGoal } from '../../src/store/goal.ts'
import { enqueueMerge, listMerges, moveMerge } from '../../src/store/merge.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { countAll } from '../../src/store/page.ts'
import { insertRecovery, listRecoveries, recoveriesOf, resolveRecovery } from '../../src/store/recovery.ts'
import { recordDirectory, recordedDirectory } from '../../src/store/repository-directory.ts'
import { finishRun, getRun, judgeRun, listRuns, renewLease, saveRun, unjudgedRuns } from '../../src/store/run.ts'
import { dueTasks, secondsToNextRetry } from '../../src/store/due-tasks.ts'
import { insertTasks, listTasks, moveTask, setTaskCommands } from '../../src/store/task.ts'
import { activeGoal, agents, claim, claimed, empty, end, goal, plannedGoal, recoveryOf, task, taskOf } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

const typesOf = async (db: Queryable): Promise<string[]> =>
  (await readEvents(db, { after: 0, limit: 1000 })).map((event) => event.type)

const question = (taskId: string | null, id = 'q1') => ({
  id,
  goalId: 'g',
  taskId,
  runId: null,
  kind: 'exhausted' as const,
  happened: 'It failed.',
  tried: ['It was restarted once.'],
  question: 'Retry it, or cancel it?',
  details: '',
  choices: [retryChoice('g-t1'), cancelChoice('g-t1')],
})

/** The values that a CHECK of the form `column = any (array[...])` allows. */
const checkedValues = async (db: Db, table: string, column: string): Promise<string[]> => {
  const rows = await db.query<{ definition: string }>(
    sql`select pg_get_constraintdef(oid) as definition from pg_constraint where contype = 'c' and conrelid = ${table}::regclass`,
  )
  const found = rows.map((row) => row.definition).filter((text) => text.startsWith(`CHECK ((${column} = ANY (ARRAY[`))
  if (found.length !== 1) throw new Error(`${table}.${column} has ${found.length} lists of values`)
  return [...(found[0] ?? '').matchAll(/'((?:[^']|'')*)'::text/g)].map((match) => match[1] ?? '').sort()
}

const countOf = async (db: Queryable, table: 'lease' | 'event' | 'run'): Promise<number> =>
  (await db.query({ text: `select 1 from ${table}`, values: [] })).length

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db?.close())
beforeEach(() => empty(db))

describe('claim', () => {
  it('takes the highest priority first, then the oldest', async () => {
    await activeGoal(db, 'g', [{}, { priority: 5 }, {}])
    await agents(db, 'a1', 'a2', 'a3', 'a4')
    expect((await claimed(db, 'a1')).task.number).toBe(2)
    expect((await claimed(db, 'a2')).task.number).toBe(1)
    expect(await isTaskReady(db)).toBe(true)
    expect((await claimed(db, 'a3')).task.number).toBe(3)
    expect(await isTaskReady(db)).toBe(false)
    expect(await claim(db, 'a4')).toBeUndefined()
  })

  it('gives one task to one of many racing agents', async () => {
    await activeGoal(db, 'g', [{}])
    const ids = Array.from({ length: 10 }, (_, index) => `a${index}`)
    await agents(db, ...ids)
    const taken = (await Promise.all(ids.map((id) => claim(db, id)))).filter((entry) => entry !== undefined)
    expect(taken).toHaveLength(1)
    expect(await countOf(db, 'lease')).toBe(1)
    expect(await listRuns(db, { state: 'running' })).toHaveLength(1)
  })

  it('changes task, run, lease and agent together', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { task: taken, run, lease } = await claimed(db, 'a1')
    expect(taken).toMatchObject({ status: 'running', epoch: 1 })
    expect(run).toMatchObject({
      state: 'running',
      phase: 'prepare',
      number: 1,
      epoch: 1,
      agentId: 'a1',
      launches: [],
    })
    expect(lease).toMatchObject({ taskId: taken.id, runId: run.id, agentId: 'a1', epoch: 1 })
    expect(lease.expiresAt.getTime() - run.startedAt.getTime()).toBeGreaterThan(299_000)
    expect(await listAgents(db)).toMatchObject([{ id: 'a1', state: 'busy' }])
  })

  it('gives a busy or unknown agent nothing', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1')
    await claimed(db, 'a1')
    expect(await claim(db, 'a1')).toBeUndefined()
    expect(await claim(db, 'nobody')).toBeUndefined()
  })

  it('leaves a task of an area that another running task holds', async () => {
    await activeGoal(db, 'g', [{ targetArea: 'api' }, { targetArea: 'api' }, { targetArea: 'ui' }])
    await agents(db, 'a1', 'a2', 'a3')
    const first = await claimed(db, 'a1')
    expect((await claimed(db, 'a2')).task.targetArea).toBe('ui')
    expect(await claim(db, 'a3')).toBeUndefined()
    await end(db, first.run, 'succeeded', 'run_succeeded')
    expect(await claim(db, 'a3')).toBeUndefined()
    await db.transaction(async (tx) => mustSucceed(await moveTask(tx, await task(tx, first.task.id), 'merged')))
    expect((await claimed(db, 'a3')).task.number).toBe(2)
  })

  it('rolled back leaves the task in the queue', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const before = await countOf(db, 'event')
    // A run id that exists already violates the key after the task was taken.
    const first = await claimed(db, 'a1')
    await end(db, first.run, 'interrupted', 'interrupted')
    await expect(
      db.transaction(async (tx) => {
        await claimTask(tx, { agentId: 'a1', runId: first.run.id, ttlSeconds: 300 })
      }),
    ).rejects.toMatchObject({ code: '23505' })
    expect(await task(db, 'g-t1')).toMatchObject({ status: 'queued', epoch: 1 })
    expect(await listAgents(db)).toMatchObject([{ state: 'idle' }])
    expect(await countOf(db, 'event')).toBe(before + 4)
  })
})

describe('readiness', () => {
  it('follows dependencies: ready when every needed task is done, not when one is cancelled', async () => {
    await activeGoal(db, 'g', [{}, {}, { dependsOn: ['g-t1', 'g-t2'] }])
    await agents(db, 'a1')
    const readiness = async () => (await listTasks(db, 'g')).map((entry) => entry.ready)
    expect(await readiness()).toEqual([true, true, false])
    const first = await claimed(db, 'a1')
    await end(db, first.run, 'succeeded', 'verdict_recorded')
    expect((await readiness())[2]).toBe(false)
    await db.transaction(async (tx) => mustSucceed(await moveTask(tx, await task(tx, 'g-t2'), 'cancelled')))
    expect((await readiness())[2]).toBe(false)
    await db.transaction(async (tx) => mustSucceed(await moveTask(tx, await task(tx, 'g-t2'), 'retried')))
    const second = await claimed(db, 'a1')
    await end(db, second.run, 'succeeded', 'verdict_recorded')
    expect((await readiness())[2]).toBe(true)
  })

  it('follows the goal: nothing of a planned or paused goal is claimed', async () => {
    await db.transaction(async (tx) => {
      await plannedGoal(tx, 'g')
      await insertTasks(tx, [taskOf('g', 1)])
    })
    await agents(db, 'a1')
    expect(await claim(db, 'a1')).toBeUndefined()
    const active = await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, await goal(tx, 'g'), 'planned')))
    const paused = await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, active, 'paused')))
    expect(await claim(db, 'a1')).toBeUndefined()
    await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, paused, 'resumed')))
    expect((await claimed(db, 'a1')).task.id).toBe('g-t1')
  })

  it('of a task that needs an unknown one is never given', async () => {
    await activeGoal(db, 'g', [{ dependsOn: ['gone'] }])
    expect((await task(db, 'g-t1')).ready).toBe(false)
  })
})

describe('fences', () => {
  it('a stale version writes nothing and leaves no event', async () => {
    const old = await activeGoal(db, 'g', [{}])
    const oldTask = await task(db, 'g-t1')
    await db.transaction(async (tx) => {
      mustSucceed(await moveGoal(tx, old, 'paused'))
      mustSucceed(await moveTask(tx, oldTask, 'cancelled'))
    })
    const before = await countOf(db, 'event')
    expect(await moveGoal(db, old, 'cancelled')).toMatchObject({ ok: false, code: 'stale' })
    expect(await moveTask(db, oldTask, 'dependency_cancelled')).toMatchObject({ ok: false, code: 'stale' })
    expect(await goal(db, 'g')).toMatchObject({ state: 'paused' })
    expect(await countOf(db, 'event')).toBe(before)
  })

  it('an illegal move writes nothing and names the legal ones', async () => {
    const active = await activeGoal(db, 'g', [{}])
    const moved = await moveGoal(db, active, 'landed')
    expect(moved).toMatchObject({ ok: false, code: 'illegal' })
    expect(moved.ok ? '' : moved.message).toContain('it can be paused or cancelled')
    expect(await moveTask(db, await task(db, 'g-t1'), 'merged')).toMatchObject({ ok: false, code: 'illegal' })
    expect(await typesOf(db)).toEqual(['goal.created', 'task.created', 'goal.planned'])
  })

  it('the executor of a finished run writes nothing', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    await end(db, run, 'interrupted', 'interrupted')
    expect(await saveRun(db, run, { phase: 'launch' })).toMatchObject({ ok: false, code: 'stale' })
    expect(await db.transaction((tx) => finishRun(tx, run, 'succeeded', null))).toMatchObject({ code: 'stale' })
    expect(await setTaskCommands(db, run, [])).toBe(false)
    expect(await renewLease(db, run, 300)).toBe(false)
    expect(await getRun(db, run.id)).toMatchObject({ state: 'cancelled', phase: 'prepare' })
  })

  it('the first holder of a task that was claimed again writes nothing', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1', 'a2')
    const first = await claimed(db, 'a1')
    await end(db, first.run, 'interrupted', 'interrupted')
    const second = await claimed(db, 'a2')
    expect(second.run).toMatchObject({ epoch: 2, number: 2 })
    expect(await setTaskCommands(db, first.run, ['true'])).toBe(false)
    expect(await renewLease(db, first.run, 300)).toBe(false)
    expect(await setTaskCommands(db, second.run, ['npm test'])).toBe(true)
    expect(await task(db, 'g-t1')).toMatchObject({
      commands: ['npm test'],
      originalCommands: ['npm test', 'npm run lint'],
    })
  })

  it('a run whose lease is gone saves nothing although it is still running', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    await db.query(sql`delete from lease where run_id = ${run.id}`)
    expect(await saveRun(db, run, { phase: 'launch' })).toMatchObject({ ok: false, code: 'stale' })
  })

  it('two progress writes from one reading: the second is stale', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    const saved = mustSucceed(await saveRun(db, run, { phase: 'launch', sessionId: 's1' }))
    expect(await saveRun(db, run, { phase: 'verify' })).toMatchObject({ ok: false, code: 'stale' })
    expect(mustSucceed(await saveRun(db, saved, { phase: 'supervise' }))).toMatchObject({
      sessionId: 's1',
      phase: 'supervise',
    })
  })

  it('a renewed lease lives its full time again', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run, lease } = await claimed(db, 'a1')
    expect(await renewLease(db, run, 3000)).toBe(true)
    const after = await firstRow<{ expires_at: Date }>(db, sql`select expires_at from lease`)
    expect(Number(after?.expires_at) - Number(lease.expiresAt)).toBeGreaterThan(2_600_000)
  })
})

describe('statements', () => {
  it('give values and columns the types of the statement', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z')
    const text =
      'select $1::int as a, $2::float8 as b, $3::boolean as c, $4::timestamptz as d, $5::jsonb as e, $6::text as f'
    expect(await db.query({ text, values: [4, 0.5, true, at, '{"x":[1,"ü"]}', 'ß'] })).toEqual([
      { a: 4, b: 0.5, c: true, d: at, e: { x: [1, 'ü'] }, f: 'ß' },
    ])
    expect(await db.query({ text, values: [null, null, false, null, null, undefined] })).toEqual([
      { a: null, b: null, c: false, d: null, e: null, f: null },
    ])
  })

  it('see what a script changed in the tables, also when they ran before it', async () => {
    await db.script('create table thing (id int primary key)')
    const all = sql`select * from thing order by id`
    await db.query(sql`insert into thing values (1)`)
    expect(await db.query(all)).toEqual([{ id: 1 }])
    await db.script('alter table thing add column size int default 7')
    expect(await db.query(all)).toEqual([{ id: 1, size: 7 }])
    await db.script('drop table thing')
  })

  it('that come at once do not get the answers of each other', async () => {
    const asked = Array.from({ length: 20 }, (_, index) => db.query(sql`select ${index}::int as n`))
    expect(await Promise.all(asked)).toEqual(asked.map((_, index) => [{ n: index }]))
  })

  it('after the end fail instead of waiting for ever', async () => {
    const other = await openTestDb()
    await other.close()
    await expect(other.query(sql`select 1`)).rejects.toThrow()
  })
})

describe('transactions', () => {
  it('a rolled back move leaves neither the state nor its event', async () => {
    const active = await activeGoal(db, 'g', [{}])
    const before = await typesOf(db)
    await expect(
      db.transaction(async (tx) => {
        mustSucceed(await moveGoal(tx, active, 'paused'))
        mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'cancelled'))
        throw new Error('the power went')
      }),
    ).rejects.toThrow('the power went')
    expect(await goal(db, 'g')).toMatchObject({ state: 'active', version: active.version })
    expect(await task(db, 'g-t1')).toMatchObject({ status: 'queued' })
    expect(await typesOf(db)).toEqual(before)
  })

  it('a committed move leaves both', async () => {
    const active = await activeGoal(db, 'g', [{}])
    await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, active, 'paused', 'lunch')))
    expect(await goal(db, 'g')).toMatchObject({ state: 'paused', reason: 'lunch' })
    const last = (await readEvents(db, { after: 0, limit: 100 })).at(-1)
    expect(last).toMatchObject({ type: 'goal.paused', payload: { from: 'active', to: 'paused', reason: 'lunch' } })
  })

  it('a failed statement spoils neither the next transaction nor the next script', async () => {
    await expect(db.transaction((tx) => tx.query(sql`select 1 / 0`))).rejects.toMatchObject({ code: '22012' })
    await expect(db.script('begin; select 1 / 0; commit;')).rejects.toMatchObject({ code: '22012' })
    await activeGoal(db, 'g', [])
    expect(await goal(db, 'g')).toMatchObject({ state: 'active' })
  })

  it('many transactions at once take turns and lose nothing', async () => {
    await activeGoal(db, 'g', [])
    const spend = { tokens: 1, costUsd: 0.5, seconds: 2 }
    await Promise.all(Array.from({ length: 30 }, () => db.transaction((tx) => progressGoal(tx, 'g', { spend }))))
    expect(await goal(db, 'g')).toMatchObject({ spend: { tokens: 30, costUsd: 15, seconds: 60 } })
  })
})

describe('retries', () => {
  it('a failed task is due when its persisted time has come by the store clock', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    const at = new Date(Date.now() + 3_600_000)
    await db.transaction(async (tx) => {
      mustSucceed(await finishRun(tx, run, 'failed', null))
      const retry = { reason: 'provider_overloaded', at, count: 1, limit: 5 }
      mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'run_failed', { retry }))
    })
    expect(await dueTasks(db, 60)).toEqual([])
    const seconds = await secondsToNextRetry(db, new Date())
    expect(seconds).toBeGreaterThan(3500)
    expect(seconds).toBeLessThanOrEqual(3600)
    expect((await task(db, 'g-t1')).retry).toEqual({ reason: 'provider_overloaded', at, count: 1, limit: 5 })
    const later = new Date(at.getTime() + 1000).toISOString()
    const due = await db.transaction(async (tx) => {
      await tx.query(sql`select set_config('unstuck.now', ${later}, true)`)
      return dueTasks(tx, 60)
    })
    expect(due.map((entry) => entry.id)).toEqual(['g-t1'])
    // The simulated time ended with its transaction.
    expect(await dueTasks(db, 60)).toEqual([])
  })

  it('an account is at its limit by the store clock, until the later of two times, and is told free once', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    const at = (hours: number): Date => new Date(Date.now() + hours * 3_600_000)
    const limit = { account: 'claude:1', harnesses: ['claude'], evidence: 'limit', taskId: 'g-t1', runId: run.id }
    const [soon, late] = [at(1), at(5)]
    for (const until of [soon, late, soon]) await db.transaction((tx) => limitAccount(tx, { ...limit, until }, 'g'))
    expect(await limitedAccounts(db)).toMatchObject([{ account: 'claude:1', until: late, harnesses: ['claude'] }])
    await db.transaction(dropEndedLimits)
    expect(await limitedAccounts(db)).toHaveLength(1)
    const later = new Date(late.getTime() + 1000).toISOString()
    await db.transaction(async (tx) => {
      await tx.query(sql`select set_config('unstuck.now', ${later}, true)`)
      expect(await limitedAccounts(tx)).toEqual([])
      await dropEndedLimits(tx)
      await dropEndedLimits(tx)
    })
    expect((await typesOf(db)).filter((type) => type === 'account.available')).toHaveLength(1)
    await db.transaction((tx) => limitAccount(tx, { ...limit, until: late }, 'g'))
    await db.transaction((tx) => liftLimits(tx, 'codex'))
    expect(await limitedAccounts(db)).toHaveLength(1)
    await db.transaction((tx) => liftLimits(tx, 'claude'))
    expect(await limitedAccounts(db)).toEqual([])
  })

  it('a task that goes back to the queue has no countdown any more', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    await db.transaction(async (tx) => {
      mustSucceed(await finishRun(tx, run, 'failed', null))
      const retry = { reason: 'x', at: new Date(0), count: 1, limit: 5 }
      const failed = mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'run_failed', { retry }))
      expect(mustSucceed(await moveTask(tx, failed, 'retry_due'))).toMatchObject({ status: 'queued', retry: null })
    })
    expect(await secondsToNextRetry(db, new Date(0))).toBeUndefined()
    expect((await typesOf(db)).at(-1)).toBe('task.requeued')
  })
})

describe('recoveries', () => {
  it('are counted from the last retry by a person on', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const first = await claimed(db, 'a1')
    await db.transaction((tx) => insertRecovery(tx, recoveryOf(first.run)))
    await db.transaction((tx) => insertRecovery(tx, recoveryOf(first.run, { attempt: 2 })))
    expect(await recoveriesOf(db, 'g-t1')).toHaveLength(2)
    await end(db, first.run, 'failed', 'escalated')
    await db.transaction(async (tx) =>
      mustSucceed(await moveTask(tx, await task(tx, 'g-t1'), 'retried', { resetBudget: true })),
    )
    expect(await recoveriesOf(db, 'g-t1')).toEqual([])
    const second = await claimed(db, 'a1')
    await db.transaction(async (tx) => {
      // The clock was set back: what is tried now was not tried before the count began.
      await tx.query(sql`select set_config('unstuck.now', '2001-01-01T00:00:00Z', true)`)
      await insertRecovery(tx, recoveryOf(second.run))
    })
    expect((await recoveriesOf(db, 'g-t1')).map((entry) => entry.runId)).toEqual([second.run.id])
    expect(await listRecoveries(db, 'g')).toHaveLength(3)
  })

  it('a retry that is not a person goes on counting', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    await db.transaction((tx) => insertRecovery(tx, recoveryOf(run)))
    await end(db, run, 'interrupted', 'interrupted')
    expect(await recoveriesOf(db, 'g-t1')).toHaveLength(1)
  })

  it('a decided recovery emits one recovery event with the fields of the founding document', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    await db.transaction((tx) => insertRecovery(tx, recoveryOf(run)))
    expect(await typesOf(db)).not.toContain('recovery')
    const id = recoveryOf(run).id
    await db.transaction((tx) => resolveRecovery(tx, id, 'success', 'a session opened'))
    await db.transaction((tx) => resolveRecovery(tx, id, 'failed', 'too late'))
    const events = (await readEvents(db, { after: 0, limit: 100 })).filter((event) => event.type === 'recovery')
    expect(events).toHaveLength(1)
    expect(events[0]?.payload).toMatchObject({
      id,
      worker: 'codex',
      issue_detected: 'Not inside a trusted directory',
      action_taken: 'RELAUNCH_WITH_SKIP_GIT_CHECK',
      status: 'success',
      retry_count: 1,
    })
    expect(events[0]?.payload.id).toMatch(/^rec_/)
  })
})

describe('escalations', () => {
  it('the second of two answers is told that it was decided', async () => {
    await activeGoal(db, 'g', [{}])
    await db.transaction((tx) => openEscalation(tx, question('g-t1')))
    const pending = await pendingEscalationOf(db, 'g-t1')
    if (pending === undefined) throw new Error('no question')
    expect(await db.transaction((tx) => answerEscalation(tx, pending, 'retry'))).toMatchObject({ ok: true })
    expect(await db.transaction((tx) => answerEscalation(tx, pending, 'cancel'))).toMatchObject({ code: 'stale' })
    const [stored] = await listEscalations(db, { goalId: 'g' })
    expect(stored).toMatchObject({ state: 'approved', answer: 'retry' })
    expect(await db.transaction((tx) => answerEscalation(tx, stored!, 'cancel'))).toMatchObject({ code: 'illegal' })
  })

  it('of two answers at once exactly one wins', async () => {
    await activeGoal(db, 'g', [{}])
    await db.transaction((tx) => openEscalation(tx, question('g-t1')))
    const pending = (await pendingEscalationOf(db, 'g-t1'))!
    const answers = await Promise.all(
      (['retry', 'cancel', 'retry'] as const).map((choice) =>
        db.transaction((tx) => answerEscalation(tx, pending, choice)),
      ),
    )
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1)
  })

  it('a task has at most one pending question', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await db.transaction((tx) => openEscalation(tx, question('g-t1')))
    await expect(db.transaction((tx) => openEscalation(tx, question('g-t1', 'q2')))).rejects.toMatchObject({
      code: '23505',
    })
    await db.transaction((tx) => openEscalation(tx, question('g-t2', 'q3')))
    const pending = (await pendingEscalationOf(db, 'g-t1'))!
    await db.transaction(async (tx) => {
      mustSucceed(await answerEscalation(tx, pending, 'retry'))
      await openEscalation(tx, question('g-t1', 'q4'))
    })
    expect((await listEscalations(db, { pendingOnly: true })).map((entry) => entry.id).sort()).toEqual(['q3', 'q4'])
  })

  it('an overtaken question ends without an answer', async () => {
    await activeGoal(db, 'g', [{}])
    await db.transaction((tx) => openEscalation(tx, question('g-t1')))
    const pending = (await pendingEscalationOf(db, 'g-t1'))!
    const closed = await db.transaction(async (tx) => mustSucceed(await answerEscalation(tx, pending, 'overtaken')))
    expect(closed).toMatchObject({ state: 'expired', answer: null })
  })
})

describe('judge and merge', () => {
  const succeeded = async (agent: string) => {
    const { run } = await claimed(db, agent)
    const saved = mustSucceed(await saveRun(db, run, { commit: 'c'.repeat(40) }))
    await end(db, saved, 'succeeded', 'run_succeeded')
    return (await getRun(db, run.id))!
  }

  it('a successful run is judged once', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const run = await succeeded('a1')
    expect((await unjudgedRuns(db)).map((entry) => entry.id)).toEqual([run.id])
    const judged = await Promise.all([1, 2, 3].map(() => db.transaction((tx) => judgeRun(tx, run.id))))
    expect(judged.filter((entry) => entry !== undefined)).toMatchObject([
      { judgementVersion: 1, judgedAt: expect.any(Date) as Date },
    ])
    expect(await unjudgedRuns(db)).toEqual([])
  })

  it('a run that did not succeed is not judged', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    expect(await db.transaction((tx) => judgeRun(tx, run.id))).toBeUndefined()
  })

  it('a run enters the merge queue once', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const run = await succeeded('a1')
    await db.transaction((tx) => enqueueMerge(tx, 'm1', run))
    await db.transaction((tx) => enqueueMerge(tx, 'm2', run))
    expect(await listMerges(db, {})).toMatchObject([{ id: 'm1', number: 1, state: 'pending', attempts: 0 }])
    expect((await typesOf(db)).filter((type) => type === 'merge.enqueued')).toHaveLength(1)
  })

  it('a goal has one entry in processing at a time, and each claim is an attempt', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1', 'a2')
    for (const [agent, id] of [
      ['a1', 'm1'],
      ['a2', 'm2'],
    ] as const) {
      const run = await succeeded(agent)
      await db.transaction((tx) => enqueueMerge(tx, id, run))
    }
    const [first, second] = await listMerges(db, { goalId: 'g' })
    const taken = await db.transaction(async (tx) => mustSucceed(await moveMerge(tx, first!, 'claimed')))
    expect(taken.attempts).toBe(1)
    await expect(db.transaction((tx) => moveMerge(tx, second!, 'claimed'))).rejects.toMatchObject({ code: '23505' })
    expect(await db.transaction((tx) => moveMerge(tx, first!, 'claimed'))).toMatchObject({ code: 'stale' })
    const back = await db.transaction(async (tx) => mustSucceed(await moveMerge(tx, taken, 'outrun')))
    const again = await db.transaction(async (tx) => mustSucceed(await moveMerge(tx, back, 'claimed')))
    expect(again).toMatchObject({ attempts: 2, failures: 0 })
    // Both before and after its claim.
    const thrown = await db.transaction(async (tx) => mustSucceed(await moveMerge(tx, second!, 'threw')))
    expect(thrown).toMatchObject({ state: 'pending', attempts: 0, failures: 1 })
    const landedCommit = 'd'.repeat(40)
    await db.transaction(async (tx) => mustSucceed(await moveMerge(tx, again, 'merged', { landedCommit })))
    expect(await listMerges(db, { state: 'merged' })).toMatchObject([{ id: 'm1', landedCommit }])
  })
})

describe('the repository', () => {
  it('is noted per host, once for each directory that is seen', async () => {
    const noted = (host: string, directory: string) => db.transaction((tx) => recordDirectory(tx, host, directory))
    expect(await recordedDirectory(db, 'h1')).toBeUndefined()
    expect([await noted('h1', '1:2'), await noted('h1', '1:2'), await noted('h2', '9:9')]).toEqual([true, false, true])
    expect(await noted('h1', '1:3')).toBe(true)
    expect([await recordedDirectory(db, 'h1'), await recordedDirectory(db, 'h2')]).toEqual(['1:3', '9:9'])
  })
})

describe('agents', () => {
  it('a smaller configuration sends idle slots offline and leaves a leased one busy', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1', 'a2', 'a3')
    await claimed(db, 'a3')
    await agents(db, 'a1')
    const states = (await listAgents(db)).map(({ id, state }) => `${id} ${state}`)
    expect(states).toEqual(['a1 idle', 'a2 offline', 'a3 busy'])
    expect(await claim(db, 'a2')).toBeUndefined()
    expect((await countAll(db)).agents).toEqual({ idle: 1, offline: 1, busy: 1 })
  })

  it('a slot of an earlier configuration ends with its run, and serves again when it is registered again', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1', 'a2')
    const { run } = await claimed(db, 'a2')
    await agents(db, 'a1')
    await end(db, run, 'succeeded', 'run_succeeded')
    expect(await listAgents(db)).toMatchObject([{ state: 'idle' }, { id: 'a2', state: 'offline' }])
    const [left] = (await readEvents(db, { after: 0, limit: 1000 })).filter(({ type }) => type === 'agent.offline')
    expect(left?.payload).toEqual({ agents: ['a2'], engine: null, evidence: 'its slot is gone' })
    expect(await claim(db, 'a2')).toBeUndefined()
    await agents(db, 'a1', 'a2')
    expect((await claimed(db, 'a2')).task.number).toBe(2)
  })

  it('a busy one takes no second task', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1')
    await claimed(db, 'a1')
    const asked: string[] = []
    await db.transaction(async (tx) => {
      const counted: Queryable = { query: (statement) => (asked.push(statement.text), tx.query(statement)) }
      expect(await claimTask(counted, { agentId: 'a1', runId: 'second', ttlSeconds: 300 })).toBeUndefined()
    })
    // It is refused before the queue is looked at: the search locks what it finds.
    expect(asked).toHaveLength(1)
    expect(await task(db, 'g-t2')).toMatchObject({ status: 'queued', epoch: 0 })
  })

  it('registering again keeps a leased slot busy', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    await claimed(db, 'a1')
    await agents(db, 'a1')
    expect(await listAgents(db)).toMatchObject([{ id: 'a1', state: 'busy' }])
  })
})

describe('schema', () => {
  it.each([
    ['goal', 'state', goalFlow.states],
    ['task', 'state', taskStates],
    // `needs_human` stays readable: older data has it.
    ['task', 'block_reason', [...blockReasons, 'needs_human']],
    ['task', 'role', roles],
    ['run', 'state', runFlow.states],
    ['run', 'phase', runPhases],
    ['merge_entry', 'state', mergeFlow.states],
    ['escalation', 'state', escalationFlow.states],
    ['recovery_proposal', 'state', proposalFlow.states],
  ] as const)('the CHECK of %s.%s allows exactly what the domain lists', async (table, column, values) => {
    expect(await checkedValues(db, table, column)).toEqual([...values].sort())
  })

  it('a blocked task needs a reason and no other has one', async () => {
    await activeGoal(db, 'g', [{}])
    await expect(db.query(sql`update task set state = 'blocked'`)).rejects.toMatchObject({ code: '23514' })
    await expect(db.query(sql`update task set block_reason = 'quota_wait'`)).rejects.toMatchObject({ code: '23514' })
  })

  it('needs_human of older data is read as awaiting_judge', async () => {
    await activeGoal(db, 'g', [{}])
    await db.query(sql`update task set state = 'blocked', block_reason = 'needs_human'`)
    expect(await task(db, 'g-t1')).toMatchObject({ status: 'blocked(awaiting_judge)' })
  })

  it('the database itself refuses a second running run and a second lease of a task', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1', 'a2')
    const { run } = await claimed(db, 'a1')
    await expect(
      db.query(sql`insert into run (id, task_id, goal_id, number, epoch, agent_id, harness, state, phase, launches, spend)
        values ('other', ${run.taskId}, 'g', 2, 2, 'a2', 'codex', 'running', 'prepare', '[]', '{}')`),
    ).rejects.toMatchObject({ code: '23505' })
    await expect(
      db.query(sql`insert into lease (task_id, run_id, agent_id, epoch, expires_at)
        values (${run.taskId}, ${run.id}, 'a2', 2, now())`),
    ).rejects.toMatchObject({ code: '23505' })
    await expect(
      db.query(sql`insert into lease (task_id, run_id, agent_id, epoch, expires_at)
        values ('g-t2', ${run.id}, 'a1', 1, now())`),
    ).rejects.toThrow('lease_agent_id_key')
  })

  it('a claim that does not get the lease of a task takes the next one, and leaves the areas of the first free', async () => {
    const [first, second] = ['src/a/**', 'src/b/**'].map((path) => ({ allowedPaths: [path] }))
    await activeGoal(db, 'g', [{ ...first }, { ...second }])
    await agents(db, 'a1', 'a2')
    const { run } = await claimed(db, 'a1')
    await end(db, run, 'interrupted', 'interrupted')
    await db.query(sql`insert into lease (task_id, run_id, agent_id, epoch, expires_at)
    values (${run.taskId}, ${run.id}, 'a1', 1, now())`)
    expect((await claimed(db, 'a2')).task.id).toBe('g-t2')
    expect(await db.query(sql`select task_id from area_hold`)).toEqual([{ task_id: 'g-t2' }])
    expect(await task(db, 'g-t1')).toMatchObject({ status: 'queued', epoch: 1 })
  })

  it('migrating twice, or twenty at once, changes nothing', async () => {
    await migrate(db)
    await Promise.all(Array.from({ length: 20 }, () => migrate(db)))
    expect(await db.query(sql`select number from migration`)).toHaveLength(migrations.length)
  })

  it('a store of a newer version is refused by name', async () => {
    await db.query(sql`insert into migration (number) values (${migrations.length + 1})`)
    await expect(migrate(db)).rejects.toMatchObject({ code: 'STORE_VERSION' })
    await db.query(sql`delete from migration where number > ${migrations.length}`)
  })
})
