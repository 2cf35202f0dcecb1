/** All statements on the git directory that each host last saw at the repository's path. */
import { one, sql, type Queryable } from './db.ts'

export const seenDirectory = async (db: Queryable, host: string): Promise<string | undefined> =>
  (await one<{ directory: string }>(db, sql`select directory from repository_seen where host = ${host}`))?.directory

/** False = another process recorded this directory first. */
export const noteDirectory = async (tx: Queryable, host: string, directory: string): Promise<boolean> =>
  (await one<object>(
    tx,
    sql`insert into repository_seen (host, directory) values (${host}, ${directory})
      on conflict (host) do update set directory = excluded.directory, seen_at = unstuck_now()
      where repository_seen.directory <> excluded.directory returning host`,
  )) !== undefined
