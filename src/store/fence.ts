/** Asked immediately before a push, which no transaction of ours can take back: is the asker still the one who may act? */
import type { MergeEntry } from '../domain/merge.ts'
import { one, sql, type Queryable } from './db.ts'

/** Whether nobody has moved this merge entry since it was claimed. */
export const holdsMerge = async (db: Queryable, entry: MergeEntry): Promise<boolean> =>
  (await one<object>(
    db,
    sql`select id from merge_entry where id = ${entry.id} and version = ${entry.version} and state = 'processing'`,
  )) !== undefined
