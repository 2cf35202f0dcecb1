/**
 * Paths that earlier tasks needed, learned from recoveries that succeeded, and which of them a new task gets from the beginning.
 * Pure: the store keeps the recoveries, and the planner writes the paths into the task.
 */
import type { Role } from '../../domain/task.ts'
import type { PathTask } from './auto-allow.ts'
import { infraSignals, type InfraText } from './infra-signals.ts'
import { parsePathRule, pathMatcher } from './path-rule.ts'
import { deniedMatcher, unsafeBecause } from './path-safety.ts'
import { defaultPolicyRecovery, type PolicyRecovery } from './recovery-policy.ts'
import { secretRuleFor } from './secrets.ts'

/** A recovery that allowed paths, by a rule or by a model. */
export interface AppliedRecovery {
  role: Role
  /** The paths that were allowed. */
  paths: readonly string[]
  /** The task that needed them. */
  task: InfraText
  /** Only true once the run passed its checks with these paths. */
  succeeded: boolean
  at: Date
}

export interface PathHint {
  role: Role
  path: string
  /** How many successful recoveries allowed this path for this role. */
  count: number
  /** The task of the newest of them. */
  task: InfraText
  at: Date
}

export type HintReason = 'context_file_match' | 'signal_match_strong' | 'signal_match_repeated_weak'

export interface MatchedHint {
  path: string
  hintRole: Role
  hintCount: number
  reason: HintReason
  /** Title and instructions of the newest task that needed the path, at most 220 characters. */
  hintSourceText: string
}

export interface AppliedHints {
  addedAllowedPaths: string[]
  matchedHints: MatchedHint[]
}

const maxHints = 50
const maxSource = 220

/** By count, then the newest, then by role and path, so that equal input gives an equal order. */
const byWeight = (one: PathHint, other: PathHint): number =>
  other.count - one.count ||
  other.at.getTime() - one.at.getTime() ||
  (one.path < other.path ? -1 : one.path > other.path ? 1 : one.role < other.role ? -1 : 1)

const mayBeHinted = (path: string): boolean => unsafeBecause(path) === undefined && secretRuleFor(path) === undefined

/** The hints of successful recoveries, the most frequent first, at most 50. A recovery counts a path once. */
export const aggregateHints = (applied: readonly AppliedRecovery[]): PathHint[] => {
  const hints = new Map<string, PathHint>()
  for (const { role, paths, task, succeeded, at } of applied) {
    if (!succeeded || role === 'docser') continue
    for (const path of new Set(paths.filter(mayBeHinted))) {
      const key = `${role} ${path}`
      const before = hints.get(key)
      const newest = before === undefined || at.getTime() >= before.at.getTime()
      hints.set(key, {
        ...{ role, path, count: (before?.count ?? 0) + 1 },
        ...(newest ? { task, at } : { task: before.task, at: before.at }),
      })
    }
  }
  return [...hints.values()].toSorted(byWeight).slice(0, maxHints)
}

const isAllowed = (path: string, { allowedPaths }: PathTask): boolean =>
  allowedPaths.some((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok && pathMatcher(parsed.rule)(path)
  })

const shares = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((each) => others.includes(each))

const sourceText = ({ title, instructions }: InfraText): string => {
  const text = `${title}: ${instructions}`.replaceAll(/\s+/g, ' ').trim()
  return text.length > maxSource ? `${text.slice(0, maxSource - 1)}…` : text
}

/** The allowed paths that a new task gets from hints of its role. Denied paths and secrets are never added, a docs task gets none. */
export const applyHints = (
  task: PathTask,
  hints: readonly PathHint[],
  policy: PolicyRecovery = defaultPolicyRecovery,
): AppliedHints => {
  const own = infraSignals(task, policy)
  const context = new Set(task.contextFiles.map((file) => file.replace(/^(?:\.\/)+/, '')))
  const reasonFor = (hint: PathHint): HintReason | undefined => {
    if (context.has(hint.path)) return 'context_file_match'
    const theirs = infraSignals(hint.task, policy)
    if (shares(theirs.tools, own.tools)) return 'signal_match_strong'
    return hint.count >= 2 && shares(theirs.words, own.words) ? 'signal_match_repeated_weak' : undefined
  }
  const deniedFor = deniedMatcher(task.deniedPaths)
  const usable = hints.filter(
    ({ role, path }) =>
      role === task.role &&
      role !== 'docser' &&
      mayBeHinted(path) &&
      deniedFor(path) === undefined &&
      !isAllowed(path, task),
  )
  const matched = new Map<string, MatchedHint>()
  for (const hint of usable) {
    const reason = matched.has(hint.path) ? undefined : reasonFor(hint)
    if (reason === undefined) continue
    const { path, role: hintRole, count: hintCount } = hint
    matched.set(path, { path, hintRole, hintCount, reason, hintSourceText: sourceText(hint.task) })
  }
  return { addedAllowedPaths: [...matched.keys()], matchedHints: [...matched.values()] }
}
