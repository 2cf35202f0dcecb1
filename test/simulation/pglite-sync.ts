/**
 * A real PGlite in this thread, spoken to with prepared statements over its own wire protocol: every statement is answered
 * before the call returns. That makes the store one of the world's events, and a statement costs a tenth of a millisecond.
 */
import { PGlite } from '@electric-sql/pglite'
import { migrations } from '../../src/store/migrate.ts'
import type { Sql } from '../../src/store/db.ts'

/** In the order in which they refer to each other. */
export const tables = [
  'event',
  'notification_button',
  'notification_delivery',
  'notification',
  'goal_export',
  'requeue',
  'path_grant_use',
  'path_grant',
  'learned_path',
  'account_limit',
  'recovery_execution',
  'config_state',
  'recovery_proposal',
  'escalation',
  'recovery',
  'merge_entry',
  'area_hold',
  'lease',
  'run',
  'agent',
  'task',
  'goal',
  'engine',
  'repository_seen',
] as const

export interface SyncStore {
  query(statement: Sql): object[]
  simple(text: string): void
  /** PGlite keeps what it read by the synchronous call until its next other one: gigabytes in hundreds of seeds. */
  forget(): Promise<void>
  close(): Promise<void>
}

interface Column {
  name: string
  read: (text: string) => unknown
}

interface Prepared {
  name: string
  columns: Column[]
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

const bound = (values: readonly unknown[]): Buffer[] =>
  values.flatMap((value) => {
    const text = wireText(value)
    if (text === null) return [number(4, -1)]
    const bytes = Buffer.from(text)
    return [number(4, bytes.length), bytes]
  })

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

const rowOf = (body: Buffer, columns: Column[]): object => {
  const row: Record<string, unknown> = {}
  let at = 2
  for (const { name, read } of columns) {
    const length = body.readInt32BE(at)
    at += 4
    row[name] = length < 0 ? null : read(body.toString('utf8', at, at + length))
    at += Math.max(0, length)
  }
  return row
}

export const openSyncStore = async (): Promise<SyncStore> => {
  const pg = await PGlite.create()
  for (const text of migrations) await pg.exec(text)
  // The world's statements see small tables: the planner's own estimates of empty ones lead it astray.
  await pg.exec(
    `set jit = off; set synchronous_commit = off; set plan_cache_mode = force_generic_plan; set timezone = 'UTC'`,
  )
  // Nothing here outlives the process; those that refer to others come first.
  for (const table of tables) await pg.exec(`alter table ${table} set unlogged`)
  const known = new Map<string, Prepared>()
  const send = (bytes: Buffer, each: (type: string, body: Buffer) => void): void => {
    const answer = Buffer.from(pg.execProtocolRawSync(bytes))
    let failure: Error | undefined
    for (let at = 0; at < answer.length;) {
      const length = answer.readInt32BE(at + 1)
      const type = String.fromCharCode(answer[at] as number)
      const body = answer.subarray(at + 5, at + 1 + length)
      if (type === 'E') failure = errorOf(body)
      else each(type, body)
      at += 1 + length
    }
    if (failure !== undefined) throw failure
  }
  const prepare = (text: string): Prepared => {
    const prepared: Prepared = { name: `s${known.size}`, columns: [] }
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
      const { name, columns } = known.get(text) ?? prepare(text)
      const bind = message(
        'B',
        cString(''),
        cString(name),
        number(2, 0),
        number(2, values.length),
        ...bound(values),
        number(2, 0),
      )
      const rows: object[] = []
      send(Buffer.concat([bind, execute, sync]), (type, body) => {
        if (type === 'D') rows.push(rowOf(body, columns))
      })
      return rows
    },
    simple: (text) => send(message('Q', cString(text)), () => undefined),
    forget: async () => void (await pg.query('select 1')),
    close: () => pg.close(),
  }
}
