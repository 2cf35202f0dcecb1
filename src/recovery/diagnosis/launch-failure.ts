/**
 * Rules for what agent CLIs report, as data: which CLI, where the text comes from, what it means. Sources: the trigger map of
 * the public vocabulary (marked `seed`) and the measured wording of the CLIs named in docs/harnesses.md. The first match wins.
 * Text counts only in a structured error field or on the CLI's own stderr with a failing exit. The provider's rules (`limit.ts`)
 * come first, because providers also use "Permission denied", for a suspended account.
 */
import type { LabelMeaning } from './labels.ts'
import type { Evidence, ObservedDenial } from '../evidence.ts'
import { limitOf, type ProviderLimit } from '../limit.ts'
import type { Finding, FolderFacts, RefusedCall, ScopeFacts } from '../types.ts'
import { directoryFacts } from './directory.ts'
import { defined } from '../../domain/defined.ts'

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
  /** The CLI reports this instead of opening a session. In an open session the same words mean something else. */
  beforeSession?: true
  meaning: LabelMeaning<RuleLabel>
}

type Row = Omit<LabelMeaning<RuleLabel>, 'label'>

const refusal: Row = { rung: 1, failureCode: 'permission_or_auth_failure', category: 'permission', retryable: false }
const unexplained: Row = { rung: 3, failureCode: 'model_or_unknown_failure', category: 'model', retryable: true }

const permission = (label: RuleLabel): LabelMeaning<RuleLabel> => ({ ...refusal, label })

const environment = (label: RuleLabel): LabelMeaning<RuleLabel> => ({
  rung: 2,
  label,
  failureCode: 'environment_issue',
  category: 'env',
  retryable: false,
})

/** Order matters: the more specific sentence first, types last. The seed's sentences count in any case of letters. */
export const launchRules: readonly AgentRule[] = [
  {
    id: 'codex-trust (seed)',
    harness: 'codex',
    text: /Not inside a trusted directory/i,
    beforeSession: true,
    meaning: permission('GIT_TRUST_ERROR'),
  },
  {
    id: 'codex-check (seed)',
    harness: 'codex',
    text: /Repository check failed/i,
    beforeSession: true,
    meaning: permission('GIT_CHECK_ERROR'),
  },
  {
    id: 'gemini-scope (seed)',
    harness: 'gemini',
    text: /Path must be within.*workspace directories/i,
    meaning: permission('DIR_SCOPE_ERROR'),
  },
  { id: 'claude-blocked (seed)', harness: 'claude', text: /Access blocked/i, meaning: permission('SANDBOX_ERROR') },
  {
    id: 'codex-no-repository',
    harness: 'codex',
    text: /^(?:(?:error|fatal): )?not (?:inside )?a git repo(?:sitory)?\b[^\n]{0,80}/im,
    beforeSession: true,
    meaning: permission('GIT_CHECK_ERROR'),
  },
  {
    id: 'gemini-trust',
    harness: 'gemini',
    text: /Gemini CLI is not running in a trusted directory/,
    beforeSession: true,
    meaning: permission('GIT_TRUST_ERROR'),
  },
  {
    id: 'gemini-scope',
    harness: 'gemini',
    text: /Path not in workspace: Attempted path "[^"\n]+" resolves outside the allowed workspace directories/,
    meaning: permission('DIR_SCOPE_ERROR'),
  },
  {
    id: 'gemini-system',
    harness: 'gemini',
    text: /(?:EACCES: permission denied|EPERM: operation not permitted), \w+ '[^'\n]+'/,
    meaning: permission('FS_PERM_ERROR'),
  },
  {
    id: 'gemini-permission (seed)',
    harness: 'gemini',
    text: /Permission denied/i,
    meaning: permission('FS_PERM_ERROR'),
  },
  { id: 'trust', types: ['git_trust'], beforeSession: true, meaning: permission('GIT_TRUST_ERROR') },
  { id: 'filesystem', types: ['filesystem'], meaning: permission('FS_PERM_ERROR') },
  { id: 'launch', types: ['bad_flag', 'bad_config', 'directory_missing'], meaning: environment('launch_refused') },
  { id: 'session', types: ['session_not_found', 'session_busy'], meaning: { ...unexplained, label: 'session_lost' } },
]

type Launch = Extract<Evidence, { kind: 'launch' }>

/** The text that a rule matched; undefined = no match. */
const matchedBy = (rule: AgentRule, { harness, failure, opened }: Pick<Launch, 'harness' | 'failure' | 'opened'>) => {
  if (rule.harness !== undefined && rule.harness !== harness) return undefined
  if (rule.beforeSession === true && opened === true) return undefined
  const { type, text } = failure
  if (rule.types === undefined) return rule.text?.exec(text)?.[0]
  return type !== undefined && rule.types.includes(type) ? text : undefined
}

interface Match {
  rule: AgentRule
  matched: string
}

const matchOf = (launch: Pick<Launch, 'harness' | 'failure' | 'opened'>): Match | undefined => {
  for (const rule of launchRules) {
    const matched = matchedBy(rule, launch)
    if (matched !== undefined) return { rule, matched }
  }
  return undefined
}

const namedPath = /["'`](\/[^"'`\n]+)["'`]|(?<![^\s:=(])(\/[^\s"'`,;()]+)/g

const pathsIn = (text: string): string[] =>
  [...text.matchAll(namedPath)].map(([, quoted, bare = '']) => quoted ?? bare.replace(/[.:]+$/, ''))

const firstLine = (text: string): string => text.split('\n')[0] ?? ''

const lineOf = (text: string, matched: string): string => {
  const first = firstLine(matched)
  return text.split('\n').find((line) => line.includes(first)) ?? first
}

const refusedKinds: Partial<Record<RuleLabel, 'scope' | 'filesystem'>> = {
  DIR_SCOPE_ERROR: 'scope',
  SANDBOX_ERROR: 'scope',
  FS_PERM_ERROR: 'filesystem',
}

/** A refusal that made the CLI exit, with the paths it names. The runtime inspects these paths. */
export interface LaunchRefusal {
  kind: 'scope' | 'filesystem'
  paths: string[]
  text: string
}

export const refusalIn = (launch: Pick<Launch, 'harness' | 'failure' | 'opened'>): LaunchRefusal | undefined => {
  const found = limitOf(launch.failure) === undefined ? matchOf(launch) : undefined
  const kind = found === undefined ? undefined : refusedKinds[found.rule.meaning.label]
  if (found === undefined || kind === undefined) return undefined
  return { kind, paths: pathsIn(lineOf(launch.failure.text, found.matched)), text: found.matched }
}

const refusedCall = ({ tool, target }: ObservedDenial): RefusedCall => ({
  tool,
  ...defined({ target }),
})

const scopeFacts = ({ directory, allowedBy }: ObservedDenial): ScopeFacts => ({
  ...defined({ directory, allowedBy }),
})

const folderFacts = ({ directory, unusable }: ObservedDenial): FolderFacts => ({
  ...defined({ directory }),
  ...(unusable === undefined ? {} : directoryFacts(unusable)),
})

/** The first denial that can be corrected without a person, else the first. */
const foremost = (refused: readonly ObservedDenial[]): ObservedDenial | undefined =>
  refused.find(isCorrectable) ?? refused[0]

const ruled = ({ rule, matched }: Match, { refused = [], left }: Launch): Finding => {
  const { label, ...row } = rule.meaning
  const chosen = foremost(refused)
  switch (label) {
    case 'DIR_SCOPE_ERROR':
    case 'SANDBOX_ERROR':
      return { ...row, label, evidence: matched, facts: chosen === undefined ? {} : scopeFacts(chosen) }
    case 'FS_PERM_ERROR':
      return { ...row, label, evidence: firstLine(matched), facts: chosen === undefined ? {} : folderFacts(chosen) }
    case 'GIT_TRUST_ERROR':
    case 'GIT_CHECK_ERROR':
      return { ...row, label, evidence: firstLine(matched), facts: {} }
    case 'launch_refused':
      return { ...row, label, evidence: matched, facts: {} }
    case 'session_lost':
      return { ...row, label, evidence: matched, facts: defined({ left }) }
  }
}

const limited = ({ rule, evidence, reset }: ProviderLimit, { next, renewedLogin }: Launch): Finding => {
  const { label, ...meaning } = rule.meaning
  const row = { ...meaning, evidence }
  switch (label) {
    case 'llm_quota':
      return { ...row, label, facts: { ...reset, ...defined({ nextHarness: next }) } }
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

const unknownFailure = (evidence: string, left?: string): Finding => ({
  ...unexplained,
  ...{ label: 'unknown', evidence, facts: defined({ left }) },
})

/** Whether a rule explains the failure, however the process ended. */
export const isExplained = (launch: Pick<Launch, 'harness' | 'failure' | 'opened'>): boolean =>
  limitOf(launch.failure) !== undefined || matchOf(launch) !== undefined

export const diagnoseLaunch = (launch: Launch): Finding => {
  const { harness, failure, denials, left } = launch
  const limit = limitOf(failure)
  if (limit !== undefined) return limited(limit, launch)
  const found = matchOf(launch)
  if (found !== undefined) return ruled(found, launch)
  // A denial explains an error at the end of the turn. Without a denial the cause is unknown.
  return denials.length > 0 ? diagnoseDenials(harness, denials) : unknownFailure(failure.text, left)
}

/** Whether the denial can be corrected without a person. A refused tool is never corrected by adding a directory. */
export const isCorrectable = ({ kind, allowedBy, toolRules, unusable }: ObservedDenial): boolean => {
  switch (kind) {
    case 'scope':
      return allowedBy !== undefined
    case 'tool':
      return toolRules !== undefined
    case 'filesystem':
      return unusable !== undefined && directoryFacts(unusable).chmod !== undefined
    case 'safety':
      return false
  }
}

/** A refusal in a place where the agent may work: it is corrected whatever else the turn did. Refused tools are not included. */
export const mustBeCorrected = (denial: ObservedDenial): boolean =>
  (denial.kind === 'scope' || denial.kind === 'filesystem') && isCorrectable(denial)

const denied = (harness: string, denial: ObservedDenial): Finding => {
  const { kind, toolRules } = denial
  const row = { ...refusal, evidence: denial.text }
  switch (kind) {
    case 'scope':
      return {
        ...row,
        label: harness === 'claude' ? 'SANDBOX_ERROR' : 'DIR_SCOPE_ERROR',
        facts: { refused: refusedCall(denial), ...scopeFacts(denial) },
      }
    case 'tool':
      return {
        ...row,
        label: 'TOOL_DENIED',
        facts: { refused: refusedCall(denial), ...defined({ toolRules }) },
      }
    case 'filesystem':
      return { ...row, label: 'FS_PERM_ERROR', facts: folderFacts(denial) }
    case 'safety':
      return { ...row, label: 'DANGEROUS_COMMAND', facts: {} }
  }
}

/** Scope before tool before filesystem, because a scope denial needs the smallest correction and often causes the others. */
export const diagnoseDenials = (harness: string, denials: ObservedDenial[]): Finding => {
  const order = ['scope', 'tool', 'filesystem', 'safety'] as const
  const chosen = foremost([...denials].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind)))
  return chosen === undefined ? unknownFailure('no denial was recorded') : denied(harness, chosen)
}
