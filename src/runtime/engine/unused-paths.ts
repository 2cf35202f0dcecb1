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
const longestWaitMs = 3600 * 1000

export const endUnusedPaths = async (context: Context): Promise<void> => {
  const limit = grantLimit(context)
  await context.db.transaction(async (tx) => {
    await expirePathGrants(tx, limit)
    await expireLearnedPaths(tx, limit)
  })
  await exportLearnedPaths(context)
}

/** Runs the job when its due time has come; until then a pass of the leader reads nothing. */
export const createUnusedPathsJob = (): ((context: Context) => Promise<void>) => {
  let dueAt = Number.NEGATIVE_INFINITY
  return async (context) => {
    if (context.clock.elapsed() < dueAt) return
    const { db, clock } = context
    const seconds = await secondsToExpiry(db, grantLimit(context))
    if (seconds === undefined || seconds > 0) await exportLearnedPaths(context)
    else await endUnusedPaths(context)
    const next = seconds === undefined || seconds <= 0 ? longestWaitMs : Math.min(longestWaitMs, seconds * 1000)
    dueAt = clock.elapsed() + next
  }
}
