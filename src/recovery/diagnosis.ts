/** What a failure is. Pure: the same evidence always gives the same diagnosis. */
import type { Install } from '../domain/run.ts'
import { diagnoseAgent, diagnoseDenials } from './diagnosis/agent.ts'
import { diagnoseCheck } from './diagnosis/check.ts'
import { diagnoseDirectory } from './diagnosis/directory.ts'
import type { Evidence, ObservedStall } from './evidence.ts'
import type { LimitKind } from './limit.ts'
import type { ModeChange } from './playbook.ts'
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
    /** Rules of the harness that would let the refused tool call through. */
    toolRules?: string[]
    /** The directory is ours and lacks bits of its owner: what adding them changes. */
    chmod?: ModeChange
    /** Why the owner's bits could not be added to the directory, or did not help. */
    chmodFailed?: string
    command?: string
    remaining?: number
    /** What the provider refuses, and until when. */
    limit?: LimitKind
    resetAt?: Date
    /** How far away that was when it was said. */
    resetInMs?: number
    /** Another harness that the task could go on with. */
    nextHarness?: string
    /** The file of the refused login, where it holds a newer one. */
    renewedLogin?: string
    /** What of the machine is at fault, as a probe saw it. */
    machine?: string
    /** Facts show that the command cannot check anything here, and that the work is not the reason. */
    droppable?: true
    /** The same, also where it could be run with other words. */
    askable?: true
    /** A weaker command for the same thing, and all checks in an order in which this one can run. */
    replacement?: string
    narrowed?: string
    order?: string[]
    /** What may bring what the check misses. */
    install?: Install
    /** The call at which the agent stood still or went in circles. */
    call?: string
    /** What the workspace held when the agent was stopped. */
    tree?: string
    changed?: string[]
  }
}

/** `seen`: what probes saw. It belongs to the evidence, but free space and pids tell no two failures apart. */
export type Finding = Omit<Diagnosis, 'signature' | 'facts'> & { facts?: Diagnosis['facts']; seen?: readonly string[] }

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
  agent_died: { rung: 3, failureCode: 'model_or_unknown_failure', category: 'model', retryable: true },
  doom_loop: { rung: 3, failureCode: 'model_doom_loop', category: 'model_loop', retryable: true },
}

const diagnoseStall = ({ kind, text, call, tree, changed }: ObservedStall): Finding => ({
  ...stallRows[kind],
  label: kind,
  evidence: text,
  facts: { ...(call === undefined ? {} : { call }), tree, ...(changed === undefined ? {} : { changed }) },
})

const namedViolations = 5

const violationText = (violations: { path: string; kind: string; rule: string }[]): string => {
  const named = violations.slice(0, namedViolations).map(({ path, kind, rule }) => `${path} (${kind}: ${rule})`)
  const more = violations.length > namedViolations ? `, and ${violations.length - namedViolations} more` : ''
  return `changed outside the fence: ${named.join(', ')}${more}`
}

const withFacts = (found: Finding, { next, renewedLogin }: Extract<Evidence, { kind: 'launch' }>): Finding => ({
  ...found,
  facts: {
    ...found.facts,
    ...(next === undefined ? {} : { nextHarness: next }),
    ...(renewedLogin === undefined ? {} : { renewedLogin }),
  },
})

const find = (evidence: Evidence): Finding => {
  switch (evidence.kind) {
    case 'launch':
      return withFacts(diagnoseAgent(evidence.harness, evidence.failure, evidence.denials), evidence)
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
    case 'directory':
      return diagnoseDirectory(evidence.directory)
    case 'workspace':
    case 'remote':
    case 'refused':
      return { ...rows[evidence.kind], evidence: evidence.text }
  }
}

export const diagnose = (evidence: Evidence): Diagnosis => {
  const { seen = [], ...found } = find(evidence)
  return {
    ...found,
    facts: found.facts ?? {},
    signature: signatureOf(found.failureCode, found.label, found.evidence),
    evidence: [found.evidence, ...seen].join('; '),
  }
}
