/**
 * The leadership among engines that share a store, as this engine sees it: a term that begins with the advisory lock,
 * and a store that refuses writes of an older term. On a server of the user's own a repository has one engine, which is always the leader.
 */
import {
  becomeLeader,
  currentLeader,
  endHolder,
  endSilentLeaderSession,
  fencedByTerm,
  findHolderWithoutTerm,
  type SessionOfServer,
} from '../../store/leader.ts'
import { finishCancels } from '../people/commands.ts'
import type { Context } from '../core/context.ts'
import { moveWaits, secondsBehind } from '../../store/clock-change.ts'
import { recordJump, type GracePeriod } from './grace-period.ts'
import { dropUnusedRunRefs } from '../landing/run-refs.ts'
import { requeueInterruptedMerges } from '../landing/merge-queue.ts'

export interface Leadership {
  /** The context for the leader's jobs; undefined = another engine is the leader. */
  context(): Promise<Context | undefined>
  /** Called after a write was refused: the term is over. */
  markLost(): void
}

/** Milliseconds between two checks for a silent leader. */
const unseatEveryMs = 1_000

/** How long a session may have the lock of the lead without a term. An engine begins its term with its next pass. */
export const holderPatienceMs = 30_000

/** Ends a session that has the lock of the lead and does not lead: nobody else could, and every task would wait in silence. */
const createHolderWatch = ({ db, clock, log }: Context) => {
  let seen: (SessionOfServer & { at: number }) | undefined
  return async (): Promise<void> => {
    const holder = await findHolderWithoutTerm(db)
    const isSame = holder !== undefined && holder.pid === seen?.pid && holder.since === seen.since
    if (!isSame) seen = holder && { ...holder, at: clock.elapsed() }
    const heldMs = clock.elapsed() - (seen?.at ?? Infinity)
    if (seen === undefined || heldMs < holderPatienceMs) return
    log.warn(
      { session: seen.name, heldMs },
      'a database session that has the lock of the lead and does not lead is ended',
    )
    await endHolder(db, seen, Math.round(heldMs / 1000))
    seen = undefined
  }
}

/** Less than this is no setting of a clock, but a store that was slow to answer. */
const clockToleranceSeconds = 5

/** After the clock of the store was set back while no engine led. A step ahead cannot be told from time that passed. */
const catchUpWithClock = async (context: Context, engineId: string): Promise<void> => {
  const seconds = await secondsBehind(context.db)
  if (seconds < clockToleranceSeconds) return
  await context.db.transaction((tx) => moveWaits(tx, -seconds))
  await recordJump(context, engineId, `the clock of the store was set back by ${Math.round(seconds)} s`)
}

/** Becomes the leader and returns the term. Finishes first what the previous leader left half done. */
const beginTerm = async (context: Context, engineId: string, gracePeriod: GracePeriod): Promise<number> => {
  const term = await becomeLeader(context.db, engineId)
  // Live owners need time to prove it: their renewals may have waited for the store as long as this engine did.
  gracePeriod.begin()
  const own = { ...context, db: fencedByTerm(context.db, term) }
  await catchUpWithClock(own, engineId)
  await requeueInterruptedMerges(own)
  await finishCancels(own, 0)
  // A leader that was killed after a merge could not drop the refs that the merge had used.
  await dropUnusedRunRefs(own)
  return term
}

/**
 * Tracks the leadership of this engine. While another engine is the leader, it also ends the session of a leader that
 * does not respond.
 */
export const createLeadership = (context: Context, engineId: string, gracePeriod: GracePeriod): Leadership => {
  let term: number | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  const endHolderWithoutTerm = createHolderWatch(context)
  const endSilentLeader = async (): Promise<void> => {
    if (!gracePeriod.isOver() || context.clock.elapsed() - checkedAt < unseatEveryMs) return
    checkedAt = context.clock.elapsed()
    const gone = await endSilentLeaderSession(context.db)
    if (gone !== undefined) context.log.warn(gone, 'the database session of a leader that did not respond was ended')
    else await endHolderWithoutTerm()
  }
  return {
    context: async () => {
      if (context.db.isLeader !== undefined && !context.db.isLeader()) {
        term = undefined
        await endSilentLeader()
        return undefined
      }
      // The lock may have moved to another session and back between two checks.
      if (term !== undefined && (await currentLeader(context.db)).term !== term) term = undefined
      term ??= await beginTerm(context, engineId, gracePeriod)
      return { ...context, db: fencedByTerm(context.db, term) }
    },
    markLost: () => (term = undefined),
  }
}
