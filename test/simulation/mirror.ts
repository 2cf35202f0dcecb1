/**
 * What the store holds, kept in memory by reading only what the last commit changed (rows with a new enough xmin), so that
 * the oracle may look at everything after every commit without asking for everything.
 */
import { fromRow } from '../../src/store/db.ts'
import type { Escalation } from '../../src/domain/escalation.ts'
import type { Goal } from '../../src/domain/goal.ts'
import type { Judgement } from '../../src/domain/judgement.ts'
import type { Lease } from '../../src/domain/lease.ts'
import type { MergeEntry } from '../../src/domain/merge.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import type { Agent } from '../../src/domain/agent.ts'
import { readTask } from '../../src/store/task.ts'
import type { Recovery } from '../../src/store/recovery.ts'
import type { StoredEvent } from '../../src/store/event.ts'
import type { SyncStore } from './pglite-sync.ts'

export interface Tables {
  goal: Map<string, Goal>
  task: Map<string, Task>
  run: Map<string, Run>
  agent: Map<string, Agent>
  merge_entry: Map<string, MergeEntry>
  escalation: Map<string, Escalation>
  recovery: Map<string, Recovery>
  judgement: Map<string, Judgement>
  lease: Map<string, Lease>
}

export type Table = keyof Tables

export interface RowChange {
  table: Table
  id: string
  before: object | undefined
  after: object | undefined
}

export interface Look {
  changes: RowChange[]
  events: StoredEvent[]
}

export interface Mirror {
  tables: Tables
  /** What the last commit did to the tables that its statements name. */
  look(touched: ReadonlySet<string>): Look
}

const tableNames = ['goal', 'task', 'run', 'merge_entry', 'escalation', 'recovery', 'judgement'] as const
const dates = new Set([
  'createdAt',
  'changedAt',
  'endedAt',
  'startedAt',
  'judgedAt',
  'expiresAt',
  'heartbeatAt',
  'decidedAt',
  'countFrom',
  'retryAt',
  'at',
])

const selects: Record<string, string> = {
  agent: `select 'agent' as of, id, to_jsonb(agent_view) as row from agent_view`,
  lease: `select 'lease' as of, task_id as id, to_jsonb(lease) as row from lease`,
  event: `select 'event' as of, id::text as id, to_jsonb(event) as row from event where id > $2::int8`,
}
for (const table of tableNames)
  selects[table] =
    `select '${table}' as of, id::text as id, to_jsonb(${table}) as row from ${table} where xmin::text::int8 >= $1::int8`
const next = `select 'next' as of, '' as id, to_jsonb(pg_snapshot_xmax(pg_current_snapshot())::text) as row
  where $1::text is not null and $2::text is not null`

const statements = new Map<string, string>()
/** One statement per set of tables that a commit may have touched. */
const statementFor = (touched: ReadonlySet<string>): string => {
  const read = new Set(touched)
  // A lease and an engine change the states of agents too, which have no rows of their own.
  if (touched.has('lease') || touched.has('engine')) read.add('agent')
  const key = [...read].sort().join()
  const known =
    statements.get(key) ?? [...[...read].sort().flatMap((table) => selects[table] ?? []), next].join(' union all ')
  statements.set(key, known)
  return known
}

const revive = (row: object): object => {
  const read = fromRow<Record<string, unknown>>(row)
  for (const [key, value] of Object.entries(read))
    if (dates.has(key) && typeof value === 'string') read[key] = new Date(value)
  return read
}

const rowOf = (table: string, row: object): object => {
  if (table !== 'task') return revive(row)
  const raw = row as Record<string, unknown>
  for (const [key, value] of Object.entries(raw))
    if (/_at$|^count_from$/.test(key) && typeof value === 'string') raw[key] = new Date(value)
  return readTask(raw)
}

export const createMirror = (store: SyncStore): Mirror => {
  const tables: Tables = {
    ...{ goal: new Map(), task: new Map(), run: new Map(), agent: new Map(), merge_entry: new Map() },
    ...{ escalation: new Map(), recovery: new Map(), judgement: new Map(), lease: new Map() },
  }
  let from = '0'
  let lastEvent = 0
  const put = (table: Table, id: string, after: object | undefined): RowChange => {
    const map = tables[table] as Map<string, object>
    const before = map.get(id)
    if (after === undefined) map.delete(id)
    else map.set(id, after)
    return { table, id, before, after }
  }
  return {
    tables,
    look: (touched) => {
      if (![...touched].some((table) => table === 'engine' || selects[table] !== undefined))
        return { changes: [], events: [] }
      const rows = store.query({ text: statementFor(touched), values: [from, String(lastEvent)] }) as {
        of: string
        id: string
        row: object
      }[]
      const changes: RowChange[] = []
      const events: StoredEvent[] = []
      const leases = new Map<string, object>()
      for (const { of, id, row } of rows) {
        if (of === 'next') from = row as unknown as string
        else if (of === 'lease') leases.set(id, revive(row))
        else if (of === 'event') events.push(revive(row) as StoredEvent)
        else changes.push(put(of as Table, id, rowOf(of, row)))
      }
      if (touched.has('lease'))
        for (const id of [...tables.lease.keys()]) if (!leases.has(id)) changes.push(put('lease', id, undefined))
      for (const [id, lease] of leases) {
        const before = tables.lease.get(id)
        if (JSON.stringify(before) !== JSON.stringify(lease)) changes.push(put('lease', id, lease))
      }
      events.sort((one, other) => one.id - other.id)
      lastEvent = events.at(-1)?.id ?? lastEvent
      return { changes, events }
    },
  }
}
