/**
 * The feedback for an agent whose work fails a check: the command, the names of what fails, the lines with the cause and what
 * passed. Bounded in length, because a tool may print anything. Pure.
 */
import { unkeptIn } from './diagnosis/alike-on-base.ts'
import { linesIn } from './failing-set.ts'
import { normalised } from './signature.ts'
import type { ObservedCheck } from './evidence.ts'
import type { Feedback } from './types.ts'

/** In characters: the whole text, the list of failures and the lines of output. */
export const feedbackLimit = 4_000
const namesLimit = 1_000
const linesLimit = 2_200
const longestLine = 300
/** Lines kept after one that reports a problem: the values of an assertion, the location. */
const context = 4

const trouble = /error|fail|fatal|panic|exception|assert|expected|received|actual|not ok|undefined|cannot|✗|✖|✘|×|●/i
const passedLine = /^\s*(?:✓|✔|√|ok \d|PASS\b|--- PASS|\[ +OK|=== RUN|test .* \.\.\. ok$)/
/** Stack frames of the runner and the interpreter, and TAP details. They name no cause. */
const noise =
  /node:internal|^\s*at .*node_modules\/|^\s*(?:duration_ms\b|type:|\.\.\.$|---$)|^\s*[#ℹ] (?:suites|cancelled|skipped|todo|duration_ms)/i

const isRelevant = (line: string): boolean => !passedLine.test(line) && !noise.test(line)

/** The lines around reported problems, in order; the last lines where no line reports a problem. */
const causeLines = (text: string): string[] => {
  const lines = linesIn(text)
    .filter(isRelevant)
    .map((line) => line.slice(0, longestLine))
  const near = lines.filter((_line, at) =>
    lines.slice(Math.max(0, at - context), at + 1).some((one) => trouble.test(one)),
  )
  return near.length === 0 ? lines.slice(-20) : near
}

/** The first items that fit into the limit, in characters. */
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

/** Head and tail: the head names the first failure, the tail has the summary. */
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

const unkeptLines = (check: ObservedCheck): string[] => {
  const unkept = unkeptIn(check)
  if (unkept.length === 0) return []
  const paths = listed(unkept, 400, (count) => `and ${count} more`)
  return [
    `You wrote ${paths.join(', ')}, but git ignores it, so it is not part of your work, and the check runs without it. Keep what the check needs where git does not ignore it, or exempt it in .gitignore.`,
  ]
}

const textOf = (check: ObservedCheck, evidence: string): string => {
  const printed = excerpt(causeLines([check.stdout, check.stderr].filter((text) => text !== '').join('\n')))
  const passed = check.passed ?? []
  return [
    'Your work was checked, and this command fails:',
    `  ${check.command.slice(0, 500)} (${endOf(check)})`,
    ...namesOf(check),
    ...unkeptLines(check),
    ...(printed.length === 0 ? [`Cause: ${evidence.slice(0, 500)}`] : ['What it printed:', ...printed]),
    passed.length === 0 ? '' : `Passed: ${listed(passed, 400, (count) => `and ${count} more`).join(', ')}`,
  ]
    .filter((line) => line !== '')
    .join('\n')
    .slice(0, feedbackLimit)
}

/** `evidence`: the line with the cause, for a check that printed nothing. */
export const feedbackOn = (check: ObservedCheck, evidence: string): Feedback => ({
  command: check.command,
  failing: check.failing?.items ?? [normalised(evidence)],
  text: textOf(check, evidence),
})
