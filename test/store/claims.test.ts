/** Fifty claimers on a real server, and who leads: what the keys of the database decide, whatever everybody saw before. */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { overlapOf } from '../../src/domain/area.ts'
import { capOf, defaultLanes } from '../../src/domain/dispatch.ts'
import type { Lane } from '../../src/domain/task.ts'
import { claimTask } from '../../src/store/claim.ts'
import { isStoreTrouble, mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { registerEngine } from '../../src/store/engine.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import type { GracePeriod } from '../../src/runtime/engine/grace-period.ts'
import { createLeadership, holderPatienceMs } from '../../src/runtime/engine/leadership.ts'
import {
  becomeLeader,
  confirmLeadership,
  endSilentLeaderSession,
  fencedByTerm,
  findHolderWithoutTerm,
} from '../../src/store/leader.ts'
import { migrate } from '../../src/store/migrate.ts'
import { finishRun } from '../../src/store/run.ts'
import { listTasks, moveTask, type NewTask } from '../../src/store/task.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { activeGoal, agents, engineOf, task } from './scene.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database?.clear())

let made = 0
const freshId = (): string => `claims-${(made += 1).toString(16).padStart(12, '0')}`
const open = async (id: string, lead = false): Promise<Db> => {
  const db = await database.openEmpty(id, { mayLead: lead })
  await migrate(db)
  return db
}

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = performance.now() + 30_000; !(await holds());) {
    if (performance.now() > deadline) throw new Error(`${what}: not within 30 s`)
    await delay(10)
  }
}

interface Held {
  number: number
  lane: Lane
  areas: string[]
}

const claimers = 50

/** Areas that nest and cross, all lanes, and a quarter without any area. */
const mixed = (count: number): Partial<NewTask>[] =>
  Array.from({ length: count }, (_value, index) => ({
    lane: (['feature', 'feature', 'feature', 'conflict_recovery', 'docser'] as const)[index % 5] ?? 'feature',
    priority: index % 7,
    ...(index % 4 === 0
      ? {}
      : { targetArea: ['src', 'src/api', 'src/ui,docs', 'docs/x', `lib/${index}`, 'lib'][index % 6] ?? null }),
  }))

describe('fifty claimers at once', () => {
  it(
    'take each task once, never two of overlapping areas, and never more of a lane than its slots',
    { timeout: 170_000 },
    async () => {
      const id = freshId()
      const stores = await Promise.all(Array.from({ length: 7 }, () => open(id)))
      const [db] = stores as [Db]
      const names = Array.from({ length: claimers }, (_value, index) => `a${index}`)
      await agents(db, ...names)
      await activeGoal(db, 'g', mixed(200))
      const held = new Map<string, Held>()
      const taken: number[] = []
      const wrong: string[] = []
      let runs = 0
      const check = (next: Held): void => {
        for (const other of held.values()) {
          const area = overlapOf(next.areas, other.areas)
          if (area !== undefined) wrong.push(`${next.number} and ${other.number} in ${area}`)
        }
        const inLane = [...held.values()].filter(({ lane }) => lane === next.lane).length + 1
        if (inLane > (capOf(next.lane, defaultLanes) ?? Infinity)) wrong.push(`${inLane} of ${next.lane}`)
      }
      const workOff = async (name: string, index: number): Promise<void> => {
        const store = stores[index % stores.length] as Db
        for (let idle = 0; idle < 400 && taken.length < 200;) {
          const runId = `r${(runs += 1)}`
          const claim = await store
            .transaction((tx) => claimTask(tx, { agentId: name, runId, ttlSeconds: 300 }))
            .catch((error: unknown) => {
              if (!isStoreTrouble(error)) throw error
              return undefined // a deadlock that the server ended: the next pass tries again, as the engine does
            })
          if (claim === undefined) {
            idle += 1
            await delay(20)
            continue
          }
          idle = 0
          taken.push(claim.task.number)
          check(claim.task)
          held.set(name, claim.task)
          await delay(5)
          // Before the store frees it: nobody can have it while it still stands here.
          held.delete(name)
          await store.transaction(async (tx) => {
            mustSucceed(await finishRun(tx, claim.run, 'succeeded', null))
            mustSucceed(await moveTask(tx, await task(tx, claim.task.id), 'run_succeeded'))
            // Its areas are held until then.
            mustSucceed(await moveTask(tx, await task(tx, claim.task.id), 'merged'))
          })
        }
      }
      const began = performance.now()
      await Promise.all(names.map(workOff))
      const seconds = (performance.now() - began) / 1000
      console.log(`${taken.length} tasks by ${claimers} claimers in ${seconds.toFixed(1)} s`)
      expect(wrong).toEqual([])
      expect([...taken].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_value, index) => index + 1))
      expect((await listTasks(db, 'g')).every(({ status }) => status === 'done')).toBe(true)
      await Promise.all(stores.map((store) => store.close()))
    },
  )
})

describe('the lead', () => {
  it('passes on when its session dies, and the one before is refused in the middle of its work', async () => {
    const id = freshId()
    const [first, second] = [await open(id, true), await open(id, true)]
    expect([first.isLeader?.(), second.isLeader?.()]).toEqual([true, false])
    const old = fencedByTerm(first, await becomeLeader(first, 'e-1'))
    await first.query(sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())`)
    await until('one of both leads', () => first.isLeader?.() !== second.isLeader?.())
    const winner = first.isLeader?.() === true ? first : second
    const next = fencedByTerm(winner, await becomeLeader(winner, 'e-2'))
    await expect(confirmLeadership(old)).rejects.toThrow('another engine is the leader')
    await confirmLeadership(next)
    await Promise.all([first.close(), second.close()])
  })

  it('waits for a write that is under way, and refuses the one after it', async () => {
    const id = freshId()
    const [first, second] = [await open(id), await open(id)]
    const old = fencedByTerm(first, await becomeLeader(first, 'e-1'))
    let taken = false
    let taking: Promise<number> | undefined
    await old.transaction(async (tx) => {
      taking = becomeLeader(second, 'e-2').then((term) => ((taken = true), term))
      await tx.query(sql`select pg_sleep(0.2)`)
      expect(taken).toBe(false)
    })
    expect(await taking).toBe(2)
    await expect(old.transaction(() => Promise.resolve())).rejects.toThrow('is the leader')
    await Promise.all([first.close(), second.close()])
  })

  it('is taken from a session that has its lock and does not lead, after a while and not before', async () => {
    const id = freshId()
    const db = await open(id)
    const stranger = new Client({ connectionString: database.url, application_name: 'stranger' })
    stranger.on('error', () => undefined) // its session is ended
    await stranger.connect()
    await stranger.query(`select pg_advisory_lock(hashtextextended('unstuck leader ' || $1::text, 0))`, [
      (await db.query<{ name: string }>(sql`select current_schema()::text as name`))[0]?.name,
    ])
    const engine = await database.openEmpty(id, { mayLead: true })
    let now = 0
    const context = { db: engine, clock: { elapsed: () => now }, log: { warn: () => undefined } } as unknown as Context
    const gracePeriod = { isOver: () => true } as unknown as GracePeriod
    const leadership = createLeadership(context, 'e-1', gracePeriod)
    for (now = 0; now < holderPatienceMs; now += 10_000) expect(await leadership.context()).toBeUndefined()
    expect(engine.isLeader?.()).toBe(false)
    now = holderPatienceMs + 1_000
    expect(await leadership.context()).toBeUndefined()
    await until('the engine has the lock', () => engine.isLeader?.() === true)
    expect(
      await engine.query(sql`select payload->>'session' as session from event where type = 'leader.session_ended'`),
    ).toEqual([{ session: 'stranger' }])
    await Promise.all([db.close(), engine.close()])
  })

  it('stays with an engine that has begun its term, however long it leads', async () => {
    const id = freshId()
    const [first, second] = [await open(id, true), await open(id, true)]
    await first.transaction((tx) => registerEngine(tx, engineOf('e-1', {}), []))
    await becomeLeader(first, 'e-1')
    expect(await findHolderWithoutTerm(second)).toBeUndefined()
    await Promise.all([first.close(), second.close()])
  })

  it('of an engine whose heartbeat alone is overdue is not ended', async () => {
    const id = freshId()
    const [first, second] = [await open(id, true), await open(id, true)]
    await first.transaction((tx) => registerEngine(tx, engineOf('e-1', { ttlSeconds: 2 }), []))
    await becomeLeader(first, 'e-1')
    await second.query(sql`update engine set heartbeat_at = unstuck_now() - interval '1 minute'`)
    // The heartbeat is overdue, but the session that leads answers each second.
    await delay(2_500)
    expect(await endSilentLeaderSession(second)).toBeUndefined()
    expect(first.isLeader?.()).toBe(true)
    await first.close()
    await until('the other one leads', () => second.isLeader?.() === true)
    await second.close()
  })
})
