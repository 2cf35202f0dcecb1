/**
 * Rules for what agent CLIs report, as data: which CLI, where it said it, what it means. Sources: the trigger map of the
 * founding documents (marked `seed`) and the measured wording of the CLIs named in docs/harnesses.md. First match wins;
 * text is only looked at in a structured error field or on the CLI's own stderr with a failing exit.
 */
import type { Finding } from '../diagnosis.ts'
import type { ObservedDenial, ReportedFailure } from '../evidence.ts'
import { limitOf } from '../limit.ts'
import { directoryFacts } from './directory.ts'

type Meaning = Omit<Finding, 'evidence' | 'facts'>

interface AgentRule {
  id: string
  harness?: string
  /** Fault types of the drivers' vocabulary (src/harness/driver.ts). */
  types?: readonly string[]
  text?: RegExp
  meaning: Meaning
}

const permission = (label: string): Meaning => ({
  rung: 1,
  label,
  failureCode: 'permission_or_auth_failure',
  category: 'permission',
  retryable: false,
})

const environment = (label: string): Meaning => ({
  rung: 2,
  label,
  failureCode: 'environment_issue',
  category: 'env',
  retryable: false,
})
const progress = (label: string): Meaning => ({
  rung: 3,
  label,
  failureCode: 'model_or_unknown_failure',
  category: 'model',
  retryable: true,
})

/** Order matters: the seed's map first, then what a type says. What a provider refuses is told by `limit.ts` after them. */
export const agentRules: readonly AgentRule[] = [
  {
    id: 'codex-trust (seed)',
    harness: 'codex',
    text: /Not inside a trusted directory/,
    meaning: permission('GIT_TRUST_ERROR'),
  },
  {
    id: 'codex-check (seed)',
    harness: 'codex',
    text: /Repository check failed/,
    meaning: permission('GIT_CHECK_ERROR'),
  },
  {
    id: 'gemini-scope (seed)',
    harness: 'gemini',
    text: /Path must be within.*workspace directories/,
    meaning: permission('DIR_SCOPE_ERROR'),
  },
  {
    id: 'gemini-permission (seed)',
    harness: 'gemini',
    text: /Permission denied/,
    meaning: permission('FS_PERM_ERROR'),
  },
  { id: 'claude-blocked (seed)', harness: 'claude', text: /Access blocked/, meaning: permission('SANDBOX_ERROR') },
  { id: 'trust', types: ['git_trust'], meaning: permission('GIT_TRUST_ERROR') },
  { id: 'filesystem', types: ['filesystem'], meaning: permission('FS_PERM_ERROR') },
  { id: 'launch', types: ['bad_flag', 'bad_config', 'directory_missing'], meaning: environment('launch_refused') },
  { id: 'session', types: ['session_not_found', 'session_busy'], meaning: progress('session_lost') },
]

const matches = (rule: AgentRule, harness: string, failure: ReportedFailure): boolean => {
  if (rule.harness !== undefined && rule.harness !== harness) return false
  if (rule.types !== undefined) return failure.type !== undefined && rule.types.includes(failure.type)
  return rule.text !== undefined && rule.text.test(failure.text)
}

/** Where a CLI names what the system refused it. Told to people; a folder of its own is not ours to mend. */
const refusedPath = /'(\/[^'\n]+)'| (\/[^\s:]+):/

const unknownAgentFailure = progress('unknown')

export const diagnoseAgent = (harness: string, failure: ReportedFailure, denials: ObservedDenial[]): Finding => {
  const rule = agentRules.find((candidate) => matches(candidate, harness, failure))
  if (rule !== undefined) {
    const [, quoted, bare] = refusedPath.exec(failure.text) ?? []
    const directory = rule.meaning.label === 'FS_PERM_ERROR' ? (quoted ?? bare) : undefined
    return { ...rule.meaning, evidence: failure.text, ...(directory === undefined ? {} : { facts: { directory } }) }
  }
  const limit = limitOf(harness, failure)
  if (limit === undefined) {
    // A turn that ended in an error after a denial is explained by the denial; without one nothing shows the cause.
    return denials.length > 0 ? diagnoseDenials(harness, denials) : { ...unknownAgentFailure, evidence: failure.text }
  }
  return {
    ...limit.rule.meaning,
    evidence: limit.evidence,
    facts: { limit: limit.kind, ...limit.reset },
  }
}

const denialLabel = (harness: string, denial: ObservedDenial): string => {
  if (denial.kind === 'safety') return 'DANGEROUS_COMMAND'
  if (denial.kind === 'filesystem') return 'FS_PERM_ERROR'
  if (denial.kind === 'tool') return 'TOOL_DENIED'
  return harness === 'claude' ? 'SANDBOX_ERROR' : 'DIR_SCOPE_ERROR'
}

const factsOf = ({ directory, allowedBy, toolRules, unusable }: ObservedDenial): NonNullable<Finding['facts']> => ({
  ...(toolRules === undefined ? {} : { toolRules }),
  ...(directory === undefined ? {} : { directory }),
  ...(allowedBy === undefined ? {} : { allowedBy }),
  ...(unusable === undefined ? {} : directoryFacts(unusable)),
})

/** Whether anything may be done about it without a person. */
export const isCorrectable = (denial: ObservedDenial): boolean => {
  const { allowedBy, chmod, toolRules } = factsOf(denial)
  return allowedBy !== undefined || chmod !== undefined || toolRules !== undefined
}

/** Scope before tool before filesystem: the first has a correction that adds least, and often causes the others. */
export const diagnoseDenials = (harness: string, denials: ObservedDenial[]): Finding => {
  const order = ['scope', 'tool', 'filesystem', 'safety'] as const
  const ranked = [...denials].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
  const chosen = ranked.find(isCorrectable) ?? ranked[0]
  if (chosen === undefined) return { ...unknownAgentFailure, evidence: 'no denial was recorded' }
  return { ...permission(denialLabel(harness, chosen)), evidence: chosen.text, facts: factsOf(chosen) }
}
