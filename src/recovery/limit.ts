/**
 * Determines why a model provider does not respond, and until when. Structured fields come first (the driver's type, the
 * server's code), then error codes and sentences at the start of a line, in the CLI's own error field or in the last lines
 * before a failing exit (provider-message.ts), then the bare status. Text of a model or a tool is never passed to this file.
 */
import type { Category, LabelMeaning } from './diagnosis/labels.ts'
import type { ReportedFailure } from './evidence.ts'
import { lastOwnLines, providerMessageIn } from './provider-message.ts'
import { clampReset, resetIn } from './reset-time.ts'
import { defined } from '../domain/defined.ts'

/** What a person can do when the task is too long for its model, also in a fresh session. */
export const overflowAdvice = 'split the task, attach less to it, or give it a model with a larger context'

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
  /** Restricts `types` to failures with this text. The text is the CLI's own, because its driver assigned the type. */
  textPattern?: RegExp
  /** Error codes in the providers' response bodies. */
  codes?: readonly string[]
  /** Matched at the start of a line. Only for wordings to which no driver assigns a type. */
  sentencePatterns?: readonly RegExp[]
  statuses?: readonly number[]
  meaning: LabelMeaning<LimitLabel>
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

/** The first match by type applies, else the first by code, by sentence, by status. */
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
    sentencePatterns: [
      /^Claude AI usage limit reached\||^Your quota will reset after /,
      /^(?:The |Your )?(?:\w[\w-]* ){0,2}(?:5-hour|hourly|daily|weekly|monthly|session|usage|spend|spending|account|plan|credit|quota) (?:(?:rate|usage|token|request|message) )?(?:limit|quota|allowance)s?(?:$| ?[·∙|]| (?:will )?resets?\b| (?:(?:has|have|was|were|is|are) (?:been )?)?(?:reached|hit|exceeded|exhausted|used up)\b)/i,
      /^(?:Limit|Usage) (?:reached|hit|exceeded|exhausted)\b|^(?:(?:It|Limit|Quota|Usage|Window) )?resets (?:in |at |on )?\d/i,
      /^You(?:[’']ve| have| are|[’']re)? (?:already )?(?:hit|reached|exceeded|exhausted|used up|used all of|run out of|ran out of|out of) (?:your |the |all )?(?:\w[\w-]* ){0,4}(?:limits?|quota|credits?|allowance|extra usage)\b/i,
      /^(?:(?:Your |Daily |Monthly )?(?:quota|credits?) (?:(?:has|have|was|were|is|are) (?:been )?)?(?:exceeded|exhausted|used up|depleted)|Insufficient (?:quota|credits?|balance|funds)|(?:Your )?credit balance (?:is )?too low|Out of credits|No (?:more )?credits)\b/i,
      /^(?:Your )?(?:\w[\w-]* ){0,3}(?:requests|credits|tokens) (?:are|have been) used up\b|^You have (?:0|no) (?:\w+ )?credits\b/i,
      /^insufficient_quota\b/,
    ],
    statuses: [402],
    meaning: quota,
  },
  {
    id: 'rate',
    kind: 'rate limit',
    types: ['rate_limit'],
    codes: ['rate_limit_exceeded', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
    sentencePatterns: [
      /^(?:The |API |Request |Your )*rate[ -]?limit(?:s|ed)?(?:$|[:.,]| (?:has been |was |is )?(?:reached|exceeded|hit|error|for)\b)/i,
      /^(?:Too many requests|(?:Your |The )?requests? (?:was |were |has been |is being )?(?:throttled|rate[- ]limited)|You (?:are|have been) (?:being )?rate[- ]limited|ThrottlingException|Resource (?:has been )?exhausted)\b/i,
      /^(?:\w+\.){0,6}(?:RateLimitError|ResourceExhausted|ThrottlingException|TooManyRequests(?:Error|Exception)?)\b/,
    ],
    statuses: [429],
    meaning: quota,
  },
  {
    id: 'auth',
    kind: 'auth',
    types: ['authentication_failed'],
    codes: ['invalid_api_key', 'authentication_error', 'permission_error', 'UNAUTHENTICATED', 'PERMISSION_DENIED'],
    sentencePatterns: [
      /^(?:403 )?(?:Permission denied: Consumer\b|Access blocked by (?:\w+ ){0,3}policy\b)/,
      /^(?:Invalid|Incorrect|Missing|No|Expired) (?:\w[\w-]* ){0,2}(?:api[ -]?key|x-api-key|bearer token|access token)\b/i,
      /^(?:Your |The )?(?:\w[\w-]* ){0,2}api[ _-]?key (?:(?:is|was|has) )?(?:not (?:valid|found|set)|invalid|missing|expired|revoked|required)\b/i,
      /^(?:Not logged in\b|(?:Your )?(?:OAuth token|login|access token|session) (?:has |is )?expired\b|Failed to authenticate\b|Invalid authentication\b|Please (?:log ?in\b|run (?:\S+ (?:login|auth)|\/login)\b)|No credentials (?:were )?found\b|Unauthorized(?:$|[:.,]))/i,
      /^(?:\w+\.){0,6}AuthenticationError\b/,
    ],
    statuses: [401, 403],
    meaning: provider('auth_failure', 'permission_or_auth_failure', 'permission', false),
  },
  {
    id: 'model',
    kind: 'model',
    types: ['model_not_found'],
    codes: ['model_not_found', 'not_found_error'],
    sentencePatterns: [
      /^(?:The )?[`'"][\w./:@-]{1,80}[`'"] model (?:is not|isn[’']t) (?:supported|available|enabled|found)\b/i,
      /^(?:The )?model:? [`'"]?[\w./:@-]+[`'"]? (?:does not exist|was not found|is not (?:found|available|supported)|not found)\b/i,
      /^(?:\w[\w-]* ){0,3}(?:`[^`]{1,60}` )?(?:(?:does|do|did) not|doesn[’']t|don[’']t) have (?:access|permission) (?:to|for) (?:use )?(?:the )?(?:requested |specified )?model\b/i,
      /^(?:Forbidden:? )?(?:(?:The|This|Access to (?:the )?) ?)?model (?:[`'"]?[\w./:@-]+[`'"]? )?(?:is )?(?:not (?:allowed|permitted|enabled)|denied|forbidden|restricted)\b/i,
      /^(?:models\/\S+ is not found\b|Unknown model\b|Model not found\b|No such model\b|There's an issue with the selected model\b)/i,
    ],
    meaning: environment('model_missing'),
  },
  {
    id: 'context',
    kind: 'context',
    types: ['prompt_too_long'],
    codes: ['context_length_exceeded'],
    sentencePatterns: [
      /^(?:(?:The |Your )?(?:prompt|input|conversation|request|context) is too (?:long|large)\b|This (?:model's maximum context length|endpoint's maximum context length)|Maximum context length\b|(?:The )?context (?:length|window|limit) (?:has been |was )?(?:exceeded|overflow)|(?:The )?input token count\b|Input length and `?max_tokens`? exceed|(?:\w+ ){1,2}ran out of room in the model's context window)/i,
      /^(?:\w+\.){0,6}Context(?:WindowExceeded|LengthExceeded|Overflow)Error\b/,
    ],
    meaning: environment('context_overflow'),
  },
  {
    id: 'overload',
    kind: 'overload',
    types: ['overloaded', 'server_error'],
    codes: ['overloaded_error', 'server_is_overloaded', 'UNAVAILABLE'],
    sentencePatterns: [
      /^(?:Overloaded(?:$|[:.,])|Repeated 529\b|(?:The )?(?:\w[\w-]* ){0,2}(?:model|server|servers|service|API|engine|provider) (?:(?:is|are) )?(?:currently |temporarily )?(?:overloaded|unavailable|at capacity|busy)\b)/i,
      /^(?:Service (?:is )?(?:temporarily )?unavailable|Internal server error|Bad gateway|Gateway time-?out|We(?:[’']re| are) (?:currently )?experiencing |The server had an error)\b/i,
      /^(?:\w+\.){0,6}(?:InternalServerError|ServiceUnavailable(?:Error)?|OverloadedError)\b/,
    ],
    statuses: [408, 500, 502, 503, 504, 529],
    meaning: transient('provider_overloaded'),
  },
  {
    id: 'cut',
    kind: 'cut stream',
    types: ['network', 'timeout'],
    textPattern:
      /^(?:stream disconnected|terminated\b|SSE read timed out|Connection reset by server|read ECONNRESET|socket hang up|API Error: Unable to connect to API \(ECONNRESET\))/,
    meaning: transient('stream_cut'),
  },
  {
    id: 'network',
    kind: 'network',
    types: ['network', 'timeout'],
    sentencePatterns: [
      /^(?:connect|read|write|getaddrinfo|queryA|request to \S+ failed, reason:(?: connect| getaddrinfo| read)?) E(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|PIPE)\b/,
      /^E(?:CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b/,
      /^(?:(?:TypeError: )?fetch failed|socket hang up|network (?:error|is unreachable|request failed)|connection (?:error|refused|reset|timed out|aborted|failed)|all connection attempts failed|error sending request|stream (?:disconnected|closed) before|request timed out|the (?:operation|request) timed out|no route to host|name or service not known|temporary failure in name resolution|server disconnected)\b/i,
      /^(?:(?:failed|unable) to (?:connect to|reach)|(?:could not|cannot|can't) (?:connect to|resolve host|reach)|dial tcp|lookup \S+ on |HTTPS?ConnectionPool\(|Max retries exceeded with url|curl: \((?:5|6|7|28|35|52|55|56)\))/i,
      /^\[Errno (?:-[235]|10[1-4]|11[0-3])\]/,
      /^(?:\w+\.){0,6}(?:APIConnectionError|APITimeoutError|SSLError|ConnectError|ConnectTimeout|ReadTimeout|ConnectionRefusedError|ConnectionResetError|NewConnectionError)\b/,
    ],
    meaning: transient('network_transient'),
  },
  { id: 'temporary', kind: 'temporary', types: ['temporary_failure'], meaning: transient('temporary_failure') },
]

export interface ProviderLimit {
  kind: LimitKind
  rule: LimitRule
  /** The line that shows the limit. */
  evidence: string
  /** When the limit ends and, where known, how long that was away when the provider stated it. */
  reset?: { resetAt: Date; resetInMs?: number }
}

const lastLines = 5

/** The lines that the CLI itself wrote. */
const linesOf = ({ source, text }: ReportedFailure): string[] => {
  if (source === 'event') return text.split('\n').slice(0, 1)
  return source === 'stderr' ? lastOwnLines(text, lastLines) : []
}

/** Types that do not name a cause. */
const openTypes: readonly (string | undefined)[] = [undefined, 'invalid_request', 'no_result']

interface RuleMatch {
  rule: LimitRule
  line: string
}

const byCode = (code: string): LimitRule | undefined => limitRules.find(({ codes }) => codes?.includes(code) === true)

const byStatus = (status: number | undefined): LimitRule | undefined =>
  status === undefined ? undefined : limitRules.find(({ statuses }) => statuses?.includes(status) === true)

const bySentence = (text: string): LimitRule | undefined =>
  limitRules.find(({ sentencePatterns }) => sentencePatterns?.some((start) => start.test(text)) === true)

const firstOf = <Item>(items: readonly Item[], find: (item: Item) => LimitRule | undefined): LimitRule | undefined => {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * By the error codes of a body first, then by sentences, then by the bare status. A refusal whose words name the model is about the
 * model, whatever its code and status: with another model the same login works.
 */
const ruleIn = (line: string): LimitRule | undefined => {
  const spoken = providerMessageIn(line)
  if (spoken === undefined) return undefined
  const said = firstOf(spoken.texts, bySentence)
  const coded = firstOf(spoken.codes, byCode)
  if (said?.kind === 'model' && coded?.kind === 'auth') return said
  return coded ?? said ?? byStatus(spoken.httpStatus)
}

const matchLines = (failure: ReportedFailure): RuleMatch | undefined => {
  for (const line of linesOf(failure)) {
    const rule = ruleIn(line)
    if (rule !== undefined) return { rule, line }
  }
  return undefined
}

const matchRule = (failure: ReportedFailure): RuleMatch | undefined => {
  const { type, code, httpStatus, text } = failure
  const line = text.split('\n')[0] ?? ''
  const typed = limitRules.find(
    ({ types, textPattern }) =>
      type !== undefined && types?.includes(type) === true && textPattern?.test(text) !== false,
  )
  const said = typed?.kind === 'auth' ? matchLines(failure) : undefined
  if (said?.rule.kind === 'model') return said
  if (typed !== undefined) return { rule: typed, line }
  if (!openTypes.includes(type)) return undefined
  const coded = code === undefined ? undefined : byCode(code)
  if (coded !== undefined) return { rule: coded, line }
  const spoken = matchLines(failure)
  if (spoken !== undefined) return spoken
  const stated = byStatus(httpStatus)
  return stated === undefined ? undefined : { rule: stated, line }
}

/**
 * The kinds for which a stated reset time counts. A refused key or model needs a person, and the last line of a command that
 * exits with "try again" may come from a tool.
 */
const timed: readonly LimitKind[] = ['quota', 'rate limit', 'overload']

/** The texts to search for a time: in standard error first the line that shows the limit, then the other last lines. */
const timesIn = ({ source, text }: ReportedFailure, line: string): string[] =>
  source === 'stderr' ? [line, lastOwnLines(text, lastLines).join('\n')] : [text]

/** The structured time, else the one in the text. */
const resetOf = ({ rule: { kind }, line }: RuleMatch, failure: ReportedFailure): ProviderLimit['reset'] => {
  const { resetAt, messageTime } = failure
  if (!timed.includes(kind)) return undefined
  if (messageTime === undefined) return resetAt === undefined ? undefined : { resetAt }
  const stated = timesIn(failure, line).map((text) => resetIn(text, messageTime)?.at)
  const at = resetAt === undefined ? stated.find((time) => time !== undefined) : clampReset(resetAt, messageTime.at)
  return at === undefined ? undefined : { resetAt: at, resetInMs: at.getTime() - messageTime.at.getTime() }
}

/** Why the provider does not respond; undefined = the failure does not come from the provider. */
export const limitOf = (failure: ReportedFailure): ProviderLimit | undefined => {
  const found = matchRule(failure)
  if (found === undefined) return undefined
  const { rule, line } = found
  const reset = resetOf(found, failure)
  return { kind: rule.kind, rule, evidence: line, ...defined({ reset }) }
}
