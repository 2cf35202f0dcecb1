/**
 * What programs say of a provider in their own last words, where no driver gives a type: a line of standard error before a
 * failing exit, or the first line of an error field. Read at the start of such a line alone, behind what log writers and
 * exceptions put there. A sentence further inside, in quotes or indented is somebody else's: a tool's, a test's, the model's.
 */
import { plain } from './diagnosis/text.ts'

/** One line, taken apart. */
export interface Spoken {
  /** The line, and the message of the body in it, without what stands before them. */
  texts: string[]
  /** Words of the body. */
  codes: string[]
  httpStatus?: number
}

const openings: readonly RegExp[] = [
  /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]{0,10}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:? /,
  /^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]? /,
  /^(?:\[(?:error|fatal|critical|warn|warning)\]|(?:error|fatal|critical|warning|panic)(?=:| - ))(?:: ?| - | )/i,
  /^(?:ERROR|FATAL|CRITICAL|WARN) /,
  /^(?:Uncaught|Unhandled)(?: \(in promise\))? /,
  // An exception's class, with or without its modules; a test's own is what that test compares.
  /^(?!Assert)[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,6}(?:Error|Exception|Exceeded|Exhausted|Unavailable|Timeout|Throttled)(?: \[\w+\])?: /,
  /^\[cause\]: /,
  // Node, of an error with fields.
  /^\[(?=[A-Z]\w{0,60}Error: )/,
  /^\[?API Error: ?/,
  /^[A-Za-z]{2,40}Exception - /,
  /^(?:request|call|api call|completion|llm call) failed(?: after \d+ (?:retries|attempts))?(?:: ?| - )/i,
  /^(?:[a-z][\w-]{0,30}(?: error|: error| failed)): /i,
  // The name of a program or of a logger; a comparison's words are none.
  /^(?!(?:actual|expected|got|message|name|received|reason|says|value): )[a-z][\w-]{1,20}: /,
  /^[a-z]\w{0,30}(?:\.\w{1,30}){0,4} - /,
  /^(?:Get|Post) "[^"]{1,200}": /,
]

const mostOpenings = 8

/** The line, and what is left of it behind each opening: the class of an exception may be all that tells. */
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

/** A status with the words that introduce or follow it; a number alone may count anything. */
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

/** The answer's body, as JSON or as Python writes it; only at the start or behind a status. */
const bodyIn = (text: string, hasStatus: boolean): string | undefined =>
  text.startsWith('{') || hasStatus ? body.exec(text)?.[1] : undefined

/** Undefined = the line belongs to something else: it is indented, as frames and details are. */
export const spokenIn = (line: string): Spoken | undefined => {
  const bare = plain(line).trimEnd().slice(0, 2_000)
  if (bare === '' || /^\s/.test(bare)) return undefined
  const stages = stagesOf(bare)
  const text = stages.at(-1) ?? bare
  const own = statusIn(text)
  const said = bodyIn(text, own !== undefined)
  const stated = said === undefined ? undefined : statusField.exec(said)?.[1]
  const httpStatus = own ?? (stated === undefined ? undefined : Number(stated))
  return {
    texts: [...stages, ...[...(said ?? '').matchAll(messageField)].flatMap(([, a, b]) => stagesOf(a ?? b ?? ''))],
    codes: [...(said ?? '').matchAll(codeField)].map(([, code]) => code ?? ''),
    ...(httpStatus === undefined ? {} : { httpStatus }),
  }
}

/** A body that was printed over several lines, as the one line that it stands for. */
const joined = (lines: readonly string[]): string | undefined => {
  const from = lines.findLastIndex((line) => /^(?:\S.{0,200})?\{$/.test(line))
  if (from < 0 || lines.findLastIndex((line) => line === '}') < from) return undefined
  return lines
    .slice(from)
    .map((line) => line.trim())
    .join(' ')
}

const ofAFrame = /^(?:at |File "|Node\.js v\d|\^+$|[}\])]+[;,]?$|Traceback )/

/** The last lines in which a program speaks for itself, newest first. */
export const lastWords = (text: string, most: number): string[] => {
  const lines = text.split('\n').map((line) => plain(line).trimEnd())
  const own = lines.filter((line) => line !== '' && !/^\s/.test(line) && !ofAFrame.test(line)).slice(-most)
  const cause = lines.findLast((line) => /^\s{1,8}\[cause\]: /.test(line))?.trimStart()
  return [joined(lines), cause, ...own.reverse()].filter((line) => line !== undefined)
}
