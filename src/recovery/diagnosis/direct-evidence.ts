/**
 * Kinds of evidence that determine the diagnosis by themselves. Each is one record: its label and meaning, the observation it
 * needs, and the text and facts made of it. The types of evidence, label and facts are inferred from this table.
 */
import type { Excluded, PreexistingFailure } from '../../domain/run.ts'
import { failuresText } from '../../domain/preexisting-failures.ts'
import { leftRunningLabel, leftRunningText } from '../left-running.ts'
import { visibleText } from '../../visible-text.ts'
import type { LabelMeaning } from './labels.ts'
import { defined } from '../../domain/defined.ts'

interface Violation {
  path: string
  kind: string
  rule: string
}

interface Kind<L extends string, Observed, Facts> extends LabelMeaning<L> {
  words: (observed: Observed) => string
  /** The facts that its playbooks need. */
  facts: (observed: Observed) => Facts
}

const kind = <L extends string, Observed extends object, Facts extends object>(
  record: Kind<L, Observed, Facts>,
): Kind<L, Observed, Facts> => record

const none = (): { none?: never } => ({})

/** The observation is only a text. */
const plain = <L extends string>(meaning: LabelMeaning<L>): Kind<L, { text: string }, { none?: never }> => ({
  ...meaning,
  words: ({ text }) => text,
  facts: none,
})

/** A path that a rule of the policy mode allows. */
export interface AllowedPath {
  path: string
  rule: string
  because: string
}

/** A proposed command that may run, and the failure that it is about. */
export interface RunProposed {
  proposal: string
  step: 'primary' | 'fallback'
  command: string
  workingDir: string
  timeoutSeconds: number
  /** `auto`, `on_unknown`, or the name of a person. */
  approvedBy: string
  /** The check that failed, and the fingerprint of its failure. */
  check: string
  signature: string
}

const proposedRow = { rung: 6, failureCode: 'environment_issue', category: 'env', retryable: true } as const

const runProposedFacts = ({
  proposal,
  step,
  command,
  workingDir,
  timeoutSeconds,
  ...rest
}: RunProposed): RunProposed => ({
  ...{ proposal, step, command, workingDir, timeoutSeconds },
  ...{ approvedBy: rest.approvedBy, check: rest.check, signature: rest.signature },
})

/** Finished work that cannot be merged. */
export interface Unmergeable {
  conflicts: string[]
  /** The commit that the work conflicts with. */
  onto: string
  /** The check that fails on top of it although no path conflicts. */
  failed?: string
  /** An AutoFix task may be made for it. */
  autoFix?: boolean
  /** The work is itself the solution of a conflict. */
  solvesConflict?: boolean
}

/** What can be done about the paths without an agent; absent = nothing. */
export interface PathOptions {
  exclude?: Excluded[]
  allow?: AllowedPath[]
  ask?: string[]
  discard?: Excluded[]
  /** Content filters that would have to store changed files, and that do not run here. */
  filters?: string[]
}

const namedViolations = 5

const violationText = ({ violations }: { violations: Violation[] }): string => {
  const named = violations
    .slice(0, namedViolations)
    .map(({ path, kind, rule }) => `${visibleText(path)} (${kind}: ${rule})`)
  const more = violations.length > namedViolations ? `, and ${violations.length - namedViolations} more` : ''
  return `changed paths outside the task's rules: ${named.join(', ')}${more}`
}

interface Objected {
  /** Who objects: `the reviewer (codex)`, or a person. */
  by: string
  text: string
  key: string
  again: boolean
  mayCorrect: boolean
  /** Has not worked on the task or those before it; absent = there is none. */
  otherHarness?: string
}

interface LeftOut {
  path: string
  reason: string
}

const leftOutText = (leftOut: readonly LeftOut[]): string => {
  if (leftOut.length === 0) return 'no path differs from the base commit'
  const named = leftOut.slice(0, namedViolations).map(({ path, reason }) => `${visibleText(path)} (${reason})`)
  const more = leftOut.length > namedViolations ? `, and ${leftOut.length - namedViolations} more` : ''
  return `none of its changes can be committed: ${named.join(', ')}${more}`
}

/** `elsewhere`: where the agent may have left its work instead. */
interface Unchanged {
  because: string
  tree: string
  leftOut?: LeftOut[]
  elsewhere?: string[]
}

const kinds = {
  policy: kind({
    ...{ rung: 5, label: 'policy_violation', failureCode: 'policy_violation', category: 'policy', retryable: true },
    words: violationText,
    facts: ({ violations, options = {} }: { violations: Violation[]; options?: PathOptions }) => ({
      paths: violations.map(({ path }) => path),
      ...options,
    }),
  }),
  /** `tests`: the tests that failed, each with the file that it was removed from. */
  testsRemoved: kind({
    ...{ rung: 4, label: 'tests_removed', failureCode: 'test_failure', category: 'test', retryable: false },
    words: ({ tests }: { tests: string[] }) => `the work removed failing tests: ${tests.join(', ')}`,
    facts: ({ tests }) => ({ tests }),
  }),
  /** `weakened`: the weakenings of checks and tests that the task does not name, as prose. */
  weakened: kind({
    ...{ rung: 4, label: 'checks_weakened', failureCode: 'policy_violation', category: 'policy', retryable: false },
    words: ({ weakened }: { weakened: string[] }) =>
      `the work weakened the checks: ${weakened.join('; ').slice(0, 2_000)}`,
    facts: ({ weakened }) => ({ weakened }),
  }),
  /** `because`: why the task cannot count as done without a change. */
  noChange: kind({
    ...{ rung: 3, label: 'no_changes', failureCode: 'no_actionable_changes', category: 'noop', retryable: false },
    words: ({ because, leftOut = [], elsewhere = [] }: Unchanged) =>
      [`the agent ended without an error and ${leftOutText(leftOut)}`, ...elsewhere, because].join('; '),
    facts: ({ tree }) => ({ tree }),
  }),
  unverified: kind({
    ...{ rung: 4, label: 'not_verified', failureCode: 'verification_command_failed', category: 'test' },
    retryable: false,
    words: ({ reason }: { reason: string }) => reason,
    facts: none,
  }),
  /** Everything passes except tests that fail on the base commit as well, and the agent got no feedback about them yet. */
  redBefore: kind({
    ...{ rung: 4, label: 'red_before', failureCode: 'test_failure', category: 'test', retryable: true },
    words: ({ red }: { red: PreexistingFailure[] }) => `failed before the work and still fails: ${failuresText(red)}`,
    facts: ({ red }) => ({ red }),
  }),
  proposal: kind({
    ...proposedRow,
    label: 'recovery_proposed',
    words: ({ command, check }: RunProposed) => `\`${command}\` was proposed because ${check} cannot run`,
    facts: runProposedFacts,
  }),
  approvedProposal: kind({
    ...proposedRow,
    label: 'recovery_approved',
    words: ({ command, approvedBy }: RunProposed) => `\`${command}\` was approved by ${approvedBy}`,
    facts: runProposedFacts,
  }),
  proposalCooldown: kind({
    ...proposedRow,
    label: 'recovery_cooldown',
    words: ({ command, until }: { command: string; until: string; delayMs: number; number: number }) =>
      `the proposed \`${command}\` may run at ${until}, after the cooldown`,
    facts: ({ delayMs, number }) => ({ delayMs, number }),
  }),
  budget: plain({ rung: 8, label: 'budget', failureCode: 'budget_exceeded', category: 'env', retryable: false }),
  merge: kind({
    ...{ rung: 7, label: 'git_conflict', failureCode: 'branch_diverged_requires_recreate', category: 'setup' },
    retryable: false,
    words: ({ conflicts, failed }: Unmergeable) =>
      failed === undefined
        ? `conflicting paths: ${conflicts.map(visibleText).join(', ')}`
        : `on top of what was merged in the meantime, a check fails: ${failed}`,
    facts: ({ conflicts, onto, failed, autoFix = false, solvesConflict = false }: Unmergeable) => ({
      ...{ conflicts, onto, autoFix, solvesConflict },
      ...defined({ failed }),
    }),
  }),
  /** `paths`: files of the work in which conflict markers are left. */
  markersLeft: kind({
    ...{ rung: 4, label: 'conflict_markers_left', failureCode: 'verification_command_failed', category: 'test' },
    retryable: true,
    words: ({ paths }: { paths: string[] }) =>
      `conflict markers are left in ${paths.slice(0, namedViolations).map(visibleText).join(', ')}`,
    facts: ({ paths }) => ({ paths }),
  }),
  /**
   * A reviewer or a person objects to finished work. `again`: the objection was raised before in this line of tasks. `mayCorrect`: one
   * more task may correct the work. `key`: of the points.
   */
  objection: kind({
    ...{ rung: 7, label: 'review_objection', failureCode: 'review_objection', category: 'test', retryable: false },
    words: ({ by, text }: Objected) => `${by} objects: ${text}`,
    facts: ({ again, mayCorrect, key, otherHarness }) => ({
      ...{ again, mayCorrect, key },
      ...defined({ otherHarness }),
    }),
  }),
  /** The git remote does not respond. */
  remote: plain({
    rung: 2,
    label: 'remote_unreachable',
    failureCode: 'environment_issue',
    category: 'env',
    retryable: true,
  }),
  /** The git remote refuses a push. */
  refused: plain({
    rung: 7,
    label: 'push_refused',
    failureCode: 'permission_or_auth_failure',
    category: 'permission',
    retryable: false,
  }),
  /** The owner's `workspace.setup` failed. `transient`: its output suggests that the same command may pass later. */
  setup: kind({
    ...{ rung: 0, label: 'workspace_setup_failed', failureCode: 'setup_or_bootstrap_issue', category: 'setup' },
    retryable: true,
    words: ({ command, cause }: { command: string; cause: string; transient: boolean }) =>
      `workspace.setup "${command}" failed: ${cause}`,
    facts: ({ transient }) => ({ transient }),
  }),
  /** A file of `workspace.copy` cannot be copied. */
  copy: plain({
    rung: 0,
    label: 'workspace_copy_failed',
    failureCode: 'setup_or_bootstrap_issue',
    category: 'setup',
    retryable: false,
  }),
  /** Processes of the run that could not be ended. What they write during the checks would count as work of the run. */
  leftRunning: kind({
    ...{ rung: 0, label: leftRunningLabel, failureCode: 'environment_issue', category: 'env', retryable: false },
    words: leftRunningText,
    facts: none,
  }),
  /** `open`: what the last iteration left open. */
  loopStuck: kind({
    ...{ rung: 8, label: 'loop_stuck', failureCode: 'model_doom_loop', category: 'model_loop', retryable: false },
    words: ({ repeated, open }: { repeated: number; open: string }) =>
      `${repeated} iterations in a row ended in the same way: ${open}`,
    facts: none,
  }),
  loopLimit: kind({
    ...{ rung: 8, label: 'loop_limit', failureCode: 'budget_exceeded', category: 'env', retryable: false },
    words: ({ iterations, open }: { iterations: number; open: string }) =>
      `${iterations} iterations are over (loop.max_iterations) and the work is not complete: ${open}`,
    facts: none,
  }),
  /** The folder of an agent that was started: it may have removed it. */
  workspaceGone: kind({
    ...{ rung: 0, label: 'workspace_gone', failureCode: 'environment_issue', category: 'env', retryable: true },
    words: (_gone: object) =>
      'the folder that the agent worked in is gone: it was removed or moved while the agent ran',
    facts: none,
  }),
  workspace: plain({ rung: 0, label: 'prepare', failureCode: 'environment_issue', category: 'env', retryable: false }),
}

type Kinds = typeof kinds

export type DirectEvidence = {
  [K in keyof Kinds]: { kind: K } & Parameters<Kinds[K]['words']>[0]
}[keyof Kinds]

export type DirectFinding = {
  [K in keyof Kinds]: { label: Kinds[K]['label']; facts: ReturnType<Kinds[K]['facts']> }
}[keyof Kinds]

export const isDirectEvidence = (evidence: { kind: string }): evidence is DirectEvidence =>
  Object.hasOwn(kinds, evidence.kind)

/** The casts are needed because the compiler cannot relate a kind's record to its observation. */
export const diagnoseDirectly = (
  evidence: DirectEvidence,
): Omit<LabelMeaning<string>, 'label'> & { evidence: string } & DirectFinding => {
  const { words, facts, ...meaning } = kinds[evidence.kind] as Kind<string, DirectEvidence, object>
  return { ...meaning, evidence: words(evidence), facts: facts(evidence) } as ReturnType<typeof diagnoseDirectly>
}
