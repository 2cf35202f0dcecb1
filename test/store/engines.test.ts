/** What must hold of engines, lanes, areas, leases and leadership in the store. */
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { areasOf, overlapOf } from '../../src/domain/area.ts'
import { engineFlow } from '../../src/domain/engine.ts'
import { lanes } from '../../src/domain/task.ts'
import { idleAgents, listAgents } from '../../src/store/agent.ts'
import { claimTask, type Claim, type ClaimRequest } from '../../src/store/claim.ts'
import { mustSucceed, firstRow, sql, type Db, type Queryable } from '../../src/store/db.ts'
import {
  recordHeartbeat,
  getEngine,
  listEngines,
  moveEngine,
  registerEngine,
  type NewEngine,
} from '../../src/store/engine.ts'
import { appendEvent, readEvents } from '../../src/store/event.ts'
import { confirmLeadership, fencedByTerm, currentLeader, becomeLeader } from '../../src/store/leader.ts'
import {
  requestRunStop,
  dropDanglingLease,
  getRun,
  requireLease,
  lockExpiredLease,
  renewLeases,
  runsOfEngine,
} from '../../src/store/run.ts'
import { moveTask } from '../../src/store/task.ts'
import { countBreaches, readVitals } from '../../src/store/vitals.ts'
import { activeGoal, agents, claim, claimed, empty, end, engineOf, task } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'
import { samples } from '../support/samples.ts'

const register = (db: Db, engine: NewEngine, ...ids: string[]): Promise<void> =>
  db.transaction((tx) => registerEngine(tx, engine, ids))

let claims = 0
const claimAs = (db: Db, agentId: string, more: Partial<ClaimRequest> = {}): Promise<Claim | undefined> =>
  db.transaction((tx) => claimTask(tx, { agentId, runId: `engines-${(claims += 1)}`, ttlSeconds: 300, ...more }))

const typesOf = async (db: Queryable): Promise<string[]> =>
  (await readEvents(db, { after: 0, limit: 1000 })).map((event) => event.type)

/** The agents that events of a type speak of. */
const told = async (db: Queryable, type: string): Promise<unknown[]> =>
  (await readEvents(db, { after: 0, limit: 1000 }))
    .filter((event) => event.type === type)
    .map(({ payload }) => payload['agents'])

const later = (db: Db, table: 'lease' | 'engine' | 'run' | 'task', column: string, seconds: number): Promise<unknown> =>
  db.query({ text: `update ${table} set ${column} = ${column} - make_interval(secs => $1::float8)`, values: [seconds] })

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db?.close())
beforeEach(async () => {
  await empty(db)
  await db.query(sql`update leader set engine_id = null, term = 0`)
})

describe('areas', () => {
  it('overlap in the store exactly as in the domain', async () => {
    const segment = fc.constantFrom('a', 'b', 'a-b', 'ab', 'a.b', 'Ä', '0', 'a b')
    const area = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
    const areas = fc.array(area, { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(areas, areas, async (some, others) => {
        const row = await firstRow<{ overlap: boolean | null }>(
          db,
          sql`select area_spans(${JSON.stringify(some)}::jsonb) && area_spans(${JSON.stringify(others)}::jsonb) as overlap`,
        )
        expect(row?.overlap ?? false).toBe(overlapOf(some, others) !== undefined)
      }),
      { numRuns: samples(200) },
    )
  })

  it('that overlap are at work one after the other, sets and containment included', async () => {
    await activeGoal(db, 'g', [
      { allowedPaths: ['src/api/**', 'docs/a.md'] },
      { allowedPaths: ['src/**'] },
      { allowedPaths: ['docs/**', 'lib/**'] },
      { allowedPaths: ['lib/x.ts', 'package-lock.json'] },
      { allowedPaths: ['**'] },
    ])
    await agents(db, 'a1', 'a2', 'a3', 'a4')
    const numbers: (number | undefined)[] = []
    const first = await claimed(db, 'a1')
    for (const id of ['a2', 'a3', 'a4']) numbers.push((await claim(db, id))?.task.number)
    expect([first.task.number, ...numbers]).toEqual([1, 4, 5, undefined])
    await end(db, first.run, 'succeeded', 'run_succeeded')
    // Its work is not merged yet: what begins now would begin without it.
    expect(await claim(db, 'a1')).toBeUndefined()
    await db.transaction(async (tx) => moveTask(tx, await task(tx, first.task.id), 'merged'))
    expect((await claimed(db, 'a1')).task.number).toBe(2)
  })

  it('the database itself refuses to hold two areas that overlap', async () => {
    await activeGoal(db, 'g', [{ targetArea: 'src' }, { targetArea: 'ui' }])
    await agents(db, 'a1', 'a2')
    await claimed(db, 'a1')
    const { task: other } = await claimed(db, 'a2')
    await expect(
      db.query(sql`update area_hold set span = area_spans('["src/x"]') where task_id = ${other.id}`),
    ).rejects.toMatchObject({ code: '23P01' })
  })

  it('of a task are kept with it', async () => {
    await activeGoal(db, 'g', [{ allowedPaths: ['src/**', 'yarn.lock'] }])
    expect(await task(db, 'g-t1')).toMatchObject({ areas: ['src'], lane: 'feature', engineId: null })
    expect((await task(db, 'g-t1')).areas).toEqual(areasOf({ targetArea: null, allowedPaths: ['src/**'] }))
    expect(Object.keys(await task(db, 'g-t1'))).not.toContain('span')
  })
})

describe('the order of claims', () => {
  it('an old task of low priority goes before a young one of high priority', async () => {
    await activeGoal(db, 'g', [{ priority: 0 }, { priority: 10 }])
    await agents(db, 'a1', 'a2')
    await db.query(sql`update task set rank = rank - 6001 where number = 1`)
    expect((await claimed(db, 'a1')).task.number).toBe(1)
  })

  it('is read from the partial index', async () => {
    const plan = await db.query<Record<string, string>>(
      sql`explain select id from task where state = 'queued' and ready order by rank, id limit 1`,
    )
    await db.query(sql`select 1`)
    expect(plan.map((row) => Object.values(row)[0]).join('\n')).toMatch(/task_claimable|Sort/)
  })

  it('leaves what the agent has no harness for, and takes it where there is one', async () => {
    await activeGoal(db, 'g', [{ harness: 'claude' }, {}])
    await agents(db, 'a1', 'a2')
    expect((await claimAs(db, 'a1', { harnesses: ['codex'] }))?.task.number).toBe(2)
    expect(await claimAs(db, 'a2', { harnesses: ['codex'] })).toBeUndefined()
    expect((await claimAs(db, 'a2', { harnesses: ['codex', 'claude'] }))?.task.number).toBe(1)
  })

  it('gives a task that belongs to one engine to no other', async () => {
    await register(db, engineOf('e-1'), 'e-1-1')
    await register(db, engineOf('e-2'), 'e-2-1')
    await activeGoal(db, 'g', [{ engineId: 'e-2' }])
    expect(await claimAs(db, 'e-1-1')).toBeUndefined()
    expect((await claimAs(db, 'e-2-1'))?.task.number).toBe(1)
  })
})

describe('lanes', () => {
  const docs = (count: number) => Array.from({ length: count }, () => ({ role: 'docser' as const, priority: 5 }))

  it('take no more than their slots, and give them back', async () => {
    await activeGoal(db, 'g', docs(2))
    await agents(db, 'a1', 'a2')
    const first = await claimed(db, 'a1')
    expect(first.task.lane).toBe('docser')
    expect(await claim(db, 'a2')).toBeUndefined()
    await end(db, first.run, 'succeeded', 'run_succeeded')
    expect((await claimed(db, 'a2')).task.number).toBe(2)
  })

  it('of conflicts has two slots', async () => {
    await activeGoal(
      db,
      'g',
      Array.from({ length: 3 }, () => ({ lane: 'conflict_recovery' as const })),
    )
    await agents(db, 'a1', 'a2', 'a3')
    expect([await claim(db, 'a1'), await claim(db, 'a2')].every((entry) => entry !== undefined)).toBe(true)
    expect(await claim(db, 'a3')).toBeUndefined()
  })

  it('other than features leave the last idle agent to a feature that waits', async () => {
    await activeGoal(db, 'g', [...docs(1), {}])
    await agents(db, 'a1')
    expect((await claimed(db, 'a1')).task.number).toBe(2)
  })

  it('the database itself refuses a slot twice', async () => {
    await activeGoal(db, 'g', [{ lane: 'conflict_recovery' }, { lane: 'conflict_recovery' }])
    await agents(db, 'a1', 'a2')
    await claimed(db, 'a1')
    await claimed(db, 'a2')
    await expect(db.query(sql`update lease set lane_slot = 1`)).rejects.toMatchObject({ code: '23505' })
  })
})

describe('engines', () => {
  it('register with their agents, and again after a restart', async () => {
    await register(db, engineOf('e-1'), 'e-1-1', 'e-1-2')
    await register(db, engineOf('e-2', { host: 'other' }), 'e-2-1')
    await register(db, engineOf('e-1', { pid: 2 }), 'e-1-1')
    const states = (await listAgents(db)).map(({ id, state, engineId }) => `${id} ${state} ${engineId}`)
    expect(states).toEqual(['e-1-1 idle e-1', 'e-1-2 offline e-1', 'e-2-1 idle e-2'])
    expect((await listEngines(db)).map(({ id, pid, state }) => `${id} ${pid} ${state}`).sort()).toEqual([
      'e-1 2 online',
      'e-2 1 online',
    ])
    expect(await idleAgents(db, 'e-1')).toEqual(['e-1-1'])
  })

  it('that drain or left claim nothing', async () => {
    await activeGoal(db, 'g', [{}])
    await register(db, engineOf('e-1'), 'e-1-1')
    await db.transaction(async (tx) => mustSucceed(await moveEngine(tx, (await getEngine(tx, 'e-1'))!, 'drained')))
    expect(await claimAs(db, 'e-1-1')).toBeUndefined()
    await db.transaction(async (tx) => mustSucceed(await moveEngine(tx, (await getEngine(tx, 'e-1'))!, 'left')))
    expect(await claimAs(db, 'e-1-1')).toBeUndefined()
    expect(await listAgents(db)).toMatchObject([{ state: 'offline' }])
    expect(await told(db, 'agent.offline')).toEqual([['e-1-1']])
    await register(db, engineOf('e-1'), 'e-1-1')
    expect((await claimAs(db, 'e-1-1'))?.task.number).toBe(1)
  })

  it('that go offline keep a busy agent busy until its lease ends', async () => {
    await activeGoal(db, 'g', [{}])
    await register(db, engineOf('e-1'), 'e-1-1', 'e-1-2')
    const { run } = (await claimAs(db, 'e-1-1'))!
    await db.transaction(async (tx) => mustSucceed(await moveEngine(tx, (await getEngine(tx, 'e-1'))!, 'left')))
    const states = async () => (await listAgents(db)).map(({ state }) => state)
    expect(await states()).toEqual(['busy', 'offline'])
    expect(await told(db, 'agent.offline')).toEqual([['e-1-2']])
    await end(db, run, 'interrupted', 'interrupted')
    expect(await states()).toEqual(['offline', 'offline'])
    expect(await told(db, 'agent.offline')).toEqual([['e-1-2'], ['e-1-1']])
    await register(db, engineOf('e-1'), 'e-1-1', 'e-1-2')
    expect(await states()).toEqual(['idle', 'idle'])
  })

  it('a heartbeat says what changed, and how the others see the engine', async () => {
    await register(db, engineOf('e-1'), 'e-1-1')
    await later(db, 'engine', 'heartbeat_at', 100)
    expect(await recordHeartbeat(db, 'e-1', { harnesses: ['claude'], waiting: 'waiting for disk' })).toBe('online')
    expect(await getEngine(db, 'e-1')).toMatchObject({ harnesses: ['claude'], waiting: 'waiting for disk' })
    expect((await readVitals(db, 1)).engines).toEqual([])
    expect(await recordHeartbeat(db, 'gone', { harnesses: [], waiting: null })).toBeUndefined()
  })

  it('is not buried when it gave a sign of life since it was looked at', async () => {
    await register(db, engineOf('e-1'), 'e-1-1')
    const seen = (await getEngine(db, 'e-1'))!
    await recordHeartbeat(db, 'e-1', { harnesses: [], waiting: null })
    expect(await db.transaction((tx) => moveEngine(tx, seen, 'died'))).toMatchObject({ code: 'stale' })
    const fresh = (await getEngine(db, 'e-1'))!
    expect(await db.transaction((tx) => moveEngine(tx, fresh, 'died'))).toMatchObject({ ok: true })
    expect(await db.transaction((tx) => moveEngine(tx, mustSucceed({ ok: true, value: fresh }), 'left'))).toMatchObject(
      {
        ok: false,
      },
    )
  })
})

describe('leases', () => {
  it('of an engine are renewed together, those that are still its own', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await agents(db, 'a1', 'a2')
    const [one1, two] = [await claimed(db, 'a1'), await claimed(db, 'a2')]
    const held = [one1, two].map(({ run }) => ({ runId: run.id, epoch: run.epoch }))
    expect(await renewLeases(db, held.slice(0, 1), 300)).toEqual([one1.run.id])
    expect((await renewLeases(db, held, 300)).sort()).toEqual([one1.run.id, two.run.id].sort())
    await end(db, one1.run, 'interrupted', 'interrupted')
    expect(await renewLeases(db, held, 300)).toEqual([two.run.id])
    expect(await renewLeases(db, [], 300)).toEqual([])
    await db.transaction((tx) => requireLease(tx, two.run))
    await expect(db.transaction((tx) => requireLease(tx, one1.run))).rejects.toThrow('is lost')
  })

  it('are expired by the clock of the store alone', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    expect(await db.transaction((tx) => lockExpiredLease(tx, run.id, run.epoch))).toBe(false)
    await later(db, 'lease', 'expires_at', 301)
    expect(await db.transaction((tx) => lockExpiredLease(tx, run.id, run.epoch))).toBe(true)
    expect(await db.transaction((tx) => lockExpiredLease(tx, run.id, run.epoch + 1))).toBe(false)
  })

  it('that dangle are dropped, those in use are not', async () => {
    await activeGoal(db, 'g', [{}])
    await agents(db, 'a1')
    const { run } = await claimed(db, 'a1')
    expect(await dropDanglingLease(db, run.id)).toBeUndefined()
    await db.query(sql`update run set state = 'cancelled' where id = ${run.id}`)
    expect(await countBreaches(db)).toEqual({ doubleRuns: 0, dangling: 1, unleased: 0 })
    expect(await dropDanglingLease(db, run.id)).toBe('a1')
    expect(await listAgents(db)).toMatchObject([{ state: 'idle' }])
  })
})

describe('what the healing layer sees', () => {
  it('is nothing while everything fits', async () => {
    await activeGoal(db, 'g', [{}, {}])
    await register(db, engineOf('e-1'), 'e-1-1')
    await claimAs(db, 'e-1-1')
    const none = { leases: [], unleased: [], orphans: [], engines: [] }
    expect(await readVitals(db, 1)).toEqual(none)
    expect(await countBreaches(db)).toEqual({ doubleRuns: 0, dangling: 0, unleased: 0 })
  })

  it('is each thing that does not, with the signs of its engine', async () => {
    await activeGoal(db, 'g', [{}, {}, {}])
    await register(db, engineOf('e-1'), 'e-1-1', 'e-1-2', 'e-1-3')
    const [a, b, c] = [await claimAs(db, 'e-1-1'), await claimAs(db, 'e-1-2'), await claimAs(db, 'e-1-3')]
    await later(db, 'lease', 'expires_at', 400)
    await later(db, 'engine', 'heartbeat_at', 90)
    await later(db, 'run', 'started_at', 20)
    await later(db, 'task', 'changed_at', 20)
    await db.query(sql`delete from lease where run_id = ${b!.run.id}`)
    await db.query(sql`delete from lease where run_id = ${c!.run.id}`)
    await db.query(sql`update run set state = 'failed' where id = ${c!.run.id}`)
    const found = await readVitals(db, 10)
    expect(await countBreaches(db)).toEqual({ doubleRuns: 0, dangling: 0, unleased: 1 })
    const identity = { host: 'host', bootId: 'boot', pid: 1, startTime: '1' }
    expect(found.leases).toMatchObject([
      { runId: a!.run.id, agentId: 'e-1-1', used: true, engineId: 'e-1', engineState: 'online', engine: identity },
    ])
    expect(found.leases[0]?.expired).toBeGreaterThan(99)
    expect(found.leases[0]?.silent).toBeGreaterThan(89)
    expect(found.unleased).toMatchObject([{ runId: b!.run.id, taskId: b!.task.id, engineId: 'e-1', ttlSeconds: 60 }])
    expect(found.orphans).toMatchObject([{ taskId: c!.task.id }])
    expect(found.engines).toMatchObject([{ engineId: 'e-1', leases: 1, expiredLeases: 1 }])
  })
})

describe('a wish to stop', () => {
  it('is seen by the engine that executes the run, and by it alone', async () => {
    await activeGoal(db, 'g', [{}])
    await register(db, engineOf('e-1'), 'e-1-1')
    await register(db, engineOf('e-2'), 'e-2-1')
    const taken = (await claimAs(db, 'e-1-1'))!
    expect(await db.transaction((tx) => requestRunStop(tx, taken.run))).toBe(true)
    expect(await runsOfEngine(db, 'e-1')).toMatchObject([
      { run: { id: taken.run.id, stopAsked: 'cancelled' }, expired: false },
    ])
    expect(await runsOfEngine(db, 'e-2')).toEqual([])
    expect(await typesOf(db)).toContain('run.stop_asked')
    await end(db, taken.run, 'cancelled', 'cancelled')
    expect(await db.transaction((tx) => requestRunStop(tx, taken.run))).toBe(false)
    expect(await getRun(db, taken.run.id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('the lead', () => {
  it('passes to the next term, and the one before writes nothing more', async () => {
    const first = fencedByTerm(db, await becomeLeader(db, 'e-1'))
    await appendEvent(first, { type: 'engine.started' })
    await first.transaction((tx) => appendEvent(tx, { type: 'engine.started' }))
    const second = fencedByTerm(db, await becomeLeader(db, 'e-2'))
    expect(await currentLeader(db)).toEqual({ engineId: 'e-2', term: 2 })
    await expect(appendEvent(first, { type: 'engine.stopped' })).rejects.toThrow('another engine is the leader')
    await expect(first.transaction((tx) => appendEvent(tx, { type: 'engine.stopped' }))).rejects.toThrow(
      'is the leader',
    )
    await expect(confirmLeadership(first)).rejects.toThrow('is the leader')
    await confirmLeadership(second)
    await appendEvent(second, { type: 'engine.stopped' })
    expect(await first.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    const types = await typesOf(db)
    expect(types.filter((type) => type === 'engine.stopped')).toHaveLength(1)
    expect(types.filter((type) => type === 'leader.changed')).toHaveLength(2)
  })

  it('of one engine that starts again is a new term without a change', async () => {
    await becomeLeader(db, 'e-1')
    expect(await becomeLeader(db, 'e-1')).toBe(2)
    expect((await typesOf(db)).filter((type) => type === 'leader.changed')).toHaveLength(1)
  })
})

describe('the schema of engines', () => {
  it.each([
    ['engine', 'state', engineFlow.states],
    ['task', 'lane', lanes],
  ] as const)('lists in the CHECK of %s.%s what the domain lists', async (table, column, values) => {
    const rows = await db.query<{ text: string }>(
      sql`select pg_get_constraintdef(oid) as text from pg_constraint where contype = 'c' and conrelid = ${table}::regclass`,
    )
    const found = rows.map(({ text }) => text).filter((text) => text.includes(`(${column} = ANY`))
    expect([...(found[0] ?? '').matchAll(/'(\w+)'::text/g)].map((match) => match[1] ?? '').sort()).toEqual(
      [...values].sort(),
    )
  })
})
