/**
 * When what changed last. A statement that writes a table may have changed everything in it, until somebody has seen which columns of
 * which rows its transaction really changed.
 */
import type { Traits, Write } from './statement-traits.ts'

/** The rows of a table that a commit changed, each with the columns; undefined = a new row. */
export type SeenChanges = ReadonlyMap<string, readonly { id: string; columns: readonly string[] | undefined }[]>

export interface Freshness {
  /** How many changes there have been. */
  count(): number
  /** The number of the transaction that writes at this moment, or wrote last. */
  transaction(): number
  begin(): void
  write(writes: readonly Write[]): void
  /** What the last commit changed in these tables, and nothing else in them. */
  seen(changes: SeenChanges): void
  rollback(): void
  /** Whether the transaction of this moment has written one of them. */
  isWritten(tables: readonly string[]): boolean
  /** Whether nothing that matters to a read has changed after `at`. */
  isSince(at: number, traits: Traits, values: readonly unknown[]): boolean
}

interface Stamps {
  any: number
  /** The last change of which only the table is known. */
  whole: number
  columns: Map<string, number>
  rows: Map<string, number>
}

/** Stands beside the columns: it matters to every read. */
const newRow = ''

export const createFreshness = (): Freshness => {
  const stamps = new Map<string, Stamps>()
  let count = 0
  let transaction = 0
  /** The tables that the transaction has written, with `any` and `whole` of before; undefined = rows were deleted, which is not seen. */
  let before = new Map<string, { any: number; whole: number } | undefined>()
  /** What it read of its own changes may be true for nobody else. */
  const over = (): void => {
    transaction += 1
    before = new Map()
  }
  const stampsOf = (table: string): Stamps => {
    let found = stamps.get(table)
    if (found === undefined)
      stamps.set(
        table,
        (found = { any: 0, whole: 0, columns: new Map<string, number>(), rows: new Map<string, number>() }),
      )
    return found
  }
  const changeWhole = (table: string): void => {
    const found = stampsOf(table)
    found.any = found.whole = count
  }
  const isSinceIn = (table: string, at: number, traits: Traits): boolean => {
    const found = stamps.get(table)
    if (found === undefined || found.any <= at) return true
    if (found.whole > at) return false
    for (const [column, changed] of found.columns)
      if (changed > at && (column === newRow || traits.uses(table, column))) return false
    return true
  }
  return {
    count: () => count,
    transaction: () => transaction,
    begin: over,
    write: (writes) => {
      count += 1
      for (const { table, deletes } of writes) {
        const { any, whole } = stampsOf(table)
        if (!before.has(table)) before.set(table, { any, whole })
        if (deletes) before.set(table, undefined)
        changeWhole(table)
      }
    },
    seen: (changes) => {
      count += 1
      for (const [table, rows] of changes) {
        const earlier = before.get(table)
        if (earlier === undefined) continue
        const found = Object.assign(stampsOf(table), earlier)
        for (const { id, columns } of rows) {
          found.rows.set(id, count)
          found.any = count
          for (const column of columns ?? [newRow]) found.columns.set(column, count)
        }
      }
      over()
    },
    rollback: () => {
      count += 1
      for (const table of before.keys()) changeWhole(table)
      over()
    },
    isWritten: (tables) => tables.some((table) => before.has(table)),
    isSince: (at, traits, values) => {
      const [table] = traits.reads
      if (!traits.isOfOneRow || table === undefined) return traits.reads.every((name) => isSinceIn(name, at, traits))
      const found = stamps.get(table)
      return found === undefined || (found.whole <= at && (found.rows.get(String(values[0])) ?? 0) <= at)
    },
  }
}
