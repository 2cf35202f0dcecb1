/**
 * The lead of the engines that share a store, as this one has it: a term that begins when the right to it is there, and a
 * store that refuses the writes of a term that is over. An embedded store is shared with nobody; its engine always leads.
 */
import { fencedBy, leaderNow, takeLead, unseatSilent } from '../../store/leader.ts'
import { finishCancels } from '../people/answers.ts'
import type { Context } from '../core/context.ts'
import type { Grace } from './grace.ts'
import { dropAllUnused } from '../landing/hand-overs.ts'
import { recoverMerges } from '../landing/merge-queue.ts'

export interface Lead {
  /** The context for leading jobs; undefined = another engine leads. */
  context(): Promise<Context | undefined>
  /** After a write was refused: the term is over. */
  lost(): void
}

/** A leader that is silent is looked for no more often than this. */
const unseatEveryMs = 1_000

/** Takes the lead; gives its term. What the leader before this one left half done is finished first. */
const beginTerm = async (context: Context, engineId: string, grace: Grace): Promise<number> => {
  const term = await takeLead(context.db, engineId)
  // Those who live need a moment to show it: their renewals may have waited for the store as long as we did.
  grace.begin()
  const own = { ...context, db: fencedBy(context.db, term) }
  await recoverMerges(own)
  await finishCancels(own, 0)
  // One who was killed after a merge could not put away what the merge had read.
  await dropAllUnused(own)
  return term
}

export const createLead = (context: Context, engineId: string, grace: Grace): Lead => {
  let term: number | undefined
  let looked = Number.NEGATIVE_INFINITY
  const unseat = async (): Promise<void> => {
    if (!grace.over() || context.clock.elapsed() - looked < unseatEveryMs) return
    looked = context.clock.elapsed()
    const gone = await unseatSilent(context.db)
    if (gone !== undefined) context.log.warn(gone, 'the session of a silent leader was ended')
  }
  return {
    context: async () => {
      if (context.db.leads !== undefined && !context.db.leads()) {
        term = undefined
        await unseat()
        return undefined
      }
      // The lock may have gone to another session and come back between two looks.
      if (term !== undefined && (await leaderNow(context.db)).term !== term) term = undefined
      term ??= await beginTerm(context, engineId, grace)
      return { ...context, db: fencedBy(context.db, term) }
    },
    lost: () => (term = undefined),
  }
}
