/** A job of the leader: ends the granted and learned paths that no run has used for some time. */
import { expireLearnedPaths } from '../../store/learned-path.ts'
import { expirePathGrants, secondsToExpiry } from '../../store/path-grant.ts'
import type { Context } from '../core/context.ts'
import { exportLearnedPaths } from '../core/export-learned.ts'
import { grantLimit } from '../core/granted-paths.ts'

/**
 * Longest time between two readings of the due time. A shorter `grantDays` and a clock that was set forward count after this time at
 * the latest.
 */
const longestWaitSeconds = 3600

export const endUnusedPaths = async (context: Context): Promise<void> => {
  const limit = grantLimit(context)
  await context.db.transaction(async (tx) => {
    await expirePathGrants(tx, limit)
    await expireLearnedPaths(tx, limit)
  })
  await exportLearnedPaths(context)
}

/** Ends what is due, and returns after how many seconds the next path is, or the longest wait. */
export const endUnusedPathsWhenDue = async (context: Context): Promise<number> => {
  const seconds = await secondsToExpiry(context.db, grantLimit(context))
  if (seconds === undefined || seconds > 0) await exportLearnedPaths(context)
  else await endUnusedPaths(context)
  return seconds === undefined || seconds <= 0 ? longestWaitSeconds : Math.min(longestWaitSeconds, seconds)
}
