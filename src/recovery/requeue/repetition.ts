/**
 * Whether a task fails the same way again, or comes closer. Compared are the failing tests where the runner names them, and
 * otherwise the signature, so that 3 failing tests after 47 are progress and not a repetition. Pure.
 */
import { isStrictlyLess } from '../failing-set.ts'

/** A run that failed, as its stored reason describes it. */
export interface FailedRun {
  taskId: string
  epoch: number
  failureCode: string
  signature: string
  /** The check that failed; absent = no check did. */
  command?: string
  /** What fails in it. `areTests`: the items are names of tests. */
  failing?: { items: readonly string[]; areTests: boolean }
}

const isEqualSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((item) => other.includes(item))

const isSameFailure = (one: FailedRun, other: FailedRun): boolean => {
  if (one.failureCode !== other.failureCode || one.command !== other.command) return false
  const [now, before] = [one.failing, other.failing]
  if (now === undefined || before === undefined) return one.signature !== '' && one.signature === other.signature
  if (isEqualSet(now.items, before.items)) return true
  // The lines of other tools differ by noise, so an equal signature counts as well, unless fewer of them fail.
  if (now.areTests || before.areTests || isStrictlyLess(now.items, before.items)) return false
  return one.signature !== '' && one.signature === other.signature
}

/** How many of the newest runs in a row failed the same way; `runs` oldest first. */
export const sameFailures = (runs: readonly FailedRun[]): number => {
  const newest = runs.at(-1)
  if (newest === undefined) return 0
  const different = runs.findLastIndex((run) => !isSameFailure(newest, run))
  return runs.length - 1 - different
}

/**
 * The epoch of the newest run of this task in which fewer tests failed than in any earlier run, also of the tasks that it
 * continues; 0 = none. Only the smallest set so far counts: 47, 3, 47, 3 is one progress, so progress ends.
 */
export const progressEpoch = (runs: readonly FailedRun[], taskId: string): number => {
  const best = new Map<string, readonly string[]>()
  let epoch = 0
  for (const run of runs) {
    if (run.command === undefined || run.failing === undefined) continue
    const before = best.get(run.command)
    const { items } = run.failing
    const isCloser = before !== undefined && isStrictlyLess(items, before)
    if (before === undefined || isCloser) best.set(run.command, items)
    if (isCloser && run.taskId === taskId) epoch = run.epoch
  }
  return epoch
}
