/**
 * A real PGlite in this thread, spoken to with prepared statements over its own wire protocol: every statement is answered
 * before the call returns. That makes the store one of the world's events, and a statement costs a tenth of a millisecond.
 */
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { migrations } from '../../src/store/migrate.ts'
import type { Sql } from '../../src/store/db.ts'
import { tables } from '../support/tables.ts'
import { remembering } from './remembered.ts'

export interface SyncStore {
  query(statement: Sql): object[]
  simple(text: string): void
  /** What `unstuck_now()` gives from now on. */
  setClock(ms: number): void
  close(): Promise<void>
}

interface Column {
  name: string
  read: (text: string) => unknown
}

interface Prepared {
  name: string
  columns: Column[]
  mayWrite: boolean
}

const readers: Record<number, (text: string) => unknown> = {
  16: (text) => text === 't',
  20: Number,
  21: Number,
  23: Number,
  114: (text) => JSON.parse(text) as unknown,
  700: Number,
  701: Number,
  1184: (text) => new Date(text),
  3802: (text) => JSON.parse(text) as unknown,
}

const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

const number = (bytes: 2 | 4, value: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 2) buffer.writeInt16BE(value)
  else buffer.writeInt32BE(value)
  return buffer
}

const message = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), number(4, body.length + 4), body])
}

const sync = message('S')
const execute = message('E', cString(''), number(4, 0))

const wireText = (value: unknown): string | null => {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  return JSON.stringify(value)
}

/**
 * The messages that run a prepared statement, in one piece. Without `ends` the transaction of a statement that stands alone goes on, which
 * spares reads two fifths of their time: the begin and the end of a transaction each.
 */
const bindAndExecute = (name: string, values: readonly unknown[], ends: boolean): Buffer => {
  const texts = values.map(wireText)
  const sizes = texts.map((text) => (text === null ? 0 : Buffer.byteLength(text)))
  const length = name.length + 12 + 4 * values.length + sizes.reduce((sum, size) => sum + size, 0)
  const bytes = Buffer.allocUnsafe(1 + length + execute.length + (ends ? sync.length : 0))
  bytes.write('B', 0)
  bytes.writeInt32BE(length, 1)
  // The unnamed portal.
  bytes[5] = 0
  let at = 6 + bytes.write(`${name}\0`, 6)
  // Every value as text.
  bytes.writeInt16BE(0, at)
  bytes.writeInt16BE(values.length, at + 2)
  at += 4
  for (const [index, text] of texts.entries()) {
    bytes.writeInt32BE(text === null ? -1 : (sizes[index] ?? 0), at)
    at += 4
    if (text !== null) at += bytes.write(text, at)
  }
  bytes.writeInt16BE(0, at)
  execute.copy(bytes, at + 2)
  if (ends) sync.copy(bytes, at + 2 + execute.length)
  return bytes
}

const errorOf = (body: Buffer): Error => {
  const fields: Record<string, string> = {}
  for (let at = 0; at < body.length && body[at] !== 0;) {
    const end = body.indexOf(0, at + 1)
    fields[String.fromCharCode(body[at] as number)] = body.toString('utf8', at + 1, end)
    at = end + 1
  }
  return Object.assign(new Error(fields['M'] ?? 'the store failed'), { code: fields['C'] })
}

const columnsOf = (body: Buffer): Column[] => {
  const columns: Column[] = []
  let at = 2
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const end = body.indexOf(0, at)
    const oid = body.readInt32BE(end + 7)
    columns.push({ name: body.toString('utf8', at, end), read: readers[oid] ?? ((text) => text) })
    at = end + 19
  }
  return columns
}

const writing = /\b(?:insert|update|delete)\b/i

const beyondAscii = /[\u0080-\u00ff]/

const rowOf = (body: Buffer, columns: Column[]): object => {
  const row: Record<string, unknown> = {}
  let at = 2
  const bytes = body.toString('latin1')
  for (const { name, read } of columns) {
    const length = body.readInt32BE(at)
    at += 4
    // A piece of one string costs less than a string of its own.
    const text = bytes.slice(at, at + Math.max(0, length))
    row[name] = length < 0 ? null : read(beyondAscii.test(text) ? body.toString('utf8', at, at + length) : text)
    at += Math.max(0, length)
  }
  return row
}

/** How a whole answer ends: a statement is done, it was empty, or the store is ready for the next transaction. */
const whole = new Set(['C', 'I', 'Z'])

/** Asks PGlite for everything. */
export const openPlainStore = async (): Promise<SyncStore> => {
  // PostgreSQL watches the depth of its stack itself, and the check of every call takes a tenth of its time.
  setFlagsFromString('--no-wasm-stack-checks')
  const pg = await PGlite.create()
  for (const text of migrations) await pg.exec(text)
  // The world's statements see small tables: the planner's own estimates of empty ones lead it astray.
  await pg.exec(
    `set jit = off; set synchronous_commit = off; set plan_cache_mode = force_generic_plan; set timezone = 'UTC'`,
  )
  // Nothing here outlives the process; those that refer to others come first.
  for (const table of tables) await pg.exec(`alter table ${table} set unlogged`)
  // The product's own looks at a setting as well, and PostgreSQL calls it for every row instead of taking it as a part of the statement.
  await pg.exec(
    'create or replace function unstuck_now() returns timestamptz language sql stable as $$ select statement_timestamp() $$',
  )
  const known = new Map<string, Prepared>()
  let now = Date.UTC(2026, 0, 1)
  let inBlock = false
  const stopped = (): number => now
  let chunks: Buffer[] = []
  const options = { syncToFs: false, onRawData: (chunk: Uint8Array) => void chunks.push(Buffer.from(chunk)) }
  /**
   * The streaming call gives its answer before it returns. The plain one would parse it as well, which costs a third of a statement,
   * and keep it: gigabytes in hundreds of seeds.
   */
  const exchange = (bytes: Buffer): Buffer => {
    chunks = []
    const real = Date.now
    // What PGlite takes for the time of day.
    Date.now = stopped
    try {
      pg.execProtocolRawStream(bytes, options).catch(() => undefined) // then the answer has no end
    } finally {
      Date.now = real
    }
    const [first] = chunks
    return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
  }
  const send = (bytes: Buffer, each: (type: string, body: Buffer) => void): void => {
    const answer = exchange(bytes)
    let failure: Error | undefined
    let last = ''
    for (let at = 0; at < answer.length;) {
      const length = answer.readInt32BE(at + 1)
      last = String.fromCharCode(answer[at] as number)
      const body = answer.subarray(at + 5, at + 1 + length)
      if (last === 'E') failure = errorOf(body)
      else each(last, body)
      at += 1 + length
    }
    if (failure !== undefined) {
      // Until then the store ignores whatever it is sent.
      if (last !== 'Z') exchange(sync)
      throw failure
    }
    if (!whole.has(last)) throw new Error('PGlite gave no whole answer')
  }
  const prepare = (text: string): Prepared => {
    const prepared: Prepared = { name: `s${known.size}`, columns: [], mayWrite: writing.test(text) }
    const parse = message('P', cString(prepared.name), cString(text), number(2, 0))
    const describe = message('D', Buffer.from('S'), cString(prepared.name))
    send(Buffer.concat([parse, describe, sync]), (type, body) => {
      if (type === 'T') prepared.columns = columnsOf(body)
    })
    known.set(text, prepared)
    return prepared
  }
  return {
    query: ({ text, values }) => {
      const { name, columns, mayWrite } = known.get(text) ?? prepare(text)
      const rows: object[] = []
      send(bindAndExecute(name, values, mayWrite && !inBlock), (type, body) => {
        if (type === 'D') rows.push(rowOf(body, columns))
      })
      return rows
    },
    simple: (text) => {
      // The reads before it may have left a transaction open, with which it would be rolled back.
      if (text !== 'begin' && !inBlock) exchange(sync)
      send(message('Q', cString(text)), () => undefined)
      inBlock = text === 'begin'
    },
    setClock: (ms) => {
      now = ms
    },
    close: () => pg.close(),
  }
}

/** Those that no seed empties have one row each. */
const allTables = [...tables, 'leader', 'hatch']

/** `differs`: every answer from memory is compared with the store's own. */
export const withMemory = (store: SyncStore, differs?: (text: string) => void): SyncStore =>
  remembering(store, allTables, differs)

export const openSyncStore = async (): Promise<SyncStore> => withMemory(await openPlainStore())
