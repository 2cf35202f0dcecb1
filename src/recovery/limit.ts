/**
 * The one place that tells what keeps a model provider from answering, and until when. Structured fields come first (the
 * driver's type, the server's own code), then sentences at the start of a line of the CLI's own error field or last lines of
 * standard error, then the bare status. What a model says or a tool prints never gets here.
 */
import type { Category, Meaning } from './diagnosis/labels.ts'
import type { ReportedFailure } from './evidence.ts'
import { clampReset, resetIn } from './reset-time.ts'

export type LimitKind =
  | 'quota'
  | 'rate limit'
  | 'overload'
  | 'auth'
  | 'model'
  | 'context'
  | 'cut stream'
  | 'network'
  | 'temporary'

type LimitLabel =
  | 'llm_quota'
  | 'auth_failure'
  | 'model_missing'
  | 'context_overflow'
  | 'provider_overloaded'
  | 'stream_cut'
  | 'network_transient'
  | 'temporary_failure'

export interface LimitRule {
  id: string
  kind: LimitKind
  /** Fault types of the drivers' vocabulary (src/harness/driver.ts). */
  types?: readonly string[]
  /** With a type: which of its failures. The text is the CLI's own, because its driver gave it that type. */
  says?: RegExp
  /** Words of the providers' error bodies. */
  codes?: readonly string[]
  /** At the start of a line. Only wordings that no driver gives a type. */
  starts?: RegExp
  statuses?: readonly number[]
  meaning: Meaning<LimitLabel>
}

const provider = (
  label: LimitLabel,
  failureCode: string,
  category: Category,
  retryable: boolean,
): LimitRule['meaning'] => ({ rung: 2, label, failureCode, category, retryable })

const quota = provider('llm_quota', 'quota_failure', 'env', true)
const transient = (label: LimitLabel): LimitRule['meaning'] =>
  provider(label, 'transient_or_flaky_failure', 'flaky', true)
const environment = (label: LimitLabel): LimitRule['meaning'] => provider(label, 'environment_issue', 'env', false)

/** The first that fits by type, else the first by code, by sentence, by status. */
export const limitRules: readonly LimitRule[] = [
  {
    id: 'quota',
    kind: 'quota',
    types: ['billing_error', 'usage_limit'],
    codes: [
      'insufficient_quota',
      'usage_limit_reached',
      'usage_not_included',
      'billing_error',
      'billing_hard_limit_reached',
    ],
    starts:
      /^(?:Claude AI usage limit reached\||(?:5-hour|[Ww]eekly|[Dd]aily|[Mm]onthly|[Uu]sage) limit reached\b|You[’']ve (?:hit|reached) your (?:[\w-]+ ){0,2}limit\b|You[’']re out of extra usage\b|Your quota will reset after )/,
    statuses: [402],
    meaning: quota,
  },
  {
    id: 'rate',
    kind: 'rate limit',
    types: ['rate_limit'],
    codes: ['rate_limit_exceeded', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
    starts: /^Rate limit reached for /,
    statuses: [429],
    meaning: quota,
  },
  {
    id: 'auth',
    kind: 'auth',
    types: ['authentication_failed'],
    codes: ['invalid_api_key', 'authentication_error', 'permission_error', 'UNAUTHENTICATED', 'PERMISSION_DENIED'],
    starts:
      /^(?:Error: )?(?:\[?API Error: )?(?:403 )?(?:Permission denied: Consumer\b|Access blocked by (?:\w+ ){0,3}policy\b)/,
    statuses: [401, 403],
    meaning: provider('auth_failure', 'permission_or_auth_failure', 'permission', false),
  },
  {
    id: 'model',
    kind: 'model',
    types: ['model_not_found'],
    codes: ['model_not_found'],
    meaning: environment('model_missing'),
  },
  {
    id: 'context',
    kind: 'context',
    types: ['prompt_too_long'],
    codes: ['context_length_exceeded'],
    meaning: environment('context_overflow'),
  },
  {
    id: 'overload',
    kind: 'overload',
    types: ['overloaded', 'server_error'],
    codes: ['overloaded_error', 'server_is_overloaded', 'UNAVAILABLE'],
    statuses: [408, 500, 502, 503, 504, 529],
    meaning: transient('provider_overloaded'),
  },
  {
    id: 'cut',
    kind: 'cut stream',
    types: ['network', 'timeout'],
    says: /^(?:stream disconnected|terminated\b|SSE read timed out|Connection reset by server|read ECONNRESET|socket hang up|API Error: Unable to connect to API \(ECONNRESET\))/,
    meaning: transient('stream_cut'),
  },
  { id: 'network', kind: 'network', types: ['network', 'timeout'], meaning: transient('network_transient') },
  { id: 'temporary', kind: 'temporary', types: ['temporary_failure'], meaning: transient('temporary_failure') },
]

export interface Limit {
  kind: LimitKind
  rule: LimitRule
  /** The line that shows it. */
  evidence: string
  /** When it ends and, where that is known, how far away that was when it was said. */
  reset?: { resetAt: Date; resetInMs?: number }
}

const lastLines = 5

/** Lines at whose start the CLI speaks for itself. */
const linesOf = (harness: string, failure: ReportedFailure): string[] => {
  const lines = failure.text.split('\n')
  if (failure.source === 'event') return lines.slice(0, 1)
  // A plain command may print whatever its tools print: nothing tells its own words apart.
  return failure.source === 'stderr' && harness !== 'command' ? lines.slice(-lastLines) : []
}

/** Types that say no more than that it failed. */
const openTypes: readonly (string | undefined)[] = [undefined, 'invalid_request']

const ruleFor = (harness: string, failure: ReportedFailure): { rule: LimitRule; line: string } | undefined => {
  const { type, code, httpStatus, text } = failure
  const line = text.split('\n')[0] ?? ''
  const typed = limitRules.find(
    ({ types, says }) => type !== undefined && types?.includes(type) === true && says?.test(text) !== false,
  )
  if (typed !== undefined) return { rule: typed, line }
  if (!openTypes.includes(type)) return undefined
  const coded = limitRules.find(({ codes }) => code !== undefined && codes?.includes(code) === true)
  if (coded !== undefined) return { rule: coded, line }
  for (const own of linesOf(harness, failure)) {
    const said = limitRules.find(({ starts }) => starts?.test(own) === true)
    if (said !== undefined) return { rule: said, line: own }
  }
  const byStatus = limitRules.find(
    ({ statuses }) => httpStatus !== undefined && statuses?.includes(httpStatus) === true,
  )
  return byStatus === undefined ? undefined : { rule: byStatus, line }
}

/**
 * Whose words may say when it ends. A key or a model comes back when a person acts; and of a command that asks for another try
 * by its exit status nobody knows whether the last line is its own or a tool's.
 */
const timed: readonly LimitKind[] = ['quota', 'rate limit', 'overload']

/** A structured time first, else the one in the words. */
const resetOf = ({ kind }: LimitRule, { resetAt, text, said }: ReportedFailure): Limit['reset'] => {
  if (!timed.includes(kind)) return undefined
  if (said === undefined) return resetAt === undefined ? undefined : { resetAt }
  const at = resetAt === undefined ? resetIn(text, said)?.at : clampReset(resetAt, said.at)
  return at === undefined ? undefined : { resetAt: at, resetInMs: at.getTime() - said.at.getTime() }
}

/** What keeps the provider from answering; undefined = this failure shows nothing of the kind. */
export const limitOf = (harness: string, failure: ReportedFailure): Limit | undefined => {
  const found = ruleFor(harness, failure)
  if (found === undefined) return undefined
  const { rule, line } = found
  const reset = resetOf(rule, failure)
  return { kind: rule.kind, rule, evidence: line, ...(reset === undefined ? {} : { reset }) }
}
