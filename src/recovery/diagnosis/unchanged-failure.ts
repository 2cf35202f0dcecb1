/** A failed check that the work made neither better nor worse. */
import type { ObservedCheck } from '../evidence.ts'
import { isCannotRun } from './check-text.ts'

/**
 * Whether a check that the task does not name fails exactly as on the base commit. The goal may still be to mend it, but an agent
 * that was told once and changed nothing about it does not do so the tenth time.
 */
export const isRedAsBefore = ({ source, baseline }: ObservedCheck): boolean =>
  source !== 'task' && baseline?.isSame === true

/** Labels of a check that got as far as to judge the code. Any other failure may be one of the repository's surroundings. */
const judging = new Set<string>(['test_failure', 'compile_error', 'lint_error'])

/** Whether an unchanged failure can have to do with the work: the check judged the code, or its output names a changed file. */
export const concernsWork = ({ changed, stdout, stderr, failing }: ObservedCheck, label: string): boolean =>
  changed === undefined ||
  judging.has(label) ||
  failing?.areTests === true ||
  changed.some((path) => stdout.includes(path) || stderr.includes(path))

/** Whether this is an inferred command that cannot run on the base commit either, so that there is nothing for an agent to fix. */
export const isNoCheck = ({ source, baseline }: ObservedCheck, evidence: string): boolean =>
  source === 'inferred' && isCannotRun(evidence) && baseline?.label !== undefined
