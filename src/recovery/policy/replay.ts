/**
 * Decides stored violations and failures again with other settings: what a change of them would have done. Which areas other
 * tasks held at that time is not stored, so none is assumed. Pure.
 */
import { chooseRequeue, type RequeueDecision, type RequeueFacts, type RequeueLimits } from '../requeue.ts'
import { autoAllowFor, type PathTask } from './auto-allow.ts'
import { explainPath } from './explain-path.ts'
import type { PathFacts } from './path-question.ts'
import { shownPath } from './path-safety.ts'
import type { PolicyRecovery } from './recovery-policy.ts'

/** The settings that decide, each under the name of its key. */
export interface ReplayRules extends PolicyRecovery {
  deniedPaths: readonly string[]
  'policyRecovery.generatedPaths': readonly string[]
  'policyRecovery.extraGeneratedPaths': readonly string[]
  'policyRecovery.useLlm': boolean
  'policyRecovery.attempts': number
  'playbooks.disabled': readonly string[]
  'requeue.maxRetries': number
  'requeue.inPlaceLimit': number
  'requeue.sameFailureLimit': number
  'requeue.suppressionLimit': number
  'requeue.reworkDepth': number
  'requeue.fruitlessCalls': number
}

interface CaseOf {
  taskId: string
  title: string
  runId: string
  task: PathTask
}

/** A path outside of a task's allowed paths that a run changed. */
export interface PathCase extends CaseOf {
  path: string
  /** The kind of the violation. What the name and the settings do not show, such as a secret in the text, is refused by all rules. */
  kind: string
  facts: PathFacts
}

/** A run that failed, with what was known when it was decided how its task continues. */
export interface FailureCase extends CaseOf {
  facts: Omit<RequeueFacts, 'limits' | 'allowable'>
  /** A check failed, and not the agent or the paths. */
  isCheck: boolean
}

export interface Replayed {
  decision: string
  rule: string
}

export interface ChangedCase extends Pick<CaseOf, 'taskId' | 'title' | 'runId'> {
  kind: 'path' | 'failure'
  /** The path, or the code of the failure. */
  subject: string
  before: Replayed
  after: Replayed
  /** The keys that make the difference. */
  keys: string[]
}

export interface Replay {
  paths: number
  failures: number
  /** Those of the failures in which a check failed. */
  checks: number
  changed: ChangedCase[]
}

const fixedKinds: ReadonlySet<string> = new Set(['secret', 'nested_repository', 'symlink_out', 'encoding'])

const decidePath = ({ path, kind, task, facts }: PathCase, rules: ReplayRules): Replayed => {
  if (fixedKinds.has(kind)) return { decision: 'refused', rule: kind }
  const patterns = [...rules['policyRecovery.generatedPaths'], ...rules['policyRecovery.extraGeneratedPaths']]
  const { decision, rule } = explainPath({
    // The path was outside then; the task may have got it since.
    ...{ path, facts, task: { ...task, allowedPaths: [] }, policy: rules, held: [], grants: [], isDirect: false },
    denied: [...rules.deniedPaths, '.unstuck'].map((denied) => ({ path: denied, from: 'deniedPaths' })),
    generated: patterns.map((pattern) => ({ pattern, from: 'policyRecovery.generatedPaths', change: '' })),
    ...{ attempts: rules['policyRecovery.attempts'], useLlm: rules['policyRecovery.useLlm'] },
    disabled: rules['playbooks.disabled'],
  })
  return { decision, rule }
}

const limitsOf = (rules: ReplayRules): RequeueLimits => ({
  maxRetries: rules['requeue.maxRetries'],
  inPlaceLimit: rules['requeue.inPlaceLimit'],
  sameFailureLimit: rules['requeue.sameFailureLimit'],
  suppressionLimit: rules['requeue.suppressionLimit'],
  reworkDepth: rules['requeue.reworkDepth'],
  fruitlessCalls: rules['requeue.fruitlessCalls'],
})

const kindWords: Record<RequeueDecision['kind'], string> = {
  requeue: 'starts again',
  wait: 'waits',
  park: 'waits',
  split: 'a new task continues it',
  cancel: 'cancelled',
  ask: 'a question to you',
}

const decideFailure = ({ facts, task }: FailureCase, rules: ReplayRules): Replayed => {
  const allow = autoAllowFor({ ...task, deniedPaths: [...task.deniedPaths, ...rules.deniedPaths] }, rules, [])
  const given: RequeueFacts = {
    ...facts,
    limits: limitsOf(rules),
    allowable: facts.failure.outside.filter((path) => allow(path).allowed),
  }
  const first = chooseRequeue(given)
  // A failed task without a start in place waits for its rework at once.
  const { kind, reason } = first.kind === 'park' ? chooseRequeue({ ...given, status: 'blocked(needs_rework)' }) : first
  return { decision: kindWords[kind], rule: reason }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The keys that bring the new decision alone, or at least another one; without such a key, all that differ: they do it together. */
const keysBehind = (decide: (rules: ReplayRules) => Replayed, before: ReplayRules, after: ReplayRules): string[] => {
  const keys = (Object.keys(after) as (keyof ReplayRules)[]).filter((key) => !isSame(before[key], after[key]))
  const alone = keys.map((key) => ({ key, decided: decide({ ...before, [key]: after[key] }) }))
  const [first, last] = [decide(before), decide(after)]
  const exact = alone.filter(({ decided }) => isSame(decided, last))
  const other = alone.filter(({ decided }) => !isSame(decided, first))
  const found = exact.length > 0 ? exact : other
  return found.length > 0 ? found.map(({ key }) => key) : keys
}

type Plain = Pick<ChangedCase, 'kind' | 'subject' | 'taskId' | 'title' | 'runId'>

const compare = (
  plain: Plain,
  decide: (rules: ReplayRules) => Replayed,
  [before, after]: readonly [ReplayRules, ReplayRules],
): ChangedCase[] => {
  const [one, other] = [decide(before), decide(after)]
  return isSame(one, other) ? [] : [{ ...plain, before: one, after: other, keys: keysBehind(decide, before, after) }]
}

const plainOf = ({ taskId, title, runId }: CaseOf, kind: ChangedCase['kind'], subject: string): Plain => ({
  ...{ kind, subject, taskId, title, runId },
})

/** A path that a task changed in several runs counts once. */
export const replay = (
  { paths, failures }: { paths: readonly PathCase[]; failures: readonly FailureCase[] },
  ...rules: readonly [before: ReplayRules, after: ReplayRules]
): Replay => {
  const each = [...new Map(paths.map((entry) => [`${entry.taskId}\0${entry.path}`, entry])).values()]
  return {
    ...{ paths: each.length, failures: failures.length, checks: failures.filter(({ isCheck }) => isCheck).length },
    changed: [
      ...each.flatMap((entry) =>
        compare(plainOf(entry, 'path', shownPath(entry.path)), (given) => decidePath(entry, given), rules),
      ),
      ...failures.flatMap((entry) =>
        compare(
          plainOf(entry, 'failure', entry.facts.failure.failureCode),
          (given) => decideFailure(entry, given),
          rules,
        ),
      ),
    ],
  }
}
