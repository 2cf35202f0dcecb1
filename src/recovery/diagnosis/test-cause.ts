/**
 * Finds the line that tells why the first failed test failed: its assertion or the error thrown in it. Not the output of a
 * passing test, a stack frame, or a coverage threshold that a failed run misses as well. Reads text only.
 */
import type { OutputLine } from './output-lines.ts'

/** A failed assertion, in the wording of the assertion libraries. */
const assertions: readonly RegExp[] = [
  /AssertionError\b|ERR_ASSERTION|AssertionFailedError|ComparisonFailure|ExpectationNotMetError|ExpectationFailedException/,
  /^\s*(?:Error: |error: )?expect\(.*\)\.?/,
  /^\s*[-+]?\s*(?:Expected|Received|expected|actual|Actual|got|want)\b ?(?:\[?\w* ?\w*\]?)?:/,
  /assertion `?.{0,80}`? failed|assertion failed|Assertion .{0,200} failed/i,
  /^\s*(?:left|right): /,
  /\bDID NOT RAISE\b|\bFailure\/Error: (?:expect|assert|is_expected)/,
  /\b(?:test|hook) timed out (?:after|in) \d+ ?m?s\b|Exceeded timeout of \d+|Test timeout of \d+|Timeout of \d+ms exceeded/i,
  /\bgot\b.{0,200}\bwant(?:ed)?\b|\bwant(?:ed)?\b.{0,200}\bgot\b|\bexpected\b.{0,200}\b(?:to (?:be|equal|have|match|include|throw|contain)|but (?:was|got)|actual)\b/,
  /^E +assert |^E +(?:Failed|AssertionError)\b|^\s*Failed asserting|Values are not equal|Assertion with \w+ failed|Test Failed\*\*\*|^Failed example:/,
  /\*\*\*(?:Failed|Timeout)\b|Expected equality of these values|Value of: |^\s*REQUIRE\(|^\s*CHECK\(|did not match the regular expression|snapshot.{0,20}(?:mismatch|obsolete|does ?n[o']t match)/i,
]

const isCode = /^\s*>?\s*\d+\s*[|│]/

/** The marker that a runner prints before the name of a test or a section of its report. */
export const runnerMarker =
  /^\s*(?:✕|✗|✘|×|✖|✓|✔|●|❯|FAIL\b|---? FAIL|--- |not ok|ok \d|# Subtest|test .*\.\.\. |\(fail\)|\(pass\)|FAILED |ERROR |=== RUN|\d+\) |_{3,}|={3,})/

export const isFailedAssertion = (text: string): boolean =>
  !isCode.test(text) && !runnerMarker.test(text) && assertions.some((pattern) => pattern.test(text))

/** Where a runner starts to report the failures one by one, after the output of the tests. */
const report =
  /Failed (?:Tests|Suites) \d|^\s*FAIL\s+\S.* > |^\s*● (?!Console$)|^\s*[1-9]\d* failing$|^✖ failing tests:|^=+ (?:FAILURES|ERRORS) =+$|^\s*--- FAIL: |^(?:failures|Failures):$|^---- .* stdout ----$|^(?:FAIL|ERROR): \S+ \(|^\s*not ok \d/

/** How languages and libraries print an uncaught error. */
const thrown =
  /^\s*(?:E\s+)?(?:\S+:\d+: )?(?:Uncaught )?(?:[\w$]+[.:]+)*\w*(?:Error|Exception|Failure|Panic)\b(?: \[\w+\])?: \S|^\s*(?:panic: |thread '.*' panicked at )|^\s+error: ['"]\S/

/** pytest's short summary, with the cause after the test's name. */
const named = /^(?:FAILED|ERROR) \S+ - \S/

export const isCoverage = (text: string): boolean =>
  /\bcoverage\b.{0,80}(?:\bthreshold\b|does not meet|not met|not reached|fail[-_]under)/i.test(text)

/** A file that threw before its first test; the error is in the output of the file, which TAP prints as comments. */
const sayingNothing = /^\s*(?:error: )?['"]test failed['"]$/
const commented = /^# ((?:[\w$]+[.:]+)*\w*(?:Error|Exception)\b(?: \[\w+\])?: \S.*)$/

const isCause = ({ text }: OutputLine): boolean =>
  !isCoverage(text) &&
  !sayingNothing.test(text) &&
  (isFailedAssertion(text) || (!isCode.test(text) && thrown.test(text)))

const maxFollowing = 3
const frame = /^\s*at \S|^\s*File "/
const value = /^\s*(?:Expected|Received)\b.*: /

/** The line, together with the values of the assertion that follow it. */
const withValues = (lines: readonly OutputLine[], at: number): string => {
  const text = (lines[at]?.text ?? '').trim().replace(/^E\s+/, '')
  const following = lines.slice(at + 1, at + 1 + maxFollowing).map((line) => line.text.trim())
  const next = following[0] ?? ''
  if (/\):$|equal:$|:$/.test(text)) return /^[-+]\s/.test(next) || frame.test(next) ? text : `${text} ${next}`.trim()
  return /^(?:Error: )?expect\(/.test(text) ? [text, ...following.filter((line) => value.test(line))].join('; ') : text
}

/** The cause of a failed test run; undefined where the runner only counts the failures. */
export const testCauseOf = (lines: readonly OutputLine[]): string | undefined => {
  const from = lines.findIndex(({ text }) => report.test(text))
  const reported = from === -1 ? -1 : lines.findIndex((line, at) => at >= from && isCause(line))
  if (reported !== -1) return withValues(lines, reported)
  const at = lines.findIndex(({ text }) => isFailedAssertion(text) && !isCoverage(text))
  if (at !== -1) return withValues(lines, at)
  const other = lines.find(({ text }) => named.test(text))?.text.trim()
  return other ?? lines.flatMap(({ text }) => commented.exec(text)?.[1] ?? [])[0]
}
