/**
 * What the store holds, kept in memory by reading only what the last commit changed (rows with a new enough xmin), so that
 * the oracle may look at everything after every commit without asking for everything.
 */
import { fromRow, type Sql } from '../../src/store/db.ts'
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
import type { SeenChanges } from './freshness.ts'

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
  /** Of the tables whose rows are compared with what they were. */
  seen: SeenChanges
}

export interface Mirror {
  tables: Tables
  /** What is to be read after a commit whose statements name these tables. */
  looks(touched: ReadonlySet<string>): Sql[]
  /** What the commit did, from the rows that its looks gave. */
  look(touched: ReadonlySet<string>, seen: object[][]): Look
}

/** The question about what changed in the checkout while agents ran. */
export const checkoutQuestion = ({ escalation }: Pick<Tables, 'escalation'>): Escalation | undefined =>
  [...escalation.values()].find(({ kind, state }) => kind === 'checkout_changed' && state === 'pending')

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

/** What may have changed, read with one plain statement for each table: one statement for each set of tables would be planned anew in every seed. */
const selects: Record<string, string> = {
  agent: `select id, to_jsonb(agent_view) as row, '0' as xmin from agent_view`,
  lease: `select task_id as id, to_jsonb(lease) as row, '0' as xmin from lease`,
  event: `select id::text as id, to_jsonb(event) as row, '0' as xmin from event where id > $1::int8 order by event.id`,
}
for (const table of tableNames)
  selects[table] =
    `select id::text as id, to_jsonb(${table}) as row, xmin::text as xmin from ${table} where xmin::text::int8 > $1::int8`

/** In the order in which their changes are told. */
const readAfter = (touched: ReadonlySet<string>): string[] => {
  const read = new Set(touched)
  // A lease and an engine change the states of agents too, which have no rows of their own.
  if (touched.has('lease') || touched.has('engine')) read.add('agent')
  return [...read].filter((table) => selects[table] !== undefined).sort()
}

const revive = (row: object): object => {
  const read = fromRow<Record<string, unknown>>(row)
  for (const [key, value] of Object.entries(read))
    if (dates.has(key) && typeof value === 'string') read[key] = new Date(value)
  return read
}

const rowOf = (table: string, row: object): object => {
  if (table !== 'task') return revive(row)
  const raw: Record<string, unknown> = { ...row }
  for (const [key, value] of Object.entries(raw))
    if (/_at$|^count_from$/.test(key) && typeof value === 'string') raw[key] = new Date(value)
  return readTask(raw)
}

type Raw = Record<string, unknown>

const isEqual = (one: unknown, other: unknown): boolean =>
  one === other ||
  (typeof one === 'object' && typeof other === 'object' && JSON.stringify(one) === JSON.stringify(other))

/** Compares the rows of a table as the store gives them with those of before. */
const createComparison = () => {
  const known = new Map<string, Raw>()
  return (table: string, id: string, row: Raw): { id: string; columns: string[] | undefined } => {
    const key = `${table} ${id}`
    const before = known.get(key)
    known.set(key, row)
    return { id, columns: before && Object.keys(row).filter((column) => !isEqual(before[column], row[column])) }
  }
}

const isCompared = (table: string): boolean => (tableNames as readonly string[]).includes(table)

export const createMirror = (): Mirror => {
  const tables: Tables = {
    ...{ goal: new Map(), task: new Map(), run: new Map(), agent: new Map(), merge_entry: new Map() },
    ...{ escalation: new Map(), recovery: new Map(), judgement: new Map(), lease: new Map() },
  }
  /** The newest transaction whose rows were seen: those of later ones have higher numbers, because there is one connection. */
  let newest = 0
  let lastEvent = 0
  const compare = createComparison()
  const put = (table: Table, id: string, after: object | undefined): RowChange => {
    const map = tables[table] as Map<string, object>
    const before = map.get(id)
    if (after === undefined) map.delete(id)
    else map.set(id, after)
    return { table, id, before, after }
  }
  return {
    tables,
    looks: (touched) =>
      readAfter(touched).map((table) => ({
        text: selects[table] ?? '',
        values: table === 'agent' || table === 'lease' ? [] : [String(table === 'event' ? lastEvent : newest)],
      })),
    look: (touched, seen) => {
      const changes: RowChange[] = []
      const events: StoredEvent[] = []
      const compared = new Map<string, { id: string; columns: string[] | undefined }[]>()
      const leases = new Map<string, object>()
      for (const [index, table] of readAfter(touched).entries()) {
        if (isCompared(table)) compared.set(table, [])
        for (const { id, row, xmin } of seen[index] as { id: string; row: object; xmin: string }[]) {
          newest = Math.max(newest, Number(xmin))
          compared.get(table)?.push(compare(table, id, row as Raw))
          if (table === 'lease') leases.set(id, revive(row))
          else if (table === 'event') events.push(revive(row) as StoredEvent)
          else changes.push(put(table as Table, id, rowOf(table, row)))
        }
      }
      if (touched.has('lease'))
        for (const id of [...tables.lease.keys()]) if (!leases.has(id)) changes.push(put('lease', id, undefined))
      for (const [id, lease] of leases) {
        const before = tables.lease.get(id)
        if (JSON.stringify(before) !== JSON.stringify(lease)) changes.push(put('lease', id, lease))
      }
      lastEvent = events.at(-1)?.id ?? lastEvent
      return { changes, events, seen: compared }
    },
  }
}
