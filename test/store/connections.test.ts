/** What a store with several connections has: racing starters and claimers, who leads, notifications, and cut connections. */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EngineInfo } from '../../src/domain/engine.ts'
import { idleAgents, listAgents } from '../../src/store/agent.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, firstRow, isStoreTrouble, sql, type Db, type Queryable } from '../../src/store/db.ts'
import { getEngine, moveEngine, registerEngine } from '../../src/store/engine.ts'
import { appendEvent, readEvents, stableUpTo } from '../../src/store/event.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { openPostgres, type PostgresOptions } from '../../src/store/postgres.ts'
import { parseDatabaseUrl } from '../../src/store/postgres-location.ts'
import { finishRun } from '../../src/store/run.ts'
import { listTasks, moveTask } from '../../src/store/task.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { activeGoal, agents, claimed, empty, engineOf, task } from './scene.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database?.clear())

let made = 0
const freshId = (): string => `repo-${(made += 1).toString(16).padStart(12, '0')}`

const openIn = (id: string, options: Partial<PostgresOptions> = {}): Promise<Db> => database.openEmpty(id, options)

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
      await empty(db)
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
      await empty(db)
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

  it('who begins at the end begins before what is written but not committed, be it the newest or all there is', async () => {
    const id = freshId()
    const [db, other, third] = [await openMigrated(id), await openIn(id), await openIn(id)]
    const late = (work: () => Promise<void>): Promise<void> =>
      db.transaction(async (tx) => {
        await appendEvent(tx, { type: 'goal.created' })
        await work()
      })
    await late(async () => expect(await stableUpTo(other)).toBe(0))
    const end = await stableUpTo(other)
    await late(async () => {
      expect([await stableUpTo(other), await stableUpTo(other, end)]).toEqual([end, end])
      // A second one, after the newest id was read and before the events are.
      await third.transaction(async (tx) => {
        await appendEvent(tx, { type: 'task.created' })
        expect(await stableUpTo(other)).toBe(end)
      })
      expect(await stableUpTo(other)).toBe(end)
    })
    expect((await readEvents(other, { after: end, limit: 10 })).map(({ type }) => type)).toEqual([
      'goal.created',
      'task.created',
    ])
    await Promise.all([db, other, third].map((store) => store.close()))
  })

  it('what a rollback left long ago holds nobody up while another transaction writes', async () => {
    const id = freshId()
    const [db, other] = [await openMigrated(id), await openIn(id)]
    const abandon = (): Promise<unknown> =>
      other
        .transaction(async (tx) => appendEvent(tx, { type: 'lost' }).then(() => Promise.reject(new Error())))
        .catch(() => undefined)
    await abandon()
    await appendEvent(other, { type: 'long ago' })
    await other.query(sql`update event set at = at - interval '1 minute'`)
    const end = await stableUpTo(other)
    await db.transaction(async (tx) => {
      await appendEvent(tx, { type: 'late' })
      await appendEvent(other, { type: 'later' })
      expect(await stableUpTo(other)).toBe(end)
    })
    expect((await readEvents(other, { after: 0, limit: 10 })).map(({ type }) => type)).toEqual([
      'long ago',
      'late',
      'later',
    ])
    await Promise.all([db, other].map((store) => store.close()))
  })

  it('one engine leads; the next one gets the lead when the first has gone, or lost its session', async () => {
    const id = freshId()
    const first = await openMigrated(id, { mayLead: true })
    const second = await openIn(id, { mayLead: true })
    const plain = await openIn(id)
    expect([first.isLeader?.(), second.isLeader?.(), plain.isLeader?.()]).toEqual([true, false, false])
    await beside((client) =>
      client.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())`),
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

  const claimUnderWay = async (beside: (other: Db) => Promise<{ done?: Promise<unknown> }>): Promise<void> => {
    const id = freshId()
    const [db, other] = [await openMigrated(id), await openIn(id)]
    await activeGoal(db, 'g', [{}, {}])
    await db.transaction((tx) => registerEngine(tx, engineOf('e'), ['a1']))
    const asked = await db.transaction(async (tx) => {
      await claimTask(tx, { agentId: 'a1', runId: 'r', ttlSeconds: 60 })
      return await beside(other)
    })
    expect(await asked.done).toBeUndefined()
    expect((await listAgents(db)).find((agent) => agent.id === 'a1')).toMatchObject({ state: 'busy' })
    expect(await db.query(sql`select run_id from lease`)).toEqual([{ run_id: 'r' }])
    expect((await listTasks(db, 'g')).map(({ status }) => status)).toEqual(['running', 'queued'])
    await Promise.all([db.close(), other.close()])
  }

  it('an agent whose claim is under way is busy with it alone, beside another claim of it', () =>
    claimUnderWay(async (other) => {
      const done = other.transaction((tx) => claimTask(tx, { agentId: 'a1', runId: 'other', ttlSeconds: 60 }))
      await until('it waits', async () => (await other.query(waiting)).length === 1)
      return { done }
    }))

  it.each([
    ['its registration', ['a1']],
    ['the registration of a configuration without it', ['a2']],
  ])('an agent whose claim is under way is busy with it alone, beside %s', (_title, agentIds) =>
    claimUnderWay(async (other) => {
      await other.transaction((tx) => registerEngine(tx, engineOf('e'), agentIds))
      return {}
    }),
  )

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

describe('statements that are sent together', () => {
  it('are executed in their order, each with the effects of those before it', async () => {
    const db = await openMigrated()
    const [, first, , second] = await db.transaction((tx) =>
      Promise.all([
        appendEvent(tx, { type: 'one' }),
        tx.query(sql`select type from event order by id`),
        appendEvent(tx, { type: 'two' }),
        tx.query(sql`select type from event order by id`),
      ]),
    )
    expect([first, second]).toEqual([[{ type: 'one' }], [{ type: 'one' }, { type: 'two' }]])
    await db.close()
  })

  it('leave nothing behind when one of them fails, and its error is the one that is told', async () => {
    const db = await openMigrated()
    const failing = db.transaction((tx) =>
      Promise.all([
        appendEvent(tx, { type: 'before' }),
        tx.query(sql`select 1 / ${0}::int`),
        appendEvent(tx, { type: 'behind' }),
      ]),
    )
    await expect(failing).rejects.toMatchObject({ code: '22012' })
    await appendEvent(db, { type: 'later' })
    expect((await readEvents(db, { after: 0, limit: 10 })).map(({ type }) => type)).toEqual(['later'])
    await db.close()
  })

  it('leave nothing behind when the work forgets the error of one of them', async () => {
    const db = await openMigrated()
    const failing = db.transaction(async (tx) => {
      await appendEvent(tx, { type: 'before' })
      await tx.query(sql`select 1 / ${0}::int`).catch(() => undefined) // what the test is about
    })
    await expect(failing).rejects.toThrow('was rolled back')
    expect(await readEvents(db, { after: 0, limit: 10 })).toEqual([])
    await db.close()
  })
})

describe('work that goes on after its transaction has ended', () => {
  it('cannot write any more', async () => {
    const db = await openMigrated()
    const late = Promise.withResolvers<unknown>()
    const slow = async (tx: Queryable): Promise<void> => {
      await tx.query(sql`select 1`)
      await appendEvent(tx, { type: 'late' }).catch(late.resolve)
    }
    const failing = db.transaction((tx) => Promise.all([slow(tx), Promise.reject(new Error('the other part'))]))
    await expect(failing).rejects.toThrow('the other part')
    expect(String(await late.promise)).toContain('is over')
    expect(await readEvents(db, { after: 0, limit: 10 })).toEqual([])
    await db.close()
  })
})

describe('a table that another engine changes while its statements are prepared', () => {
  const select = sql`select * from job`
  /** Every connection of the pool has prepared the statement. */
  const prepared = async (id: string): Promise<Db> => {
    const db = await openMigrated(id)
    await Promise.all(Array.from({ length: 8 }, () => db.transaction((tx) => tx.query(select))))
    return db
  }
  const addColumn = async (id: string): Promise<void> => {
    const other = await openIn(id)
    await other.script(`alter table job add column more text; insert into job (name, due_at) values ('made', now())`)
    await other.close()
  }

  it('is read as it is now by single statements', async () => {
    const id = freshId()
    const db = await prepared(id)
    await addColumn(id)
    for (let turn = 0; turn < 8; turn += 1) expect(await db.query(select)).toMatchObject([{ name: 'made', more: null }])
    await db.close()
  })

  it('ends a transaction that reads it, which leaves nothing behind, and the next one works', async () => {
    const id = freshId()
    const db = await prepared(id)
    await addColumn(id)
    const failing = await db
      .transaction(async (tx) => {
        await appendEvent(tx, { type: 'before' })
        await tx.query(select)
      })
      .catch((error: unknown) => error)
    expect(isStoreTrouble(failing)).toBe(true)
    expect(await db.transaction((tx) => tx.query(select))).toMatchObject([{ name: 'made' }])
    expect(await readEvents(db, { after: 0, limit: 10 })).toEqual([])
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
    const wrong = Object.assign(new URL(database.url), { password: 'falsch' }).href
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
