/** What the checks of a run came to, in words. Pure. */
import type { ChecksView, Run } from '../../src/api/contract.ts'

export type VerdictCheck = NonNullable<Run['verdict']>['checks'][number]

export const toneOfCheck = ({ excused, exitCode, timedOut, ranNothing }: VerdictCheck): 'good' | 'warn' | 'bad' => {
  if (excused !== undefined) return 'warn'
  return exitCode === 0 && !timedOut && ranNothing === undefined ? 'good' : 'bad'
}

export const endOfCheck = ({ exitCode, signal, timedOut, excused, ranNothing }: VerdictCheck): string => {
  if (excused !== undefined) return excused.because === 'flaky' ? 'flaky' : 'still failing, as before the work'
  if (ranNothing !== undefined) return 'ran no test'
  if (timedOut) return 'timed out'
  if (exitCode === 0) return 'passed'
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit ${exitCode}`
}

/**
 * The output of the check at this index. A verdict names its checks as they are written, and the output as they were started, so both are
 * compared by their words; a check that ran again has its newest output.
 */
export const outputOfCheck = (
  outputs: ChecksView,
  checks: readonly Pick<VerdictCheck, 'command'>[],
  index: number,
): ChecksView[number] | undefined => {
  const plain = (command: string): string => command.replaceAll(/["']/g, '').replaceAll(/\s+/g, ' ').trim()
  const command = plain(checks[index]?.command ?? '')
  const earlier = checks.slice(0, index).filter((check) => plain(check.command) === command).length
  const own = outputs.filter((output) => plain(output.command) === command)
  const equal = checks.filter((check) => plain(check.command) === command).length
  return equal > 1 ? own[earlier] : own.at(-1)
}
