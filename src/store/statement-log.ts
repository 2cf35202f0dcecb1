/**
 * Reports the statements of a store to a log: slow and failed ones, or all. Only their text, whose values are placeholders, so that
 * nothing secret is reported.
 */
import type { Db, Queryable, Sql } from './db.ts'

export interface Statement {
  /** On one line, cut. */
  statement: string
  ms: number
  rows?: number
  /** The code of the error, if there is one; its message may contain values. */
  failed?: string
}

/** Above this a statement is worth a look: nearly all take a few milliseconds. */
const slowMs = 100
const longest = 300

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, longest)

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'unknown'
}

export interface StatementLog {
  /** Called for a statement that failed or took long. */
  notable(statement: Statement): void
  /** Called for every other one; absent = they are not reported. */
  ordinary?: (statement: Statement) => void
}

export const withStatementLog = (db: Db, log: StatementLog): Db => {
  const logged = (inner: Queryable): Queryable => ({
    query: async <Row>({ text, values }: Sql) => {
      const began = performance.now()
      const timed = () => ({ statement: oneLine(text), ms: Math.round(performance.now() - began) })
      try {
        const rows = await inner.query<Row>({ text, values })
        const isSlow = performance.now() - began > slowMs
        if (isSlow) log.notable({ ...timed(), rows: rows.length })
        else log.ordinary?.({ ...timed(), rows: rows.length })
        return rows
      } catch (error) {
        log.notable({ ...timed(), failed: codeOf(error) })
        throw error
      }
    },
  })
  return {
    ...db,
    ...logged(db),
    transaction: (work) => db.transaction((tx) => work(logged(tx))),
  }
}
