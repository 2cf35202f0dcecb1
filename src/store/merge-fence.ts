/** Checked immediately before a push, which no transaction can undo: does this engine still own the merge entry? */
import type { MergeEntry } from '../domain/merge.ts'
import { firstRow, sql, type Queryable } from './db.ts'

/** Whether the merge entry is unchanged since it was claimed. */
export const ownsMergeEntry = async (db: Queryable, entry: MergeEntry): Promise<boolean> =>
  (await firstRow<object>(
    db,
    sql`select id from merge_entry where id = ${entry.id} and version = ${entry.version} and state = 'processing'`,
  )) !== undefined
