/**
 * Statements that PGlite prepares once. Planning takes several times as long as running our small statements (1.3 ms of CPU and 0.17 for the
 * due tasks of an empty store), and PGlite's own `query` plans each time.
 */
import { messages, protocol, types, type PGlite } from '@electric-sql/pglite'

interface Prepared {
  name: string
  /** Types of the parameters and columns, as PostgreSQL numbers them. */
  parameters: number[]
  columns: { name: string; dataTypeID: number }[]
}

export interface Statements {
  query(text: string, values: readonly unknown[]): Promise<object[]>
  /** Of a script, which may change the tables that statements were prepared for. */
  script(text: string): Promise<void>
}

/**
 * After so many statements everything is planned again. A plan that was made for an almost empty table stays otherwise for as long as the
 * process lives, because nothing gathers statistics in an embedded store.
 */
const freshFor = 10_000

const { serialize } = protocol

const inTransaction = new Set(['begin', 'commit', 'rollback'])

export const createStatements = (db: PGlite, planFor = freshFor): Statements => {
  const known = new Map<string, Prepared>()
  let names = 0
  let used = 0
  const send = async (...parts: Uint8Array[]) =>
    (await db.execProtocol(Buffer.concat([...parts, serialize.sync()]))).messages
  const prepare = async (text: string): Promise<Prepared> => {
    const prepared: Prepared = { name: `unstuck_${(names += 1)}`, parameters: [], columns: [] }
    const { name } = prepared
    for (const message of await send(serialize.parse({ name, text }), serialize.describe({ type: 'S', name }))) {
      if (message instanceof messages.ParameterDescriptionMessage) prepared.parameters = message.dataTypeIDs
      if (message instanceof messages.RowDescriptionMessage) prepared.columns = message.fields
    }
    known.set(text, prepared)
    return prepared
  }
  const wireText = (value: unknown, type: number | undefined): string | null => {
    if (value === null || value === undefined) return null
    const serializer = db.serializers[type ?? types.TEXT]
    if (serializer !== undefined) return serializer(value)
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const read = (row: (string | null)[], { columns }: Prepared): object =>
    Object.fromEntries(
      columns.map(({ name, dataTypeID }, index) => [name, types.parseType(row[index] ?? null, dataTypeID, db.parsers)]),
    )
  const run = async (text: string, values: readonly unknown[]): Promise<object[]> => {
    used += 1
    if (used % planFor === 0) await db.execProtocol(serialize.query('discard plans'))
    const prepared = known.get(text) ?? (await prepare(text))
    const bound = values.map((value, index) => wireText(value, prepared.parameters[index]))
    const answer = await send(serialize.bind({ statement: prepared.name, values: bound }), serialize.execute())
    return answer.flatMap((message) =>
      message instanceof messages.DataRowMessage ? [read(message.fields, prepared)] : [],
    )
  }
  return {
    // The messages of two statements must not mix.
    query: (text, values) => db.runExclusive(() => run(text, values)),
    script: async (text) => {
      if (inTransaction.has(text)) return void (await db.exec(text))
      // Also if it fails: a part of it may have been committed.
      known.clear()
      await db.exec(text)
      await db.exec('deallocate all')
    },
  }
}
