/** What a failure is. Pure: the same evidence always gives the same diagnosis. */
import { diagnoseAgent, diagnoseDenials } from './diagnosis/agent.ts'
import { diagnoseCheck } from './diagnosis/check.ts'
import type { Evidence, ObservedStall } from './evidence.ts'
import type { LimitKind } from './limit.ts'
import { signatureOf } from './signature.ts'

/** SPEC §3: the family of playbooks that the diagnosis belongs to. */
export type Rung = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

/** SPEC §6. */
export type Category = 'env' | 'setup' | 'permission' | 'policy' | 'noop' | 'test' | 'flaky' | 'model' | 'model_loop'

export interface Diagnosis {
  rung: Rung
  /** Our finer name of the failure; for rung 1 the seed's issue type, e.g. `GIT_TRUST_ERROR`. */
  label: string
  failureCode: string
  category: Category
  /** The same action unchanged may pass later. */
  retryable: boolean
  /** The line or fact that shows it, as it was found. */
  evidence: string
  /** Equal for failures that are the same one again. */
  signature: string
  /** Facts that an action needs: a folder to add, a command to drop, a time to wait for. */
  facts: {
    directory?: string
    allowedBy?: string
    command?: string
    remaining?: number
    /** What the provider refuses, and until when. */
    limit?: LimitKind
    resetAt?: Date
    /** How far away that was when it was said. */
    resetInMs?: number
    /** Another harness that the task could go on with. */
    nextHarness?: string
    /** The command ran no test on the base commit either, so the work took none away. */
    emptyBefore?: boolean
    /** The call at which the agent stood still or went in circles. */
    call?: string
    /** What the workspace held when the agent was stopped. */
    tree?: string
    changed?: string[]
  }
}

export type Finding = Omit<Diagnosis, 'signature' | 'facts'> & { facts?: Diagnosis['facts'] }

type Row = Pick<Finding, 'rung' | 'label' | 'failureCode' | 'category' | 'retryable'>

/** Kinds of evidence that are their own diagnosis. */
const rows = {
  policy: { rung: 5, label: 'policy_violation', failureCode: 'policy_violation', category: 'policy', retryable: true },
  noChange: { rung: 3, label: 'no_changes', failureCode: 'no_actionable_changes', category: 'noop', retryable: false },
  unverified: {
    rung: 4,
    label: 'not_verified',
    failureCode: 'verification_command_failed',
    category: 'test',
    retryable: false,
  },
  budget: { rung: 8, label: 'budget', failureCode: 'budget_exceeded', category: 'env', retryable: false },
  merge: {
    rung: 7,
    label: 'git_conflict',
    failureCode: 'branch_diverged_requires_recreate',
    category: 'setup',
    retryable: false,
  },
  remote: {
    rung: 2,
    label: 'remote_unreachable',
    failureCode: 'environment_issue',
    category: 'env',
    retryable: true,
  },
  refused: {
    rung: 7,
    label: 'push_refused',
    failureCode: 'permission_or_auth_failure',
    category: 'permission',
    retryable: false,
  },
  workspace: { rung: 0, label: 'prepare', failureCode: 'environment_issue', category: 'env', retryable: false },
} as const satisfies Record<string, Row>

const stood: Omit<Row, 'label'> = { rung: 3, failureCode: 'timeout', category: 'flaky', retryable: true }
const stallRows: Record<ObservedStall['kind'], Omit<Row, 'label'>> = {
  silence: stood,
  stuck_after_tool_result: stood,
  waiting_for_person: stood,
  doom_loop: { rung: 3, failureCode: 'model_doom_loop', category: 'model_loop', retryable: true },
}

const diagnoseStall = ({ kind, text, call, tree, changed }: ObservedStall): Finding => ({
  ...stallRows[kind],
  label: kind,
  evidence: text,
  facts: { ...(call === undefined ? {} : { call }), tree, changed },
})

const namedViolations = 5

const violationText = (violations: { path: string; kind: string; rule: string }[]): string => {
  const named = violations.slice(0, namedViolations).map(({ path, kind, rule }) => `${path} (${kind}: ${rule})`)
  const more = violations.length > namedViolations ? `, and ${violations.length - namedViolations} more` : ''
  return `changed outside the fence: ${named.join(', ')}${more}`
}

const withNext = (found: Finding, next: string | undefined): Finding =>
  next === undefined ? found : { ...found, facts: { ...found.facts, nextHarness: next } }

const find = (evidence: Evidence): Finding => {
  switch (evidence.kind) {
    case 'launch':
      return withNext(diagnoseAgent(evidence.harness, evidence.failure, evidence.denials), evidence.next)
    case 'denial':
      return diagnoseDenials(evidence.harness, evidence.denials)
    case 'stall':
      return diagnoseStall(evidence.stall)
    case 'check':
      return diagnoseCheck(evidence.check)
    case 'policy':
      return { ...rows.policy, evidence: violationText(evidence.violations) }
    case 'noChange':
      return {
        ...rows.noChange,
        evidence: `the agent ended without an error and no path differs from the base commit; ${evidence.because}`,
        facts: { tree: evidence.tree, changed: [] },
      }
    case 'unverified':
      return { ...rows.unverified, evidence: evidence.reason }
    case 'budget':
      return { ...rows.budget, evidence: evidence.text }
    case 'merge':
      return { ...rows.merge, evidence: `conflicting paths: ${evidence.conflicts.join(', ')}` }
    case 'workspace':
    case 'remote':
    case 'refused':
      return { ...rows[evidence.kind], evidence: evidence.text }
  }
}

export const diagnose = (evidence: Evidence): Diagnosis => {
  const found = find(evidence)
  return { ...found, facts: found.facts ?? {}, signature: signatureOf(found.failureCode, found.label, found.evidence) }
}
