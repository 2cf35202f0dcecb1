/** The conformance suite on PostgreSQL, and what only a store with several connections has. */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EngineInfo } from '../../src/domain/engine.ts'
import { idleAgents, listAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, firstRow, sql, type Db, type Queryable } from '../../src/store/db.ts'
import { getEngine, moveEngine, registerEngine } from '../../src/store/engine.ts'
import { appendEvent, readEvents } from '../../src/store/event.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { openPostgres, type PostgresOptions } from '../../src/store/postgres.ts'
import { parseDatabaseUrl } from '../../src/store/postgres-location.ts'
import { finishRun } from '../../src/store/run.ts'
import { listTasks, moveTask } from '../../src/store/task.ts'
import { exerciseStore } from '../store/exercise.ts'
import { exerciseDue } from '../store/exercise-due.ts'
import { engineOf, exerciseEngines } from '../store/exercise-engines.ts'
import { exerciseGrants } from '../store/exercise-grants.ts'
import { exerciseMigration } from '../store/exercise-migration.ts'
import { activeGoal, agents, claimed, task } from '../store/scene.ts'
import { openDatabase, type Database } from './database.ts'

let database: Database
beforeAll(async () => {
  database = await openDatabase()
})
afterAll(() => database?.clear())

let made = 0
const freshId = (): string => `repo-${(made += 1).toString(16).padStart(12, '0')}`

const openIn = (id: string, options: Partial<PostgresOptions> = {}): Promise<Db> =>
  openPostgres({ location: parseDatabaseUrl(database.url, id), ...options })

const openMigrated = async (id = freshId(), options: Partial<PostgresOptions> = {}): Promise<Db> => {
  const db = await openIn(id, options)
  await migrate(db)
  return db
}

/** A connection beside the store, as another program has one. */
const beside = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within 20 s`)
    await delay(5)
  }
}

/** Statements that wait for another one's lock. */
const waiting = sql`select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`

describe('granted and learned paths on PostgreSQL', () => exerciseGrants(() => openMigrated()))

describe('what is due on PostgreSQL', () => exerciseDue(() => openMigrated()))
describe('PostgreSQL', () => exerciseStore(() => openMigrated()))
describe('engines on PostgreSQL', () => exerciseEngines(() => openMigrated()))
describe('an older store on PostgreSQL', () =>
  exerciseMigration(() => {
    const id = freshId()
    return Promise.all(Array.from({ length: 5 }, () => openIn(id)))
  }))

describe('a store on a server', () => {
  it('twenty racing starters of an empty database migrate it once', async () => {
    const id = freshId()
    const stores = await Promise.all(Array.from({ length: 20 }, () => openIn(id)))
    await Promise.all(stores.map(migrate))
    const db = stores[0] as Db
    expect(await db.query(sql`select number from migration`)).toHaveLength(migrations.length)
    expect(await Promise.all(stores.map((store) => store.query(sql`select * from goal`)))).toEqual(stores.map(() => []))
    await Promise.all(stores.map((store) => store.close()))
  })

  it('repositories in one database do not see each other', async () => {
    const [first, second] = [await openMigrated(), await openMigrated()]
    await activeGoal(first, 'g', [{}])
    expect(await listTasks(second, null)).toEqual([])
    await activeGoal(second, 'g', [{}, {}])
    expect(await listTasks(first, null)).toHaveLength(1)
    await Promise.all([first.close(), second.close()])
  })

  it('gives tasks of one area to one of many racing connections, and other tasks to the rest', async () => {
    const id = freshId()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openMigrated(id)))
    const db = stores[0] as Db
    const names = stores.map((_store, index) => `a${index}`)
    const areas = [...Array.from({ length: 6 }, () => ({ targetArea: 'api' })), { targetArea: 'ui' }, {}]
    for (let round = 0; round < 10; round += 1) {
      await activeGoal(db, `g${round}`, areas)
      await agents(db, ...names)
      await Promise.all(
        stores.map((store, index) =>
          store.transaction((tx) =>
            claimTask(tx, { agentId: names[index] ?? '', runId: `r${round}-${index}`, ttlSeconds: 300 }),
          ),
        ),
      )
      const running = (await listTasks(db, `g${round}`)).filter((entry) => entry.status === 'running')
      expect(running.filter((entry) => entry.targetArea === 'api')).toHaveLength(1)
      expect(new Set(running.map((entry) => entry.targetArea))).toEqual(new Set(['api', 'ui', null]))
      await db.script('truncate goal, agent cascade')
    }
    await Promise.all(stores.map((store) => store.close()))
  })

  it('two last needed tasks that end at the same moment make the third ready', async () => {
    const db = await openMigrated()
    for (let round = 0; round < 10; round += 1) {
      const g = `g${round}`
      await activeGoal(db, g, [{}, {}, { dependsOn: [`${g}-t1`, `${g}-t2`] }])
      await agents(db, 'a1', 'a2')
      const runs = [(await claimed(db, 'a1')).run, (await claimed(db, 'a2')).run]
      await Promise.all(
        runs.map((run) =>
          db.transaction(async (tx) => {
            mustSucceed(await finishRun(tx, run, 'succeeded', null))
            mustSucceed(await moveTask(tx, await task(tx, run.taskId), 'verdict_recorded'))
          }),
        ),
      )
      expect(await task(db, `${g}-t3`)).toMatchObject({ ready: true })
      await db.script('truncate goal, agent cascade')
    }
    await db.close()
  })

  it('a follower of events is not led past one that commits late', async () => {
    const id = freshId()
    const [db, other] = [await openMigrated(id), await openIn(id)]
    const types = async (after: number): Promise<[number, string][]> =>
      (await readEvents(db, { after, limit: 10 })).map((event) => [event.id, event.type])
    await appendEvent(db, { type: 'engine.started' })
    const seen = await types(0)
    const cursor = seen[0]?.[0] ?? 0
    await db.transaction(async (tx) => {
      await appendEvent(tx, { type: 'goal.created' })
      await appendEvent(other, { type: 'task.created' })
      expect(await types(cursor)).toEqual([])
    })
    expect(await types(cursor)).toEqual([
      [cursor + 1, 'goal.created'],
      [cursor + 2, 'task.created'],
    ])
    // What a rollback left holds nobody up.
    await db
      .transaction(async (tx) => appendEvent(tx, { type: 'goal.planned' }).then(() => Promise.reject(new Error())))
      .catch(() => undefined)
    await appendEvent(other, { type: 'goal.done' })
    expect(await types(cursor + 2)).toEqual([[cursor + 4, 'goal.done']])
    await Promise.all([db.close(), other.close()])
  })

  it('one engine leads; the next one gets the lead when the first has gone, or lost its session', async () => {
    const id = freshId()
    const first = await openMigrated(id, { mayLead: true })
    const second = await openIn(id, { mayLead: true })
    const plain = await openIn(id)
    expect([first.isLeader?.(), second.isLeader?.(), plain.isLeader?.()]).toEqual([true, false, false])
    await beside((client) =>
      client.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1`),
    )
    await until('one of them leads again', () => first.isLeader?.() !== second.isLeader?.())
    await (first.isLeader?.() === true ? first : second).close()
    const left = first.isLeader?.() === true ? second : first
    await until('the other one leads', () => [first, second].some((db) => db.isLeader?.() === true))
    await Promise.all([left, plain].map((db) => db.close().catch(() => undefined)))
  })

  it('an engine that registers again while it is being buried keeps its agents', async () => {
    const id = freshId()
    const [db, leader] = [await openMigrated(id), await openIn(id)]
    const register = (tx: Queryable): Promise<void> => registerEngine(tx, engineOf('e'), ['a1', 'a2'])
    await db.transaction(register)
    const seen = (await getEngine(db, 'e')) as EngineInfo
    const buried = await db.transaction(async (tx) => {
      await register(tx)
      const work = leader.transaction((other) => moveEngine(other, seen, 'died'))
      await until('it waits', async () => (await db.query(waiting)).length === 1)
      return { work }
    })
    expect(await buried.work).toMatchObject({ code: 'stale' })
    expect(await idleAgents(db, 'e')).toEqual(['a1', 'a2'])
    expect((await readEvents(db, { after: 0, limit: 100 })).map(({ type }) => type)).not.toContain('agent.offline')
    await Promise.all([db.close(), leader.close()])
  })

  it.each<[string, (tx: Queryable) => Promise<unknown>]>([
    ['another claim of it', (tx) => claimTask(tx, { agentId: 'a1', runId: 'other', ttlSeconds: 60 })],
    ['its registration', (tx) => registerEngine(tx, engineOf('e'), ['a1'])],
    ['the registration of a configuration without it', (tx) => registerEngine(tx, engineOf('e'), ['a2'])],
  ])('an agent whose claim is under way is busy with it alone, beside %s', async (_title, work) => {
    const id = freshId()
    const [db, other] = [await openMigrated(id), await openIn(id)]
    await activeGoal(db, 'g', [{}, {}])
    await db.transaction((tx) => registerEngine(tx, engineOf('e'), ['a1']))
    const asked = await db.transaction(async (tx) => {
      await claimTask(tx, { agentId: 'a1', runId: 'r', ttlSeconds: 60 })
      const done = other.transaction(work)
      await until('it waits', async () => (await db.query(waiting)).length === 1)
      return { done }
    })
    expect(await asked.done).toBeUndefined()
    expect((await listAgents(db)).find((agent) => agent.id === 'a1')).toMatchObject({ state: 'busy' })
    expect(await db.query(sql`select run_id from lease`)).toEqual([{ run_id: 'r' }])
    expect((await listTasks(db, 'g')).map(({ status }) => status)).toEqual(['running', 'queued'])
    await Promise.all([db.close(), other.close()])
  })

  it('a change of another process rings within 100 ms; an own one does not ring', async () => {
    const id = freshId()
    let rung = 0
    const db = await openMigrated(id, { onForeignChange: () => (rung += 1) })
    const other = await openIn(id)
    await until('it listens', () => rung > 0)
    const waits: number[] = []
    for (let round = 0; round < 20; round += 1) {
      const before = rung
      const begun = performance.now()
      await other.transaction((tx) => appendEvent(tx, { type: 'engine.started' }))
      await until('the bell rings', () => rung > before)
      waits.push(performance.now() - begun)
    }
    waits.sort((a, b) => a - b)
    const [median, worst] = [waits[10] ?? Infinity, waits.at(-1) ?? Infinity]
    console.log(`notification: median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`)
    expect(median).toBeLessThan(100)
    const quiet = rung
    await appendEvent(db, { type: 'engine.started' })
    await other.transaction((tx) => appendEvent(tx, { type: 'engine.stopped' }))
    await until('the foreign one rings', () => rung > quiet)
    expect(rung).toBe(quiet + 1)
    await Promise.all([db.close(), other.close()])
  })

  it('a listener whose connection was cut comes back and rings for what it may have missed', async () => {
    const id = freshId()
    let rung = 0
    const db = await openMigrated(id, { onForeignChange: () => (rung += 1) })
    await until('it listens', () => rung > 0)
    const before = rung
    await beside((client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and datname = current_database()`,
      ),
    )
    await until('it rings after its return', () => rung > before)
    await db.close()
  })
})

describe('an outage', () => {
  it('of a statement says so, is not repeated, and the next statement works', async () => {
    const db = await openMigrated()
    const cut = db.transaction(async (tx) => {
      const self = await firstRow<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`)
      await appendEvent(tx, { type: 'engine.started' })
      await beside((client) => client.query('select pg_terminate_backend($1)', [self?.pid]))
      await tx.query(sql`select 1`)
    })
    await expect(cut).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await readEvents(db, { after: 0, limit: 10 })).toEqual([])
    await db.close()
  })

  it('a wrong password, and what is no URL, are told at once and without it', async () => {
    const wrong = database.url.replace('geheim', 'falsch')
    const refused = await openPostgres({ location: parseDatabaseUrl(wrong, freshId()) }).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(String(refused)).not.toContain('falsch')
    expect(() => parseDatabaseUrl('postgres//user:falsch@host', 'x')).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('falsch') }),
    )
  })
})
