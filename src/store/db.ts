/**
 * The one door to SQL. Statements are own text in PostgreSQL's dialect with bound values; PGlite and PostgreSQL stand
 * behind the same two methods. Agent output never comes through here: it lives in files.
 */

export interface Sql {
  text: string
  values: unknown[]
}

export interface Queryable {
  query<Row>(statement: Sql): Promise<Row[]>
}

export interface Db extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. Not nestable. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** A script of several statements without parameters (migrations). One that fails leaves no transaction open. */
  script(text: string): Promise<void>
  /** Whether this process may lead at this moment, of those that share the store. Absent = it shares it with nobody. */
  leads?: () => boolean
  close(): Promise<void>
}

export const sql = (parts: TemplateStringsArray, ...values: unknown[]): Sql => ({
  text: parts.reduce((text, part, index) => `${text}$${index}${part}`),
  values,
})

/** Binds any value for `$n::jsonb`: drivers disagree on bare arrays and strings, they agree on JSON text. */
export const json = (value: unknown): string => JSON.stringify(value)

const camel = (name: string): string => name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())

/** A row with its column names in camelCase; timestamps arrive as Date, jsonb as values. */
export const fromRow = <T>(row: object): T =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value])) as T

export const one = async <Row>(db: Queryable, statement: Sql): Promise<Row | undefined> =>
  (await db.query<Row>(statement))[0]

/**
 * The store was at fault and not the work: its connection broke, or the server chose this transaction to end a deadlock.
 * What the work did may stand or not; whoever gets this looks at the store again.
 */
export const isStoreTrouble = (error: unknown): boolean =>
  ['STORE_UNAVAILABLE', 'STORE_LOCKED', '40001', '40P01', '57014'].includes(
    String((error as { code?: unknown } | null)?.code),
  )

/** What became of a fenced write: zero rows is a value, not an exception. */
export type Moved<T> = { ok: true; value: T } | { ok: false; code: 'stale' | 'illegal'; message: string }

export const stale = (what: string): { ok: false; code: 'stale'; message: string } => ({
  ok: false,
  code: 'stale',
  message: `${what} was changed by somebody else first; look at it again`,
})

/** For moves that must succeed where they stand: losing the race there means that the caller's whole view is void. */
export class StaleError extends Error {}

export const must = <T>(moved: Moved<T>): T => {
  if (moved.ok) return moved.value
  if (moved.code === 'stale') throw new StaleError(moved.message)
  throw new Error(moved.message)
}
