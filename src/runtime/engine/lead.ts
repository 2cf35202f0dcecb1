/**
 * The leadership among engines that share a store, as this engine sees it: a term that begins with the advisory lock,
 * and a store that refuses writes of an older term. An embedded store has one engine, which is always the leader.
 */
import { fencedBy, leaderNow, takeLead, unseatSilent } from '../../store/leader.ts'
import { finishCancels } from '../people/answers.ts'
import type { Context } from '../core/context.ts'
import type { Grace } from './grace.ts'
import { dropAllUnused } from '../landing/hand-overs.ts'
import { recoverMerges } from '../landing/merge-queue.ts'

export interface Lead {
  /** The context for the leader's jobs; undefined = another engine is the leader. */
  context(): Promise<Context | undefined>
  /** Called after a write was refused: the term is over. */
  lost(): void
}

/** Milliseconds between two checks for a silent leader. */
const unseatEveryMs = 1_000

/** Becomes the leader and returns the term. Finishes first what the previous leader left half done. */
const beginTerm = async (context: Context, engineId: string, gracePeriod: Grace): Promise<number> => {
  const term = await takeLead(context.db, engineId)
  // Live owners need time to prove it: their renewals may have waited for the store as long as this engine did.
  gracePeriod.begin()
  const own = { ...context, db: fencedBy(context.db, term) }
  await recoverMerges(own)
  await finishCancels(own, 0)
  // A leader that was killed after a merge could not drop the refs that the merge had used.
  await dropAllUnused(own)
  return term
}

/**
 * Tracks the leadership of this engine. While another engine is the leader, it also ends the session of a leader that
 * does not respond.
 */
export const createLead = (context: Context, engineId: string, gracePeriod: Grace): Lead => {
  let term: number | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  const endSilentLeader = async (): Promise<void> => {
    if (!gracePeriod.over() || context.clock.elapsed() - checkedAt < unseatEveryMs) return
    checkedAt = context.clock.elapsed()
    const gone = await unseatSilent(context.db)
    if (gone !== undefined) context.log.warn(gone, 'the database session of a leader that did not respond was ended')
  }
  return {
    context: async () => {
      if (context.db.leads !== undefined && !context.db.leads()) {
        term = undefined
        await endSilentLeader()
        return undefined
      }
      // The lock may have moved to another session and back between two checks.
      if (term !== undefined && (await leaderNow(context.db)).term !== term) term = undefined
      term ??= await beginTerm(context, engineId, gracePeriod)
      return { ...context, db: fencedBy(context.db, term) }
    },
    lost: () => (term = undefined),
  }
}
