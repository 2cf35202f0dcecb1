/**
 * A database of its own on a PostgreSQL server, spoken to with prepared statements: every statement is answered before the call returns.
 * That makes the store one of the world's events.
 */
import { randomBytes } from 'node:crypto'
import { migrations } from '../../src/store/migrate.ts'
import type { Sql } from '../../src/store/db.ts'
import { tables } from '../support/tables.ts'
import type { SeenChanges } from './freshness.ts'
import { remembering } from './remembered.ts'
import { user } from './server.ts'
import { openWire, type Asked, type Column, type Wire } from './wire.ts'

export interface SyncStore {
  query(statement: Sql): object[]
  /** A statement outside of a transaction, and what is read after it in the same piece: the way to the server costs more than a look. */
  alone(statement: Sql, looks: readonly Sql[]): Seen
  begin(): void
  /** Gives what `looks` read after it. */
  commit(looks: readonly Sql[]): object[][]
  /** What the looks after the last write have found, see `freshness.ts`. */
  seen(changes: SeenChanges): void
  rollback(): void
  /** Statements without values, outside of a transaction. */
  script(text: string): void
  /** What `unstuck_now()` gives from now on. */
  setClock(ms: number): void
  close(): void
}

export interface Seen {
  rows: object[]
  /** For each look. */
  looks: object[][]
}

interface Prepared {
  name: string
  columns: Column[]
  mayWrite: boolean
  /** A write of which only an error is to be told. */
  silent: boolean
  /** Which time it is, is bound to it as one more value. */
  timed: boolean
  /** Its defaults ask the server for the time. */
  inserts: boolean
}

/** Nobody reads what it gives. */
const isSilent = (text: string): boolean =>
  !/\breturning\b(?! pg_notify\b)|\bfor (?:update|no key update|share|key share)\b/i.test(text)

const writing = /\b(?:insert|update|delete)\b/i
const nowCall = /\bunstuck_now\(\)/g

const rowsOf = (asked: readonly Asked[]): object[][] => asked.map(({ rows }) => rows)

/** The time as a value: the server neither has to be told it before each statement nor to ask for it for each row. */
const withTime = (text: string, values: number): string => text.replaceAll(nowCall, `$${values + 1}::timestamptz`)

const createPlain = (wire: Wire): SyncStore => {
  const known = new Map<string, Prepared>()
  const prepared = (text: string, values: number): Prepared => {
    const found = known.get(text)
    if (found !== undefined) return found
    const name = `s${known.size}`
    const columns = wire.prepare(name, withTime(text, values))
    const mayWrite = writing.test(text)
    const made = {
      ...{ name, columns, mayWrite, silent: mayWrite && isSilent(text) },
      ...{ timed: text.includes('unstuck_now()'), inserts: /\binsert\b/i.test(text) },
    }
    known.set(text, made)
    return made
  }
  let now = Date.UTC(2026, 0, 1)
  /** What the server takes for the time; undefined = it may have forgotten, together with a transaction. */
  let told: number | undefined
  let inBlock = false
  const queue = ({ text, values }: Sql): Asked => {
    const { name, columns, timed, inserts } = prepared(text, values.length)
    if (inserts && told !== now) {
      wire.queue(prepared(clock, 1).name, [new Date(now)], [])
      told = now
    }
    return wire.queue(name, timed ? [...values, new Date(now)] : values, columns)
  }
  const exchange = (): void => {
    try {
      wire.exchange()
    } catch (error) {
      told = undefined
      throw error
    }
  }
  const plain = (text: string): Asked => wire.queue(prepared(text, 0).name, [], [])
  return {
    query: (statement) => {
      const asked = queue(statement)
      const { mayWrite, silent } = prepared(statement.text, statement.values.length)
      // It goes with the next one that has an answer, at the latest with the end of its transaction. There an error of it is told too.
      if (inBlock && silent) return []
      // The transaction of a read goes on, which spares it the begin and the end of one.
      if (!inBlock && mayWrite) wire.queueSync()
      exchange()
      return asked.rows
    },
    alone: (statement, looks) => {
      const asked = queue(statement)
      wire.queueSync()
      const seen = looks.map(queue)
      exchange()
      return { rows: asked.rows, looks: rowsOf(seen) }
    },
    begin: () => {
      // What was read before it may have left a transaction open, with which it would be rolled back.
      wire.queueSync()
      plain('begin')
      inBlock = true
    },
    commit: (looks) => {
      const commit = plain('commit')
      wire.queueSync()
      const seen = looks.map(queue)
      exchange()
      inBlock = false
      if (commit.done === 'ROLLBACK')
        throw new Error('a statement of this transaction failed, so the transaction was rolled back')
      return rowsOf(seen)
    },
    seen: () => {},
    rollback: () => {
      wire.queueSync()
      plain('rollback')
      wire.queueSync()
      try {
        exchange()
      } catch {
        // What a write of this transaction failed with, of which nothing is left now.
      }
      inBlock = false
      told = undefined
    },
    script: (text) => {
      wire.queueSync()
      wire.script(text)
    },
    setClock: (ms) => {
      now = ms
    },
    close: () => wire.close(),
  }
}

const clock = "select set_config('unstuck.now', $1, false)"

/** The world's statements see small tables: the planner's own estimates of empty ones lead it astray. */
const session = `set plan_cache_mode = force_generic_plan; set timezone = 'UTC'; set max_parallel_workers_per_gather = 0`

/** The product's own also knows the time of day, which is why PostgreSQL calls it for every row instead of taking it as a part of the statement. */
const simulatedNow = `create or replace function unstuck_now() returns timestamptz language sql stable as $$ select current_setting('unstuck.now')::timestamptz $$`

/** A new database on the server that listens at the socket. Asks it for everything. */
export const openPlainStore = async (socket: string): Promise<SyncStore> => {
  const name = `simulation_${randomBytes(6).toString('hex')}`
  const server = await openWire(socket, user, 'postgres')
  server.script(`create database ${name}`)
  server.close()
  const wire = await openWire(socket, user, name)
  for (const text of migrations) wire.script(text)
  wire.script(`set unstuck.now = '2026-01-01'; ${session}`)
  wire.script(simulatedNow)
  return createPlain(wire)
}

/** Those that no seed empties have one row each. */
const allTables = [...tables, 'leader', 'hatch']

/** `differs`: every answer from memory is compared with the store's own. */
export const withMemory = (store: SyncStore, differs?: (text: string) => void): SyncStore =>
  remembering(store, allTables, differs)

export const openSyncStore = async (socket: string): Promise<SyncStore> => withMemory(await openPlainStore(socket))
