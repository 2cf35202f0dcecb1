/** Notifies a listener after every write that may have added events, so that readers of events need not poll. */
import type { Db } from './db.ts'

/**
 * The same store with a listener. `written` is called after the commit and must not throw; it may also be called when
 * no event was added.
 */
export const withWriteListener = (db: Db, written: () => void): Db => ({
  ...db,
  query: async (statement) => {
    const rows = await db.query<never>(statement)
    if (statement.text.includes('insert into event')) written()
    return rows
  },
  transaction: async (work) => {
    const value = await db.transaction(work)
    written()
    return value
  },
})
