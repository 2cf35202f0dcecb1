/**
 * What exactly failed in a command, so that two runs of it can be compared: on the work and on its base commit. An old
 * failure does not block the run, but a new failure in a command that failed before must. So a failure that is not fully
 * understood counts as new, unless the whole output is the same. Pure.
 */
import { readCommand } from './diagnosis/argv.ts'
import { classify } from './diagnosis/classify.ts'
import { someTestPassed } from './diagnosis/executed.ts'
import { labels } from './diagnosis/labels.ts'
import { rules } from './diagnosis/rules/all.ts'
import { isRunnerEcho, runners, suiteFailed, testNameOf } from './diagnosis/runner.ts'
import { stripColours } from './diagnosis/output-lines.ts'
import { normalised } from './signature.ts'

export interface FailedOutput {
  command: string
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  stdout: string
  stderr: string
  /** The output is complete, not truncated to head and tail. */
  complete: boolean
  /** Index of the failed program in the command's chain. */
  step: number
  /** The folder that the command ran in. Its path in the output differs between two workspaces. */
  root: string
}

export interface FailingSet {
  step: number
  label: string
  ended: string
  /** The environment is at fault, so the failure says nothing about the code. */
  infra: boolean
  /** Names of the failed tests, sorted; null where the runner does not name all of them. */
  tests: string[] | null
  /** Test files named outside of the lines of passed tests. The same test name in another file is another test. */
  places: string[]
  /** Lines that report a problem outside of the tests. */
  beside: string[]
  /** All lines, sorted and without parts that differ between two runs; null where the output is truncated or too long. */
  lines: string[] | null
  passedSome: boolean
  evidence: string
}

const maxLines = 5_000

export const linesIn = (text: string): string[] =>
  stripColours(text)
    .split(/\r\n|\n|\r/)
    .filter((line) => line.trim() !== '')

/** Blanked, because positions change with every edit above them. */
const positions: readonly [RegExp, string][] = [
  [/:\d+:\d+\b/g, ':<at>'],
  [/\(\d+,\d+\)/g, '(<at>)'],
  [/\bline \d+\b/g, 'line <n>'],
  [/^\s*\d+:\d+\s/, '<at> '],
  [/^\s*>?\s*\d+ ?[|│]/, '<n> |'],
  [/\bduration_ms:? [\d.]+/g, 'duration_ms'],
  [/\b0x[0-9a-f]+\b/gi, '<address>'],
]
const countLine = /^\W*(?:found )?\d+ (?:errors?|problems?|warnings?|issues?)\b/i

const comparable = (line: string): string => {
  const text = normalised(positions.reduce((before, [pattern, blank]) => before.replace(pattern, blank), line))
  return countLine.test(text) ? text.replace(/\d+/g, '<n>').replace(/\b(error|problem|warning|issue)s\b/g, '$1') : text
}

const passedLine = /^\s*(?:✓|✔|√|ok \d|PASS\b|--- PASS|\[ +OK|=== RUN|test .* \.\.\. ok$)/
const testFile =
  /[\w@./-]+(?:\.(?:test|spec|cy)\.[cm]?[jt]sx?|_test\.(?:go|py|rb|exs?|dart)|_spec\.rb|Tests?\.(?:java|kt|cs|swift|php|scala))\b|(?:[\w.-]+\/)*(?:tests?|specs?|__tests__)\/[\w./-]*\.\w+|\btest_\w+\.py\b/g

const placesIn = (lines: readonly string[]): string[] => [
  ...new Set(lines.filter((line) => !passedLine.test(line)).flatMap((line) => line.match(testFile) ?? [])),
]

/** Problems that fail a test command but are not tests. */
const besideTests =
  /^\s*Errors\s+\d+ errors?\b|Unhandled (?:Rejection|Errors?|Promise)|unhandledRejection|coverage .*(?:threshold|not met)|\bpanic: |Segmentation fault|heap out of memory|^error(?:\[\w+\])?: |error TS\d+:|^ERROR:/i

const isBeside = (line: string): boolean =>
  suiteFailed.test(line) ||
  besideTests.test(line) ||
  (!isRunnerEcho(line) && rules.some(({ specificity, pattern }) => specificity >= 60 && pattern.test(line)))

/** The sum of the failures that the runners count. */
const failedCount = (lines: readonly string[]): number => {
  const named = runners.filter(({ tool }) => tool !== 'any runner')
  const count =
    /([1-9]\d*) (?:tests? )?(?:failed|failing|failures?|fail|errors?|timed out)\b|\b(?:fail(?:ed|ures?)?|errors?|successes)[:=]?\s*([1-9]\d*)/gi
  return lines
    .filter((line) => named.some(({ summary, not }) => not?.test(line) !== true && summary.test(line)))
    .flatMap((line) => [...line.matchAll(count)])
    .reduce((sum, match) => sum + Number(match[1] ?? match[2] ?? 0), 0)
}

const testsIn = (lines: readonly string[]): string[] | null => {
  const names = new Set(lines.flatMap((line) => testNameOf(line) ?? []).map((name) => normalised(name)))
  // With fewer names than failures, some failures have no name, and one of these may be new.
  const complete = names.size > 0 && names.size >= failedCount(lines) && !lines.some((line) => suiteFailed.test(line))
  return complete ? [...names].sort() : null
}

export const failingSetOf = (output: FailedOutput): FailingSet => {
  const { command, exitCode, signal, root } = output
  const without = (text: string): string => text.replaceAll(`${root}/`, '').replaceAll(root, '.')
  const stdout = without(output.stdout)
  const stderr = without(output.stderr)
  const found = classify({ command, exitCode, signal, stdout, stderr })
  const lines = [...linesIn(stderr), ...linesIn(stdout)]
  const known = output.complete && lines.length <= maxLines
  const ended = output.timedOut ? 'timeout' : signal === null ? `exit ${exitCode}` : `signal ${signal}`
  const isTests = found.label === 'test_failure' && !output.timedOut && signal === null
  return {
    step: output.step,
    label: output.timedOut ? 'timeout' : found.label,
    ended,
    infra: !output.timedOut && labels[found.label].infra,
    tests: isTests && output.complete ? testsIn(lines) : null,
    places: placesIn(lines),
    beside: lines.filter(isBeside).map(comparable).sort(),
    lines: known ? lines.map(comparable).sort() : null,
    passedSome: someTestPassed(lines),
    evidence: found.evidence,
  }
}

const inside = (few: readonly string[], many: readonly string[]): boolean => {
  const left = new Map<string, number>()
  for (const text of many) left.set(text, (left.get(text) ?? 0) + 1)
  return few.every((text) => {
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    return count > 0
  })
}

const isSubset = (few: readonly string[], many: readonly string[]): boolean => few.every((text) => many.includes(text))

/** Whether everything that fails now also failed before. */
export const isCoveredBy = (now: FailingSet, base: FailingSet): boolean => {
  if (now.infra || base.infra || now.label !== base.label || now.step !== base.step) return false
  if (now.tests !== null && base.tests !== null)
    return isSubset(now.tests, base.tests) && isSubset(now.places, base.places) && isSubset(now.beside, base.beside)
  if (now.lines === null || base.lines === null) return false
  const named = now.label !== 'unknown' && now.label !== 'test_failure' && now.label !== 'timeout'
  if (named && now.lines.length > 0 && inside(now.lines, base.lines)) return true
  return now.ended === base.ended && now.lines.length === base.lines.length && inside(now.lines, base.lines)
}

const testWord =
  /(?:^|[-_./:])(?:tests?|specs?|e2e|jest|vitest|mocha|ava|pytest|unittest|rspec|phpunit|ci|verify|check)(?:$|[-_./:])/i

/** Whether the command is a linter, a type check or a build, which have no tests that could pass. */
const countsNone = (command: string, { label }: FailingSet): boolean =>
  (label === 'lint_error' || label === 'compile_error') &&
  !readCommand(command).argvs.some((argv) => argv.some((word) => testWord.test(word)))

/** Whether a failure can be excused as an old one. A suite without a single passing test proves nothing. */
export const isExcusable = (command: string, set: FailingSet): boolean => set.passedSome || countsNone(command, set)

const namedAtMost = 200

/** What fails, by name where possible: for people and for the owner's list of known failures. */
export const failingNames = ({ tests, evidence }: FailingSet): string[] => {
  if (tests === null) return [evidence]
  const more = tests.length - namedAtMost
  return more > 0 ? [...tests.slice(0, namedAtMost), `and ${more} more`] : tests
}
const mostItems = 200
const soundsWrong = /error|fail|fatal|panic|exception|assert|expected|not ok|undefined|cannot|✗|✖|✘|×|●/i

/**
 * What fails, in a form that can be compared between two rounds of one command: the names of tests, else the lines that
 * report a problem, else the evidence line of the failure.
 */
export const failingItems = (set: FailingSet): string[] => {
  if (set.tests !== null) return set.tests.slice(0, mostItems)
  const problems = (set.lines ?? set.beside).filter((line) => soundsWrong.test(line))
  return problems.length === 0 ? [normalised(set.evidence)] : problems.slice(0, mostItems)
}

/** Whether `now` is a strict subset of `before`. */
export const isStrictlyLess = (now: readonly string[], before: readonly string[]): boolean =>
  now.length < before.length && inside(now, before)
