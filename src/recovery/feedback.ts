/**
 * What an agent is told when a check fails by its work: the command, what fails by name, the lines that tell the cause and
 * what passed. Bounded, so that the prompt of the next round stays a prompt whatever a tool prints. Pure.
 */
import { linesIn } from './failing-set.ts'
import { normalised } from './signature.ts'
import type { ObservedCheck } from './evidence.ts'
import type { Feedback } from './types.ts'

/** Characters of the whole text, of its list of failures and of the printed lines. */
export const feedbackLimit = 4_000
const namesLimit = 1_000
const linesLimit = 2_200
const longestLine = 300
/** Lines after one that tells of trouble which belong to it: the values of an assertion, the place. */
const context = 4

const trouble = /error|fail|fatal|panic|exception|assert|expected|received|actual|not ok|undefined|cannot|✗|✖|✘|×|●/i
const passedLine = /^\s*(?:✓|✔|√|ok \d|PASS\b|--- PASS|\[ +OK|=== RUN|test .* \.\.\. ok$)/
/** Frames of the runner and the interpreter, and the bookkeeping of TAP: they name no cause. */
const noise =
  /node:internal|^\s*at .*node_modules\/|^\s*(?:duration_ms\b|type:|\.\.\.$|---$)|^\s*[#ℹ] (?:suites|cancelled|skipped|todo|duration_ms)/i

const isTold = (line: string): boolean => !passedLine.test(line) && !noise.test(line)

/** Lines around trouble in their order; all of the end where nothing sounds like it. */
const causeLines = (text: string): string[] => {
  const lines = linesIn(text)
    .filter(isTold)
    .map((line) => line.slice(0, longestLine))
  const near = lines.filter((_line, at) =>
    lines.slice(Math.max(0, at - context), at + 1).some((one) => trouble.test(one)),
  )
  return near.length === 0 ? lines.slice(-20) : near
}

/** As many items of the beginning as fit into so many characters. */
const fitting = (items: readonly string[], limit: number): string[] => {
  let left = limit
  const end = items.findIndex((item) => {
    left -= item.length + 1
    return left < 0
  })
  return end === -1 ? [...items] : items.slice(0, end)
}

const listed = (items: readonly string[], limit: number, rest: (count: number) => string): string[] => {
  const shown = fitting(items, limit)
  return shown.length === items.length ? shown : [...shown, rest(items.length - shown.length)]
}

/** The beginning names the first failure, the end sums up. */
const excerpt = (lines: readonly string[]): string[] => {
  if (fitting(lines, linesLimit).length === lines.length) return [...lines]
  const head = fitting(lines, linesLimit * 0.7)
  const tail = fitting(lines.slice(head.length).toReversed(), linesLimit * 0.3).toReversed()
  return [...head, `[${lines.length - head.length - tail.length} lines left out]`, ...tail]
}

const endOf = ({ exitCode, signal, timedOut }: ObservedCheck): string => {
  if (timedOut) return 'it ran out of time'
  return signal === null ? `exit status ${exitCode ?? 'unknown'}` : `ended by ${signal}`
}

const namesOf = ({ failing }: ObservedCheck): string[] =>
  failing?.areTests === true
    ? [
        `Failing tests (${failing.items.length}):`,
        ...listed(
          failing.items.map((name) => `- ${name.slice(0, longestLine)}`),
          namesLimit,
          (count) => `- and ${count} more`,
        ),
      ]
    : []

const textOf = (check: ObservedCheck, evidence: string): string => {
  const printed = excerpt(causeLines([check.stdout, check.stderr].filter((text) => text !== '').join('\n')))
  const passed = check.passed ?? []
  return [
    'Your work was checked, and this command fails:',
    `  ${check.command.slice(0, 500)} (${endOf(check)})`,
    ...namesOf(check),
    ...(printed.length === 0 ? [`Cause: ${evidence.slice(0, 500)}`] : ['What it printed:', ...printed]),
    passed.length === 0 ? '' : `Passed: ${listed(passed, 400, (count) => `and ${count} more`).join(', ')}`,
  ]
    .filter((line) => line !== '')
    .join('\n')
    .slice(0, feedbackLimit)
}

/** `evidence`: the line that tells the cause, for a check that printed nothing. */
export const feedbackOn = (check: ObservedCheck, evidence: string): Feedback => ({
  command: check.command,
  failing: check.failing?.items ?? [normalised(evidence)],
  text: textOf(check, evidence),
})
