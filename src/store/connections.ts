/** All statements on the server itself and the connections to it. */
import { firstRow, fromRow, sql, type Queryable } from './db.ts'

export interface ServerFacts {
  version: string
  connections: number
  /** Of the database, in bytes. */
  size: number
}

export const serverFacts = async (db: Queryable): Promise<ServerFacts> => {
  const row = await firstRow<object>(
    db,
    sql`select current_setting('server_version') as version, pg_database_size(current_database())::float8 as size,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and datname = current_database()) as connections`,
  )
  return fromRow<ServerFacts>(row ?? {})
}

export interface Connection {
  /** The process of the server that serves it. */
  pid: number
  /** What the client calls itself. */
  name: string
  /** When it began, as the server writes it. */
  since: string
}

export const clientConnections = (db: Queryable): Promise<Connection[]> =>
  db.query<Connection>(
    sql`select pid, application_name as name, backend_start::text as since from pg_stat_activity
      where backend_type = 'client backend' and datname = current_database()`,
  )

/** The number of a process is used again, so its start is compared too. */
export const endConnection = async (db: Queryable, { pid, since }: Connection): Promise<void> => {
  await db.query(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where pid = ${pid}::int and backend_start::text = ${since}`,
  )
}
