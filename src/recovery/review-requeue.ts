/**
 * How a task continues that is, or should be, before the judge. The rows of `rules` are tried in order; a task for which none applies
 * continues as any other (requeue.ts). Every move needs a fact that the one before it did not have: a run that can be judged, or a start
 * that is left. So no task goes back and forth. Pure: the caller reads the facts from the store.
 */

export interface ReviewFacts {
  status: 'failed' | 'blocked(needs_rework)' | 'blocked(awaiting_judge)'
  /** The task reviews work that exists already: another start of it launches no agent. */
  isReview: boolean
  /**
   * The newest successful run of the present count, and of the newest commit that is reviewed. `pending`: it is judged, or waits for the
   * judge, for its merge or for a person. `restorable`: the judge took it and gave no verdict in time. `none`: no run can be judged; a run
   * with a verdict is never judged again.
   */
  run: 'pending' | 'restorable' | 'none'
  /** An AutoFix task corrects the work. */
  hasFix: boolean
  /** How often this run was given back to the judge. */
  restored: number
  /** How often the task started because no run of it could be judged, in the present count. */
  started: number
}

export type ReviewMove =
  /** The task has a next step where it is. */
  | { kind: 'keep' }
  /** To `blocked(awaiting_judge)`: its run waits there for the judge. */
  | { kind: 'await_judge'; reason: string }
  /** The same, and the judge may take the run once more. */
  | { kind: 'restore'; reason: string; count: number; limit: number }
  | { kind: 'requeue'; reason: string; count: number; limit: number }
  | { kind: 'ask'; reason: string }

/** A judge that does not come to a verdict on a run at so many tries will not at the next. */
export const restoreLimit = 3

/** Without a change a second start of a review finds what the first one found. */
const startsOfReview = 1
const startsOfWork = 3

interface Row {
  of: ReviewFacts['status']
  /** Absent = of every task. */
  isReview?: true
  /** Absent = whatever can be judged. */
  run?: ReviewFacts['run']
  choose: (facts: ReviewFacts) => ReviewMove | undefined
}

const awaitJudge =
  (reason: string): Row['choose'] =>
  () => ({ kind: 'await_judge', reason })

const restore =
  (reason: string): Row['choose'] =>
  ({ restored }) => ({ kind: 'restore', reason, count: restored + 1, limit: restoreLimit })

/** Starts the task while a start is left, then asks. */
const start =
  (reason: string, limit: number): Row['choose'] =>
  ({ started }) =>
    started < limit ? { kind: 'requeue', reason, count: started + 1, limit } : { kind: 'ask', reason }

const keep: Row['choose'] = () => ({ kind: 'keep' })

const failed = { of: 'failed', isReview: true } as const
const rework = { of: 'blocked(needs_rework)', isReview: true } as const
const waiting = { of: 'blocked(awaiting_judge)' } as const

/** What a move is counted as. None of them says anything about the work, so none uses up a limit of another cause. */
export const reviewCauses = {
  await_judge: 'judge_awaited',
  restore: 'judge_restored',
  requeue: 'judge_missing',
} as const

export const isReviewCause = (cause: string): boolean => Object.values<string>(reviewCauses).includes(cause)

export const reviewRules: readonly Row[] = [
  { ...failed, run: 'pending', choose: awaitJudge('pr_review_failed_to_awaiting_judge') },
  { ...failed, run: 'restorable', choose: restore('pr_review_failed_run_restored') },
  { ...rework, choose: ({ hasFix }) => (hasFix ? { kind: 'keep' } : undefined) },
  { ...rework, run: 'pending', choose: awaitJudge('pr_review_needs_rework_to_awaiting_judge') },
  { ...rework, run: 'restorable', choose: restore('pr_review_needs_rework_run_restored') },
  { ...rework, run: 'none', choose: start('pr_review_needs_rework_missing_run_retry', startsOfReview) },
  { ...waiting, run: 'pending', choose: keep },
  { ...waiting, run: 'restorable', choose: restore('awaiting_judge_run_restored') },
  { ...waiting, isReview: true, choose: start('awaiting_judge_missing_run_retry', startsOfReview) },
  { ...waiting, choose: start('awaiting_judge_timeout_retry', startsOfWork) },
]

/** Undefined = the task continues as any other. */
export const chooseReviewMove = (given: ReviewFacts): ReviewMove | undefined => {
  const isSpent = given.run === 'restorable' && given.restored >= restoreLimit
  const facts: ReviewFacts = isSpent ? { ...given, run: 'none' } : given
  for (const { of, isReview, run, choose } of reviewRules) {
    if (of !== facts.status || (isReview === true && !facts.isReview) || (run !== undefined && run !== facts.run))
      continue
    const move = choose(facts)
    if (move !== undefined) return move
  }
  return undefined
}
