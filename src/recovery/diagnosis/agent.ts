/**
 * Rules for what agent CLIs report, as data: which CLI, where it said it, what it means. Sources: the trigger map of the
 * founding documents (marked `seed`) and the measured wording of the CLIs named in docs/harnesses.md. First match wins;
 * text is only looked at in a structured error field or on the CLI's own stderr with a failing exit.
 */
import type { Meaning } from './labels.ts'
import type { Evidence, ObservedDenial, ReportedFailure } from '../evidence.ts'
import { limitOf, type Limit } from '../limit.ts'
import type { Finding, FolderFacts, ScopeFacts } from '../types.ts'
import { directoryFacts } from './directory.ts'

type RuleLabel =
  | 'GIT_TRUST_ERROR'
  | 'GIT_CHECK_ERROR'
  | 'DIR_SCOPE_ERROR'
  | 'SANDBOX_ERROR'
  | 'FS_PERM_ERROR'
  | 'launch_refused'
  | 'session_lost'

interface AgentRule {
  id: string
  harness?: string
  /** Fault types of the drivers' vocabulary (src/harness/driver.ts). */
  types?: readonly string[]
  text?: RegExp
  meaning: Meaning<RuleLabel>
}

type Row = Omit<Meaning<RuleLabel>, 'label'>

const refusal: Row = { rung: 1, failureCode: 'permission_or_auth_failure', category: 'permission', retryable: false }
const unexplained: Row = { rung: 3, failureCode: 'model_or_unknown_failure', category: 'model', retryable: true }

const permission = (label: RuleLabel): Meaning<RuleLabel> => ({ ...refusal, label })

const environment = (label: RuleLabel): Meaning<RuleLabel> => ({
  rung: 2,
  label,
  failureCode: 'environment_issue',
  category: 'env',
  retryable: false,
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
  { id: 'session', types: ['session_not_found', 'session_busy'], meaning: { ...unexplained, label: 'session_lost' } },
]

const matches = (rule: AgentRule, harness: string, failure: ReportedFailure): boolean => {
  if (rule.harness !== undefined && rule.harness !== harness) return false
  if (rule.types !== undefined) return failure.type !== undefined && rule.types.includes(failure.type)
  return rule.text !== undefined && rule.text.test(failure.text)
}

/** Where a CLI names what the system refused it. Told to people; a folder of its own is not ours to mend. */
const refusedPath = /'(\/[^'\n]+)'| (\/[^\s:]+):/

const refusedFolder = (text: string): FolderFacts => {
  const [, quoted, bare] = refusedPath.exec(text) ?? []
  const directory = quoted ?? bare
  return directory === undefined ? {} : { directory }
}

const ruled = ({ label, ...row }: Meaning<RuleLabel>, evidence: string): Finding =>
  label === 'FS_PERM_ERROR'
    ? { ...row, label, evidence, facts: refusedFolder(evidence) }
    : { ...row, label, evidence, facts: {} }

type Launch = Extract<Evidence, { kind: 'launch' }>

const limited = ({ rule, evidence, reset }: Limit, { next, renewedLogin }: Launch): Finding => {
  const { label, ...meaning } = rule.meaning
  const row = { ...meaning, evidence }
  switch (label) {
    case 'llm_quota':
      return { ...row, label, facts: { ...reset, ...(next === undefined ? {} : { nextHarness: next }) } }
    case 'auth_failure':
      return { ...row, label, facts: renewedLogin === undefined ? {} : { renewedLogin } }
    case 'model_missing':
    case 'context_overflow':
      return { ...row, label, facts: {} }
    case 'provider_overloaded':
    case 'network_transient':
    case 'stream_cut':
    case 'temporary_failure':
      return { ...row, label, facts: { ...reset } }
  }
}

const unknownFailure = (evidence: string): Finding => ({ ...unexplained, label: 'unknown', evidence, facts: {} })

export const diagnoseAgent = (launch: Launch): Finding => {
  const { harness, failure, denials } = launch
  const rule = agentRules.find((candidate) => matches(candidate, harness, failure))
  if (rule !== undefined) return ruled(rule.meaning, failure.text)
  const limit = limitOf(harness, failure)
  if (limit !== undefined) return limited(limit, launch)
  // A turn that ended in an error after a denial is explained by the denial; without one nothing shows the cause.
  return denials.length > 0 ? diagnoseDenials(harness, denials) : unknownFailure(failure.text)
}

/** Whether anything may be done about it without a person. */
export const isCorrectable = ({ allowedBy, toolRules, unusable }: ObservedDenial): boolean =>
  allowedBy !== undefined ||
  toolRules !== undefined ||
  (unusable !== undefined && directoryFacts(unusable).chmod !== undefined)

const scopeFacts = ({ directory, allowedBy }: ObservedDenial): ScopeFacts => ({
  ...(directory === undefined ? {} : { directory }),
  ...(allowedBy === undefined ? {} : { allowedBy }),
})

const denied = (harness: string, denial: ObservedDenial): Finding => {
  const { kind, directory, toolRules, unusable } = denial
  const row = { ...refusal, evidence: denial.text }
  switch (kind) {
    case 'scope':
      return { ...row, label: harness === 'claude' ? 'SANDBOX_ERROR' : 'DIR_SCOPE_ERROR', facts: scopeFacts(denial) }
    case 'tool':
      return {
        ...{ ...row, label: 'TOOL_DENIED' },
        facts: { ...scopeFacts(denial), ...(toolRules === undefined ? {} : { toolRules }) },
      }
    case 'filesystem':
      return {
        ...{ ...row, label: 'FS_PERM_ERROR' },
        facts: {
          ...(directory === undefined ? {} : { directory }),
          ...(unusable === undefined ? {} : directoryFacts(unusable)),
        },
      }
    case 'safety':
      return { ...row, label: 'DANGEROUS_COMMAND', facts: scopeFacts(denial) }
  }
}

/** Scope before tool before filesystem: the first has a correction that adds least, and often causes the others. */
export const diagnoseDenials = (harness: string, denials: ObservedDenial[]): Finding => {
  const order = ['scope', 'tool', 'filesystem', 'safety'] as const
  const ranked = [...denials].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
  const chosen = ranked.find(isCorrectable) ?? ranked[0]
  return chosen === undefined ? unknownFailure('no denial was recorded') : denied(harness, chosen)
}
