/** A person's advice for the next attempts of a task. */
import { sql, type Queryable } from './db.ts'

/** A person's answer while the task is not waiting for one. The version stays, so that no executor loses its task by it. */
export const setHint = async (tx: Queryable, id: string, hint: string | null): Promise<void> => {
  await tx.query(sql`update task set hint = ${hint}, changed_at = unstuck_now() where id = ${id}`)
}
