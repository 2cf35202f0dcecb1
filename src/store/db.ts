/**
 * The only access to SQL. Statements are PostgreSQL's, with bound values. Agent output is never stored here: it stays in files.
 */

export interface Sql {
  text: string
  values: unknown[]
}

export interface Queryable {
  query<Row>(statement: Sql): Promise<Row[]>
}

export interface Db extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. Cannot be nested. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Runs several statements without parameters (migrations). A failed script leaves no transaction open. */
  script(text: string): Promise<void>
  /** Whether this process is the leader at this moment. Absent = no other process shares the store. */
  isLeader?: () => boolean
  /** The server's processes that serve our connections. Absent = the server is not this user's own. */
  backends?: () => ReadonlySet<number>
  close(): Promise<void>
}

/** Each place in the code makes the same text every time. */
const texts = new WeakMap<TemplateStringsArray, string>()

export const sql = (parts: TemplateStringsArray, ...values: unknown[]): Sql => {
  const known = texts.get(parts)
  if (known !== undefined) return { text: known, values }
  const text = parts.reduce((before, part, index) => `${before}$${index}${part}`)
  texts.set(parts, text)
  return { text, values }
}

/** Binds any value for `$n::jsonb`: drivers treat bare arrays and strings differently, but JSON text alike. */
export const json = (value: unknown): string => JSON.stringify(value)

/** Columns have few names, and every row of every table needs them. */
const camelNames = new Map<string, string>()

const camel = (name: string): string => {
  const known = camelNames.get(name)
  if (known !== undefined) return known
  const made = name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())
  camelNames.set(name, made)
  return made
}

/** A row with its column names in camelCase, apart from the columns to leave out. Timestamps arrive as Date, jsonb as values. */
export const fromRow = <T>(row: object, without?: ReadonlySet<string>): T => {
  const read: Record<string, unknown> = {}
  const named = row as Record<string, unknown>
  for (const name of Object.keys(row)) if (without?.has(name) !== true) read[camel(name)] = named[name]
  return read as T
}

export const firstRow = async <Row>(db: Queryable, statement: Sql): Promise<Row | undefined> =>
  (await db.query<Row>(statement))[0]

/**
 * Whether there is such a row, as an expression. PostgreSQL plans `exists` for a row that is found soon: where there is none, and the store
 * has no statistics yet, it reads the whole table instead of the index. A new store has none until autovacuum has looked at it, which is after
 * a minute, and that of a server without autovacuum never has.
 */
export const isThere = (from: string, where: string): string => `(select count(*) from ${from} where ${where}) > 0`

/**
 * Whether an error is the store's and not the work's: its connection broke, or the server ended this transaction to
 * resolve a deadlock. The transaction may or may not have been committed, so the caller must read the store again.
 */
export const isStoreTrouble = (error: unknown): boolean =>
  ['STORE_UNAVAILABLE', 'STORE_LOCKED', '40001', '40P01', '57014'].includes(
    String((error as { code?: unknown } | null)?.code),
  )

/** The outcome of a fenced write. Zero rows is an expected outcome, so it is a value and not an exception. */
export type MoveResult<T> = { ok: true; value: T } | { ok: false; code: 'stale' | 'illegal'; message: string }

export const stale = (what: string): { ok: false; code: 'stale'; message: string } => ({
  ok: false,
  code: 'stale',
  message: `${what} was changed in the meantime; read it again and retry`,
})

/** Thrown for moves that must succeed: a lost race means that everything the caller has read is outdated. */
export class StaleError extends Error {}

/** The value of a move that must succeed. Throws `StaleError` for a lost race, and an ordinary error for a bug. */
export const mustSucceed = <T>(moved: MoveResult<T>): T => {
  if (moved.ok) return moved.value
  if (moved.code === 'stale') throw new StaleError(moved.message)
  throw new Error(moved.message)
}
