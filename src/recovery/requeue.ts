/**
 * How a task continues after a run for which no recovery was left: it starts again with what was adjusted, a new task
 * continues its work, or a person is asked. The first matching row of `rules` decides. Pure: the caller reads the facts from the
 * store, and the limits are counts of stored requeues per cause.
 */
import type { CheckAdjustment } from '../domain/run.ts'
import type { Category } from './diagnosis/labels.ts'
import { isReviewCause } from './review-requeue.ts'
import { adjustedCommands } from './requeue/adjustment.ts'
import { isLiteralRule } from './requeue/covered-paths.ts'
import { progressEpoch, sameFailures, type FailedRun } from './requeue/repetition.ts'

/** What a requeue is counted as. Each cause has its own limit, so that one never uses up another. */
export type RequeueCause = Category | 'commands' | 'paths' | 'in_place' | 'suppressed'

/** Maximum number of requeues of a failed task, by the category of its failure. */
export const categoryLimits: Record<Category, number> = {
  ...{ env: 5, setup: 3, permission: 0, noop: 0, policy: 3, test: 3, flaky: 6, model: 3, model_loop: 1 },
}

/** Equal failures in a row after which the next step of the family is taken. */
export const climbAfter = 2

const adjustmentLimit = 5
/** Of all causes together, since the last progress; ends a task whose own limits are lifted. */
export const totalRequeues = 12

export interface RequeueLimits {
  maxRetries: number
  inPlaceLimit: number
  sameFailureLimit: number
  suppressionLimit: number
  reworkDepth: number
  fruitlessCalls: number
}

export interface PastRequeue {
  cause: string
  /** Of the run that failed before it. */
  epoch: number
}

export interface RequeueFacts {
  status: 'failed' | 'blocked(needs_rework)'
  taskId: string
  /** Of the last run. */
  failure: {
    failureCode: string
    category: Category
    retryable: boolean
    /** What the run would have corrected in the checks, if its budget had allowed it. */
    adjustment?: CheckAdjustment
    /** Whether the work did not pass. Otherwise its agent failed, and the task waits as `failed` first. */
    isOfWork: boolean
    /** Its agent failed and left no change, so there is no work that a new task could continue. */
    withoutWork?: true
    /** Changed paths outside the task's rules, and among them those that a rule could allow: not denied, no secret. */
    violations: readonly string[]
    outside: readonly string[]
    /** Among them those that no rule and no passing of time can allow: secrets, nested repositories, links out of the tree. */
    never: readonly string[]
  }
  commands: readonly string[]
  /** Failed runs of the present count, oldest first, after those of the tasks that it continues. The last one is `failure`. */
  runs: readonly FailedRun[]
  /** Calls of its agents in a row that brought nothing new, also of the tasks that it continues. */
  fruitless: number
  /** Requeues of the present count. */
  past: readonly PastRequeue[]
  /** Paths that the path policy would allow now. */
  allowable: readonly string[]
  /** Whether a task that continues this one exists and has not been cancelled. */
  hasChild: boolean
  /** Whether the task solves a conflict of another one, which does its work again when this one is given up. */
  solvesConflict: boolean
  /** How many tasks this one continues. */
  depth: number
  limits: RequeueLimits
}

/** `count` and `limit`: of the cause, with this requeue. `limit` -1 = none. */
interface Counted {
  cause: RequeueCause
  count: number
  limit: number
}

export type RequeueDecision = { reason: string } & (
  | ({ kind: 'requeue'; commands?: string[]; paths?: string[] } & Counted)
  /** Stays where it is and is looked at again after the same wait. */
  | ({ kind: 'wait' } & Counted)
  /** No start in place is left for a failed task: it waits as `blocked(needs_rework)`. */
  | { kind: 'park' }
  /** A new task continues the work. */
  | { kind: 'split' }
  | { kind: 'cancel' }
  | { kind: 'ask' }
)

interface Rule {
  /** Of which states; absent = both. */
  of?: RequeueFacts['status']
  choose: (facts: RequeueFacts) => RequeueDecision | undefined
}

const countOf = ({ past }: RequeueFacts, cause: RequeueCause): number =>
  past.filter((each) => each.cause === cause).length

const counted = (facts: RequeueFacts, cause: RequeueCause, limit: number): Counted => ({
  ...{ cause, limit },
  count: countOf(facts, cause) + 1,
})

const ask = (reason: string): RequeueDecision => ({ kind: 'ask', reason })

/** The requeues since the failing tests last became fewer. */
const sinceProgress = ({ past, runs, taskId }: RequeueFacts): PastRequeue[] => {
  const from = progressEpoch(runs, taskId)
  return past.filter(({ epoch }) => epoch >= from)
}

const isSpent = (facts: RequeueFacts): boolean =>
  sinceProgress(facts).filter(({ cause }) => cause !== 'suppressed' && !isReviewCause(cause)).length >= totalRequeues

const categoryLimit = ({ failure, limits }: RequeueFacts): number => {
  const own = categoryLimits[failure.category]
  return limits.maxRetries < 0 ? own : Math.min(own, limits.maxRetries)
}

/** Starts of a failed task, whatever the cause. */
const startsOfFailed = ({ past }: RequeueFacts): number =>
  past.filter(({ cause }) => Object.hasOwn(categoryLimits, cause)).length

const isCategorySpent = (facts: RequeueFacts): boolean => {
  const { limits, failure } = facts
  const isOver = limits.maxRetries >= 0 && startsOfFailed(facts) >= limits.maxRetries
  return isOver || countOf(facts, failure.category) >= categoryLimit(facts)
}

/** For these causes the wait itself is the change, so an equal failure after it is no reason to climb. */
const waitHelps = new Set<Category>(['env', 'flaky', 'setup'])

/** An agent that hangs, or a check that takes too long, does the same after a wait: another start must differ in more than that. */
const climbs = ({ runs, failure }: RequeueFacts): boolean =>
  (failure.failureCode === 'timeout' || !waitHelps.has(failure.category)) && sameFailures(runs) >= climbAfter

/** Reasons of a requeue with corrected checks, by the failure's code. */
const adjustedReasons: Readonly<Record<string, string>> = {
  verification_command_missing_script: 'verification_command_missing_script_adjusted',
  verification_command_no_test_files: 'verification_command_no_test_files_adjusted',
  verification_command_missing_make_target: 'verification_command_missing_make_target_adjusted',
  verification_command_unsupported_format: 'verification_command_unsupported_format_adjusted',
  verification_command_sequence_issue: 'verification_command_sequence_adjusted',
}

const fromBlocked = (reason: string, { status }: RequeueFacts): string =>
  status === 'failed' ? reason : `${reason}_from_blocked`

const adjustChecks = (facts: RequeueFacts): RequeueDecision | undefined => {
  const { failure, commands } = facts
  const reason = adjustedReasons[failure.failureCode]
  const { adjustment } = failure
  if (reason === undefined || adjustment === undefined || isSpent(facts)) return undefined
  if (countOf(facts, 'commands') >= adjustmentLimit) return undefined
  const next = adjustedCommands(commands, adjustment)
  if (next === undefined) return undefined
  return {
    ...{ kind: 'requeue', reason: fromBlocked(reason, facts), commands: next },
    ...counted(facts, 'commands', adjustmentLimit),
  }
}

const isOutsidePaths = ({ failure }: RequeueFacts): boolean =>
  failure.failureCode === 'policy_violation' && failure.violations.length > 0

/** Only paths that the work changed, each as a rule of its own: widening by another path would repair nothing. */
const widenPaths = (facts: RequeueFacts): RequeueDecision | undefined => {
  const { failure, allowable } = facts
  const paths = failure.outside.filter((path) => allowable.includes(path) && isLiteralRule(path))
  const limit = categoryLimits.policy
  if (!isOutsidePaths(facts) || paths.length === 0 || countOf(facts, 'paths') >= limit) return undefined
  return {
    ...{ kind: 'requeue', reason: fromBlocked('policy_allowed_paths_adjusted', facts), paths },
    ...counted(facts, 'paths', limit),
  }
}

/** Both limits 0: the owner wants to be asked at once. */
const isOff = ({ inPlaceLimit, reworkDepth }: RequeueLimits): boolean => inPlaceLimit === 0 && reworkDepth === 0

const retryFailed = (facts: RequeueFacts): RequeueDecision => {
  const { failureCode, category } = facts.failure
  if (isCategorySpent(facts) || isSpent(facts) || climbs(facts)) return { kind: 'park', reason: failureCode }
  return { kind: 'requeue', reason: 'cooldown_retry', ...counted(facts, category, categoryLimit(facts)) }
}

const retrySetup = (facts: RequeueFacts): RequeueDecision | undefined => {
  const limit = categoryLimits.setup
  if (facts.failure.failureCode !== 'setup_or_bootstrap_issue' || countOf(facts, 'setup') >= limit) return undefined
  return { kind: 'requeue', reason: 'setup_or_bootstrap_retry_from_blocked', ...counted(facts, 'setup', limit) }
}

const retryInPlace = (facts: RequeueFacts): RequeueDecision | undefined => {
  const { inPlaceLimit: limit } = facts.limits
  const count = sinceProgress(facts).filter(({ cause }) => cause === 'in_place').length
  if (facts.failure.category === 'policy' || climbs(facts) || isSpent(facts)) return undefined
  // A task that failed had its starts in place before it came here, or its owner allows none: a smaller limit must not bring more.
  if (!facts.failure.isOfWork) return undefined
  if (countOf(facts, facts.failure.category) >= categoryLimits[facts.failure.category]) return undefined
  if (limit >= 0 && count >= limit) return undefined
  return { kind: 'requeue', reason: 'needs_rework_in_place_retry', cause: 'in_place', count: count + 1, limit }
}

/**
 * The path may become allowed, for example when another task leaves its area; until then a new task could not do better. Where
 * one of them never can be, nothing could end the wait.
 */
const suppress = (facts: RequeueFacts): RequeueDecision | undefined => {
  if (!isOutsidePaths(facts)) return undefined
  const { suppressionLimit: limit } = facts.limits
  return countOf(facts, 'suppressed') < limit && facts.failure.never.length === 0
    ? {
        ...{ kind: 'wait', reason: 'policy_violation_rework_suppressed_no_safe_path' },
        ...counted(facts, 'suppressed', limit),
      }
    : { kind: 'cancel', reason: 'policy_violation_rework_suppressed_exhausted' }
}

/** No task continues one that solves a conflict: its parent does the work again, and knows what was merged first. */
const giveUpConflict = ({ solvesConflict, status, failure }: RequeueFacts): RequeueDecision | undefined => {
  if (!solvesConflict) return undefined
  // A task is given up from where its rework waits.
  if (status === 'failed') return { kind: 'park', reason: failure.failureCode }
  return { kind: 'cancel', reason: 'conflict_autofix_needs_rework_suppressed' }
}

/** What changes with time, and paths that a rule may allow later, need no call that brings something new. */
const endFruitless = (facts: RequeueFacts): RequeueDecision | undefined => {
  const { fruitless, failure, limits } = facts
  const isOfCalls =
    failure.failureCode === 'timeout' || !(waitHelps.has(failure.category) || failure.category === 'policy')
  if (!isOfCalls || limits.fruitlessCalls < 0 || fruitless < limits.fruitlessCalls) return undefined
  return giveUpConflict(facts) ?? ask('calls_without_progress')
}

/** In order: the first row that gives a decision applies. */
const rules: readonly Rule[] = [
  { choose: ({ limits, failure }) => (isOff(limits) ? ask(failure.failureCode) : undefined) },
  { choose: adjustChecks },
  { choose: widenPaths },
  { choose: (facts) => (facts.failure.retryable ? undefined : giveUpConflict(facts)) },
  { choose: ({ failure }) => (failure.retryable ? undefined : ask(failure.failureCode)) },
  {
    choose: ({ runs, limits }) =>
      sameFailures(runs) >= limits.sameFailureLimit ? ask('repeated_same_failure_signature') : undefined,
  },
  { choose: endFruitless },
  { of: 'failed', choose: retryFailed },
  { choose: retrySetup },
  { choose: retryInPlace },
  { choose: giveUpConflict },
  { choose: suppress },
  { choose: ({ hasChild }) => (hasChild ? { kind: 'cancel', reason: 'rework_child_already_exists' } : undefined) },
  { choose: ({ failure }) => (failure.withoutWork === true ? ask(failure.failureCode) : undefined) },
  { choose: ({ limits, failure }) => (limits.reworkDepth === 0 ? ask(failure.failureCode) : undefined) },
  {
    choose: ({ depth, limits }) =>
      depth >= limits.reworkDepth ? { kind: 'cancel', reason: 'rework_chain_max_depth_reached' } : undefined,
  },
  { choose: () => ({ kind: 'split', reason: 'needs_rework' }) },
]

export const chooseRequeue = (facts: RequeueFacts): RequeueDecision => {
  for (const { of, choose } of rules) {
    const decision = of === undefined || of === facts.status ? choose(facts) : undefined
    if (decision !== undefined) return decision
  }
  throw new Error('the last row applies to every task')
}
