/**
 * Finds the line of a failed check's output that tells a person why the check failed: the message of the failing test or the
 * compiler, not a stack frame, a summary or a coverage threshold. Pure.
 */
import { isFooter, isWarning } from './diagnosis/output-lines.ts'
import { linesIn } from './failing-set.ts'

const longest = 200

/** Lines that tools print around a cause; among them the commands of a recipe, which make prints before it runs them. */
const noise =
  /^\s*at |^\s*File "|node:internal|node_modules\/|\bcoverage\b|^\s*(?:Tests?|Test Files|Test Suites|Snapshots|Time|Duration|Start at)\b\s*:?\s+\d|^\W*(?:npm|pnpm|yarn)\b.*(?:ERR!|error|warn|ELIFECYCLE)|exit (?:code|status)|^\s*#(?! \w*(?:Error|Exception)\b)|^\s*(?:error: )?'test failed'$|^\s*(?:failureType|exitCode|signal|code|location): |A complete log of this run|^\s*ℹ|\bduration_ms\b|^Node\.js v|^error: script "|make: \*\*\*|\becho ['"]|\|\| *[{(]|; *exit \d|^[-=_⎯─ ]+$|\d+ (?:failed|passed|failing|passing)\b/i

/** From the most specific to the vaguest. */
const telling: readonly RegExp[] = [
  /^\s*(?:# |✖|×|✗|✘|●|>)?\s*(?:Uncaught )?(?:[A-Z][\w.]*)?(?:Error|Exception|Failure|Panic)\b(?: ?\[\w+\])?: \S/,
  /^E\s{2,}\S|panicked at|^panic: |^error(?:\[\w+\])?: |: error(?: \w+)?: /,
  /\b(?:expected|expect)\b.*\b(?:to|but|received|got|equal)\b|\bassert(?:ion)?\b.*\bfailed\b/i,
  // A finding of a linter or the message of a test, with its place.
  /^\s*(?:[\w.@-]*\/)*[\w.@-]+\.\w+:\d+(?::\d+)?:? +\S/,
  /\b(?:cannot|could not|not found|undefined|unknown|invalid|missing|unexpected)\b/i,
  /error|fail|fatal/i,
]

const clean = (line: string): string => {
  const text = line
    .trim()
    .replace(/^# /, '')
    .replace(/^(?:✖|×|✗|✘|●|>|E\s{2,})\s*/, '')
    .replace(/\s+/g, ' ')
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

/** The lines from the first failing test's name on, because they belong to that test. */
const fromTest = (lines: readonly string[], tests: readonly string[]): readonly string[] => {
  const last = tests[0]?.split(/ > | › /).at(-1)
  const at = last === undefined ? -1 : lines.findIndex((line) => line.includes(last))
  return at === -1 ? lines : lines.slice(at)
}

const find = (lines: readonly string[]): string | undefined => {
  const candidates = lines.filter((line) => !noise.test(line))
  for (const pattern of telling) {
    const found = candidates.find((line) => pattern.test(line))
    if (found !== undefined) return clean(found)
  }
  return undefined
}

/** `tests`: names of the failed tests. Returns undefined where the output names no cause. */
export const causeIn = (output: string, tests: readonly string[] = []): string | undefined => {
  const lines = linesIn(output)
  return find(fromTest(lines, tests).filter((line) => !tests.includes(line.trim()))) ?? find(lines)
}

/**
 * The line in which a command that is no check, such as an install, says why it failed: its first error, because what follows is advice and
 * where its log lies.
 * Empty if it printed nothing.
 */
export const commandCause = (lines: readonly string[]): string => {
  const telling = lines.filter((line) => line.trim() !== '' && !isFooter(line) && !isWarning(line))
  return (
    telling.find((line) => /^\s*(?:npm (?:error|ERR!)|error|fatal|panic)\b/i.test(line)) ??
    telling.at(-1) ??
    ''
  ).trim()
}
