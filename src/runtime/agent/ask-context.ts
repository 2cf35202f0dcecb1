/**
 * What a question is about, and the right by which its result is stored. During a run that is the run's lease. A review comes after the
 * run, when the lease is gone: the claim of its judgement takes its place.
 */
import { addSpend, type Spend } from '../../domain/budget.ts'
import type { Queryable } from '../../store/db.ts'
import { requireLease } from '../../store/run.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'

/** The claim of a judgement. */
export interface AskClaim {
  /** The finished work that the question is about. */
  commit: string
  /** Throws `StaleError` inside `tx` if the claim is lost. */
  require(tx: Queryable): Promise<void>
  /** Adds what the question spent to the judgement and its goal; throws as `require`. */
  addSpend(tx: Queryable, spend: Spend): Promise<void>
  /** Extends the claim while the agent of this launch folder works, until the returned function is called. */
  keepAlive(dir: string): () => void
}

export type AskContext = Pick<
  RunContext,
  'context' | 'goal' | 'task' | 'run' | 'paths' | 'abort' | 'renewedAt' | 'onRenewed'
> & {
  /** Absent = the lease of the run. */
  claim?: AskClaim
  /** The question is about this commit, and not about the workspace of the run. */
  commit?: string
}

export const requireRight = (asking: AskContext, tx: Queryable): Promise<void> =>
  asking.claim === undefined ? requireLease(tx, asking.run) : asking.claim.require(tx)

/** Stores what a question spent: in the run, or in the judgement. */
export const storeSpend = (asking: AskContext, tx: Queryable, spend: Spend): Promise<void> =>
  asking.claim === undefined
    ? saveProgress(asking, { spend: addSpend(asking.run.spend, spend) }, tx)
    : asking.claim.addSpend(tx, spend)
