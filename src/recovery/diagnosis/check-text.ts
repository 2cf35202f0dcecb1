/** How a failed check is told: its command, how it ended, the line that may name the cause, and the result on the base commit. */
import { causeIn } from '../cause.ts'
import type { ObservedCheck } from '../evidence.ts'
import { isFooter, isWarning, stripColours } from './output-lines.ts'

const frame = /^\s*at .*:\d+:\d+\)?$|^\s*File ".*", line \d+|^Node\.js v\d/

/**
 * The last line of stderr (or of stdout, if stderr is empty) that may name the cause, without colours: not a stack frame, nor a
 * line that only says that the command failed. The run's log has the whole output.
 */
export const lastLine = (check: ObservedCheck): string => {
  const text = check.stderr.trim() === '' ? check.stdout : check.stderr
  const lines = stripColours(text)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  const last = lines.findLast((line) => !frame.test(line) && !isFooter(line) && !isWarning(line)) ?? lines.at(-1)
  return (last ?? '').slice(0, 300)
}

/** The line that names the cause where the output has one; a tool may end with a banner. */
export const tellingLine = (check: ObservedCheck): string => {
  const tests = check.failing?.areTests === true ? check.failing.items : []
  return causeIn([check.stdout, check.stderr].join('\n'), tests) ?? lastLine(check)
}

/** Of what the agent wrote where git ignores it. */
export const unkeptText = (paths: readonly string[]): string =>
  `the agent wrote ${paths.slice(0, 5).join(', ')}, but git ignores it, so it is not part of the work`

export const statusText = (check: ObservedCheck): string =>
  check.signal === null ? `exit ${check.exitCode}` : `signal ${check.signal}`

/** The result of the same command on the base commit, for the person who reads the evidence. */
export const compared = ({ baseline }: ObservedCheck, line?: string): string =>
  baseline === undefined
    ? ''
    : `; ${baseline.detail.replace(` (${line ?? ''})`, ', for the same reason').replace(` (${baseline.label ?? ''}: ${line ?? ''})`, ', for the same reason')}`

/** The prefix of evidence that no check was possible, which is not a failure of a check. */
export const cannotRun = (text: string): string => `cannot run here: ${text}`

export const isCannotRun = (evidence: string): boolean => evidence.startsWith(cannotRun(''))

export const failureText = (check: ObservedCheck, line: string): string =>
  `${check.command}: ${statusText(check)}${lastLine(check) === '' ? '' : `, ${line}`}${compared(check, line)}`
