/**
 * Parses what a program reports about a provider, where no driver gives a type: the last lines of standard error before a
 * failing exit, or the first line of an error field. Only the start of a line counts, after the prefixes of loggers and
 * exceptions. Text further inside, in quotes or indented comes from elsewhere: a tool, a test or the model.
 */
import { stripColours } from './diagnosis/output-lines.ts'
import { defined } from '../domain/defined.ts'

/** The parts of one line. */
export interface ProviderMessage {
  /** The line and the messages of the response body in it, also without their prefixes. */
  texts: string[]
  /** Error codes of the body. */
  codes: string[]
  httpStatus?: number
}

const openings: readonly RegExp[] = [
  /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]{0,10}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:? /,
  /^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]? /,
  /^(?:\[(?:error|fatal|critical|warn|warning)\]|(?:error|fatal|critical|warning|panic)(?=:| - ))(?:: ?| - | )/i,
  /^(?:ERROR|FATAL|CRITICAL|WARN) /,
  /^(?:Uncaught|Unhandled)(?: \(in promise\))? /,
  // The class of an exception, with or without modules; not an assertion, whose message is what a test compares.
  /^(?!Assert)[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,6}(?:Error|Exception|Exceeded|Exhausted|Unavailable|Timeout|Throttled)(?: \[\w+\])?: /,
  /^\[cause\]: /,
  // How Node prints an error with fields.
  /^\[(?=[A-Z]\w{0,60}Error: )/,
  /^\[?API Error(?: \([^()]{1,40}\))?: ?/i,
  /^(?:attempt|try|retry) #?\d{1,4}(?:(?: ?\/ ?| of )\d{1,4})?(?: failed)?(?:: ?| - )/i,
  /^\((?:attempt|try|retry) #?\d{1,4}(?:(?: ?\/ ?| of )\d{1,4})?\):? /i,
  /^[A-Za-z]{2,40}Exception - /,
  /^(?:request|call|api call|completion|llm call) failed(?: after \d+ (?:retries|attempts))?(?:: ?| - )/i,
  /^(?:[a-z][\w-]{0,30}(?: error|: error| failed)): /i,
  // The name of a program or a logger, but not the labels of a comparison.
  /^(?!(?:actual|expected|got|message|name|received|reason|says|value): )[a-z][\w-]{1,20}: /,
  /^[a-z]\w{0,30}(?:\.\w{1,30}){0,4} - /,
  /^(?:[a-z][\w-]{0,30} ){1,3}(?:error|failed|said|returned|responded|reported)(?: \([^()]{1,40}\))?(?:: | - )/i,
  /^(?:Get|Post) "[^"]{1,200}": /,
  // A status before the words: they say more than it does.
  /^(?:(?:unexpected status|error code|http(?: error)?|status(?: code)?):? )?\(?[45]\d\d\)?:? (?=["'A-Za-z])/i,
  /^(?:Forbidden|Unauthorized|Bad Request|Not Found): /,
]

const mostOpenings = 8

/** The line, and the rest of it after each prefix. All stages count, because the class of an exception may be the only hint. */
const stagesOf = (line: string): string[] => {
  const stages = [line]
  while (stages.length <= mostOpenings) {
    const text = stages.at(-1) ?? ''
    const opening = openings.find((candidate) => candidate.test(text))
    if (opening === undefined) break
    stages.push(text.replace(opening, ''))
  }
  return stages
}

/** A status counts only with the words that introduce or follow it, because a bare number may be anything. */
const introduced =
  /^(?:error code|status(?: code)?|http(?: status| error|\/\d(?:\.\d)?)?|(?:request failed|failed) with status(?: code)?|unexpected status(?: code)?|exceeded retry limit, last status|server (?:returned|responded with)(?: an?)?(?: (?:status|error|http)(?: code)?)?)[: ]{1,2}\(?([45]\d\d)\b/i
const followed =
  /^(?:error )?\(?([45]\d\d)\)?:? (?:\{|["'(]?(?:too many requests|service unavailable|(?:site is )?overloaded|unauthorized|forbidden|internal server error|bad gateway|gateway time-?out|payment required|request timeout|rate.?limit|status code))/i

const statusIn = (text: string): number | undefined => {
  const status = introduced.exec(text)?.[1] ?? followed.exec(text)?.[1]
  return status === undefined ? undefined : Number(status)
}

const codeField = /["'](?:code|type|status|reason|name)["']\s{0,3}:\s{0,3}["'](\w{1,60})["']/g
const statusField = /["'](?:code|status|status_code|statusCode|api_error_status)["']\s{0,3}:\s{0,3}([45]\d\d)\b/
const messageField =
  /["'](?:message|result|detail|error)["']\s{0,3}:\s{0,3}(?:"((?:[^"\\]|\\.){1,600})"|'((?:[^'\\]|\\.){1,600})')/g

const body = /^[^{]{0,300}?(\{.*)$/s

/** The response body, as JSON or as Python prints it; only at the start of the line or after a status. */
const bodyIn = (text: string, hasStatus: boolean): string | undefined =>
  text.startsWith('{') || hasStatus ? body.exec(text)?.[1] : undefined

/** Undefined = the line is empty or indented, as stack frames and details are. */
export const providerMessageIn = (line: string): ProviderMessage | undefined => {
  const bare = stripColours(line).trimEnd().slice(0, 2_000)
  if (bare === '' || /^\s/.test(bare)) return undefined
  const stages = stagesOf(bare)
  const text = stages.at(-1) ?? bare
  const own = stages.map(statusIn).find((status) => status !== undefined)
  const said = bodyIn(text, own !== undefined)
  const stated = said === undefined ? undefined : statusField.exec(said)?.[1]
  const httpStatus = own ?? (stated === undefined ? undefined : Number(stated))
  return {
    texts: [...stages, ...[...(said ?? '').matchAll(messageField)].flatMap(([, a, b]) => stagesOf(a ?? b ?? ''))],
    codes: [...(said ?? '').matchAll(codeField)].map(([, code]) => code ?? ''),
    ...defined({ httpStatus }),
  }
}

/** A response body that was printed over several lines, joined to one line. */
const joined = (lines: readonly string[]): string | undefined => {
  const from = lines.findLastIndex((line) => /^(?:\S.{0,200})?\{$/.test(line))
  if (from < 0 || lines.findLastIndex((line) => line === '}') < from) return undefined
  return lines
    .slice(from)
    .map((line) => line.trim())
    .join(' ')
}

const ofAFrame = /^(?:at |File "|Node\.js v\d|\^+$|[}\])]+[;,]?$|Traceback )/

/** The last lines that the program itself wrote, newest first, at most `most`. */
export const lastOwnLines = (text: string, most: number): string[] => {
  const lines = text.split('\n').map((line) => stripColours(line).trimEnd())
  const own = lines.filter((line) => line !== '' && !/^\s/.test(line) && !ofAFrame.test(line)).slice(-most)
  const cause = lines.findLast((line) => /^\s{1,8}\[cause\]: /.test(line))?.trimStart()
  return [joined(lines), cause, ...own.reverse()].filter((line) => line !== undefined)
}
