/** All statements on the git directory that each host last saw at the repository's path. */
import { firstRow, sql, type Queryable } from './db.ts'

export const recordedDirectory = async (db: Queryable, host: string): Promise<string | undefined> =>
  (await firstRow<{ directory: string }>(db, sql`select directory from repository_seen where host = ${host}`))
    ?.directory

/** False = another process recorded this directory first. */
export const recordDirectory = async (tx: Queryable, host: string, directory: string): Promise<boolean> =>
  (await firstRow<object>(
    tx,
    sql`insert into repository_seen (host, directory) values (${host}, ${directory})
      on conflict (host) do update set directory = excluded.directory, seen_at = unstuck_now()
      where repository_seen.directory <> excluded.directory returning host`,
  )) !== undefined
