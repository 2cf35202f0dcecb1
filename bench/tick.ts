/**
 * The cost of one whole pass of the engine with nothing to do, with many tasks that ended: the real loop on a real store and
 * repository, with a clock whose waits end when the measurement says so.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { configSchema } from '../src/config/config-schema.ts'
import { renewIntervalMs } from '../src/domain/lease.ts'
import { playbooks } from '../src/recovery/ladder.ts'
import { defaultPolicyRecovery } from '../src/recovery/policy/recovery-policy.ts'
import type { Context } from '../src/runtime/core/context.ts'
import { realPorts } from '../src/runtime/core/ports.ts'
import { systemClock } from '../src/runtime/core/system-clock.ts'
import { createWakeUp, startEngine } from '../src/runtime/engine/engine.ts'
import { sql, type Db, type Sql } from '../src/store/db.ts'
import { openRepository } from '../src/workspace/repository.ts'
import { openShadow } from '../src/workspace/shadow.ts'
import { activeGoal, agents, claimed } from '../test/store/scene.ts'

/** So many tasks are made by one statement, which must not reach the store's time limit. */
const slice = 5_000
/** A goal has so many of the tasks that ended, and a task so many events. */
const [tasksPerGoal, eventsPerTask] = [100, 2]

/**
 * Tasks that were merged, with their runs, merge entries and events, in goals that are done. One is made the normal way; statements
 * copy it, because making 100,000 would take too long.
 */
const fillWithEnded = async (db: Db, count: number): Promise<void> => {
  const goals = Math.ceil(count / tasksPerGoal)
  await activeGoal(db, 'seed', [{ id: 'seed' }])
  await agents(db, 'old')
  await claimed(db, 'old')
  const first: Sql[] = [
    sql`delete from lease`,
    sql`update run set state = 'success', phase = 'finish', ended_at = unstuck_now(), judged_at = unstuck_now()`,
    sql`update task set state = 'done', ready = false, block_reason = null`,
    sql`update goal set state = 'done', ended_at = unstuck_now()`,
    sql`insert into goal select (jsonb_populate_record(goal, jsonb_build_object('id', 'g' || copy))).*
      from goal, generate_series(0, ${goals}::int) as copies (copy) where goal.id = 'seed'`,
  ]
  for (const statement of first) await db.query(statement)
  for (let from = 1; from < count; from += slice) {
    const to = Math.min(from + slice, count) - 1
    await db.query(sql`insert into task select (jsonb_populate_record(task, jsonb_build_object('id', 't' || copy, 'number', copy,
      'goal_id', 'g' || copy / ${tasksPerGoal}::int))).*
      from task, generate_series(${from}::int, ${to}::int) as copies (copy) where task.id = 'seed'`)
    await db.query(sql`insert into run select (jsonb_populate_record(run, jsonb_build_object('id', 'r' || task.number, 'task_id', task.id,
      'goal_id', task.goal_id))).* from run, task where run.task_id = 'seed' and task.id <> 'seed' and task.number between ${from}::int and ${to}::int`)
    await db.query(sql`insert into merge_entry (id, goal_id, task_id, run_id, commit, state, attempts)
      select 'm' || task.number, task.goal_id, task.id, 'r' || task.number, 'c', 'merged', 1
      from task where task.id <> 'seed' and task.number between ${from}::int and ${to}::int`)
    await db.query(sql`insert into event (type, goal_id, task_id, run_id, payload)
      select 'run.phase', goal_id, task.id, 'r' || task.number, '{}' from task, generate_series(1, ${eventsPerTask}::int)
      where task.id <> 'seed' and task.number between ${from}::int and ${to}::int`)
  }
  await db.query(sql`insert into goal_export (goal_id, event_id, events_digest, usage_digest)
    select goal_id, max(id), '', '' from event where goal_id is not null group by goal_id`)
  await db.script('analyze')
}

/** Notes how long each statement took. Transactions count as well, because they are statements too. */
const watched = (db: Db, note: (text: string, ms: number) => void) => {
  let open = 0
  const timed = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
    open += 1
    const begun = performance.now()
    try {
      return await work()
    } finally {
      open -= 1
      note(text, performance.now() - begun)
    }
  }
  const own: Db = {
    ...db,
    query: (statement) => timed(statement.text, () => db.query(statement)),
    transaction: (work) =>
      timed('transaction', () =>
        db.transaction((tx) => work({ query: (statement) => timed(statement.text, () => tx.query(statement)) })),
      ),
  }
  return { db: own, isIdle: () => open === 0 }
}

const configOf = () =>
  configSchema.parse({
    maxParallel: 2,
    lease: { ttlSeconds: 15 },
    harness: { default: 'bench', bench: { command: ['true'] } },
  })

const contextOf = async (
  folder: string,
  db: Db,
  parts: Pick<Context, 'clock' | 'stopping' | 'wake'>,
): Promise<Context> => {
  execFileSync('git', ['init', '-q', '-b', 'main', folder])
  execFileSync('git', [
    ...['-C', folder, '-c', 'user.name=Bench', '-c', 'user.email=bench@localhost'],
    ...['commit', '-q', '--allow-empty', '-m', 'base'],
  ])
  const repository = await openRepository(folder)
  const stateDir = join(folder, '.git', 'state')
  const config = configOf()
  let ids = 0
  return {
    ...{ db, ports: realPorts, newId: (prefix) => `${prefix}-${(ids += 1)}`, at: () => undefined, ...parts },
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => console.error(message, fields),
    },
    ...{ repository, shadow: await openShadow(stateDir, repository), remote: undefined, stateDir },
    ...{ cacheDir: join(stateDir, 'cache'), config: () => config, pathPolicy: () => defaultPolicyRecovery },
    policy: () => ({ playbooks, disabled: [], retry: config.retry }),
    ...{ cliVersions: new Map(), environment: process.env, host: 'bench' },
  }
}

export interface Tick {
  /** Milliseconds of a pass until its last statement ended, the merge queue included. */
  ms: number
  statements: number
  /** Of the store alone. */
  storeMs: number
}

interface Ticks {
  /** Wakes the loop, and waits until it rests again. */
  tick(): Promise<Tick>
  stop(): Promise<void>
}

/** A clock whose waits end only when they are ended. `onRest` is called when one begins. */
const restingClock = (onRest: () => void): Context['clock'] => ({
  ...systemClock,
  wait: (ms, signal) => {
    onRest()
    return systemClock.wait(ms + 3_600_000, signal)
  },
})

/** An engine with so many tasks that ended, and one task that waits for a person. */
export const openTicks = async (db: Db, ended: number): Promise<Ticks> => {
  await fillWithEnded(db, ended)
  await activeGoal(db, 'live', [{ id: 'asked' }])
  await db.query(
    sql`update task set state = 'blocked', block_reason = 'awaiting_human', ready = false where id = 'asked'`,
  )
  await db.query(sql`update goal set state = 'awaiting_human' where id = 'live'`)
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-tick-'))
  const stopping = new AbortController()
  const bell = createWakeUp()
  let rests = 0
  let found: Tick = { ms: 0, statements: 0, storeMs: 0 }
  const store = watched(db, (_text, ms) => {
    found.statements += 1
    found.storeMs += ms
  })
  const clock = restingClock(() => (rests += 1))
  const context = await contextOf(folder, store.db, { clock, stopping: stopping.signal, wake: () => bell.wake() })
  const engine = await startEngine(context, bell)
  // Until it leads, and declares owners dead: its passes do everything then.
  while (store.db.isLeader?.() === false) await delay(20)
  await delay(renewIntervalMs(context.config().lease.ttlSeconds) + 1_000)
  return {
    tick: async () => {
      const before = rests
      found = { ms: 0, statements: 0, storeMs: 0 }
      const begun = performance.now()
      bell.wake()
      for (let quiet = 0; quiet < 5; quiet = rests > before && store.isIdle() ? quiet + 1 : 0) await delay(1)
      return { ...found, ms: performance.now() - begun }
    },
    stop: async () => {
      stopping.abort()
      await engine.stopped
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
