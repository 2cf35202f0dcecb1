/**
 * How many calls of an agent brought nothing: neither fewer failing tests nor a failure that was not seen before. One budget for them
 * holds over launches, starts and tasks that continue each other, because the budgets of these multiply otherwise: 3 launches in each
 * of 4 starts are 12 calls for a failure that no call changes. Pure.
 */
import { isStrictlyLess } from './failing-set.ts'

export interface CallResult {
  signature: string
  /** The check that failed after the call, and what failed in it. */
  command?: string
  failing?: readonly string[]
}

/** Since the last progress; `calls` oldest first. */
export const fruitlessCalls = (calls: readonly CallResult[]): number => {
  const best = new Map<string, readonly string[]>()
  const seen = new Set<string>()
  let count = 0
  for (const { signature, command = '', failing } of calls) {
    const before = best.get(command)
    const isCloser = failing !== undefined && before !== undefined && isStrictlyLess(failing, before)
    if (failing !== undefined && (before === undefined || isCloser)) best.set(command, failing)
    if (isCloser) count = 0
    else if (seen.has(signature)) count += 1
    seen.add(signature)
  }
  return count
}

/** What `RecordedRecovery` and the rows of the store have in common here. */
interface Relaunched {
  signature?: string
  rung?: number
  action: { type: string; ask?: unknown; feedback?: { command: string; failing: readonly string[] } | undefined }
}

/** The results of the calls before these restarts. Refusals and faults of the provider are no results: they cost the work nothing. */
export const callsBefore = (recoveries: readonly Relaunched[]): CallResult[] =>
  recoveries.flatMap(({ signature, rung = 0, action: { type, ask, feedback } }) =>
    type !== 'relaunch' || ask !== undefined || signature === undefined || rung < 3
      ? []
      : [{ signature, ...(feedback === undefined ? {} : { command: feedback.command, failing: feedback.failing }) }],
  )
