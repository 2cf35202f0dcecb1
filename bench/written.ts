/** What a piece of work makes a PostgreSQL database store: the rows of all tables that it writes, and the bytes of its log. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

interface Written {
  /** Rows that were inserted, updated or deleted. */
  rows: number
  walBytes: number
}

/** A connection counts its rows for others when it ends, so it asks only when no other is left. */
const written = async (url: string): Promise<Written> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const ask = async (text: string): Promise<number> =>
    Number((await client.query<{ found: string }>(`select (${text}) as found`)).rows[0]?.found)
  const others = `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
  const deadline = performance.now() + 30_000
  while ((await ask(others)) > 0) {
    if (performance.now() > deadline) throw new Error('a connection stayed open, so what it wrote is not counted yet')
    await delay(20)
  }
  const found = {
    rows: await ask('select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables'),
    walBytes: await ask(`pg_current_wal_insert_lsn() - '0/0'`),
  }
  await client.end()
  return found
}

/** The work opens connections of its own, and ends them. */
export const writtenBy = async <Result>(
  url: string,
  work: () => Promise<Result>,
): Promise<{ result: Result; written: Written }> => {
  const before = await written(url)
  const result = await work()
  const after = await written(url)
  return { result, written: { rows: after.rows - before.rows, walBytes: after.walBytes - before.walBytes } }
}
