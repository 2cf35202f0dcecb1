/** Which checks failed before a goal's work and still fail, and which of those its owner accepts. Pure. */
import type { MergeEntry } from './merge.ts'
import { preexistingFailures, type CheckResult, type Run, type PreexistingFailure } from './run.ts'

/**
 * The last verdict on each command decides, so the verdicts come in the order in which their work landed: a later task may
 * have fixed what an earlier one left failing.
 */
const redOf = (verdicts: readonly { checks: readonly CheckResult[] }[]): PreexistingFailure[] => {
  const last = new Map<string, PreexistingFailure | undefined>()
  for (const { checks } of verdicts) {
    const red = new Map(preexistingFailures(checks).map((entry) => [entry.command, entry]))
    for (const { command } of checks) last.set(command, red.get(command))
  }
  return [...last.values()].filter((entry) => entry !== undefined)
}

/** Checks that still fail after the work of a goal. Runs and merge entries may come in any order. */
export const preexistingFailuresOfGoal = (
  runs: readonly Pick<Run, 'id' | 'state' | 'verdict' | 'endedAt'>[],
  merges: readonly Pick<MergeEntry, 'runId' | 'state' | 'changedAt'>[],
): PreexistingFailure[] => {
  const entries = new Map(merges.map((entry) => [entry.runId, entry]))
  const landed = runs.flatMap(({ id, state, verdict, endedAt }) => {
    const entry = entries.get(id)
    const isLost = entry?.state === 'failed' || entry?.state === 'cancelled'
    if (state !== 'success' || verdict === null || isLost) return []
    return [{ verdict, at: (entry?.changedAt ?? endedAt)?.getTime() ?? 0 }]
  })
  return redOf(landed.sort((one, other) => one.at - other.at).map(({ verdict }) => verdict))
}

/** `*` matches any characters. Not a regular expression: test names come from agents, and a hostile one could take forever. */
const matches = (pattern: string, text: string): boolean => {
  const [first = '', ...rest] = pattern.split('*')
  const end = rest.pop()
  if (end === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.length - end.length >= at && text.endsWith(end)
}

/** The failing tests that `known` (patterns for tests or commands) does not accept. */
export const unacceptedFailures = (
  red: readonly PreexistingFailure[],
  known: readonly string[],
): PreexistingFailure[] => {
  const isKnown = (text: string): boolean => known.some((pattern) => matches(pattern, text))
  return red.flatMap(({ command, failing }) => {
    const left = isKnown(command) ? [] : failing.filter((name) => !isKnown(name))
    return left.length === 0 ? [] : [{ command, failing: left }]
  })
}

/** Which of the failures in `asked` still fail now. */
export const remainingFailures = (
  asked: readonly PreexistingFailure[],
  now: readonly PreexistingFailure[],
): PreexistingFailure[] =>
  asked.flatMap(({ command, failing }) => {
    const left = now.find((entry) => entry.command === command)?.failing ?? []
    const same = failing.filter((name) => left.includes(name))
    return same.length === 0 ? [] : [{ command, failing: same }]
  })

const namedAtMost = 10

/** `npm test (parses nested text; …)`. */
export const failuresText = (red: readonly PreexistingFailure[]): string =>
  red
    .map(({ command, failing }) => {
      const more = failing.length - namedAtMost
      const names = failing.slice(0, namedAtMost).map((name) => name.slice(0, 200))
      return `${command} (${[...names, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')})`
    })
    .join(', ')
