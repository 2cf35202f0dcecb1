/** What a diagnosis of a check says besides its cause: the feedback for the agent, and what a person reads. */
import type { CheckFacts, Finding } from '../types.ts'
import { causeIn } from '../cause.ts'
import type { ObservedCheck } from '../evidence.ts'
import { feedbackOn } from '../feedback.ts'
import { failsOnBaseToo, unkeptIn } from './alike-on-base.ts'
import { isCannotRun } from './check-text.ts'
import { labels } from './labels.ts'
import { outputLines } from './output-lines.ts'
import { testCauseOf } from './test-cause.ts'
import { defined } from '../../domain/defined.ts'

// A failed check that the work made neither better nor worse.

/**
 * Whether a check that the task does not name fails exactly as on the base commit. The goal may still be to mend it, but an agent
 * that was told once and changed nothing about it does not do so the tenth time.
 */
const isRedAsBefore = ({ source, baseline }: ObservedCheck): boolean => source !== 'task' && baseline?.isSame === true

/** Labels of a check that got as far as to judge the code. Any other failure may be one of the repository's surroundings. */
const judging = new Set<string>(['test_failure', 'compile_error', 'lint_error'])

/**
 * Whether an unchanged failure can have to do with the work: the check judged the code, names a file of the agent or no cause at all, or
 * the task asks for what it lacks.
 */
const concernsWork = (check: ObservedCheck, label: string): boolean => {
  const { asked, changed, stdout, stderr, failing } = check
  return (
    changed === undefined ||
    asked === true ||
    unkeptIn(check).length > 0 ||
    (label === 'check_failed' && causeIn(`${stdout}\n${stderr}`) === undefined) ||
    judging.has(label) ||
    failing?.areTests === true ||
    changed.some((path) => stdout.includes(path) || stderr.includes(path))
  )
}

/** Whether this is an inferred command that cannot run on the base commit either, so that there is nothing for an agent to fix. */
const isNoCheck = ({ source, baseline }: ObservedCheck, evidence: string): boolean =>
  source === 'inferred' && isCannotRun(evidence) && baseline?.label !== undefined

export type CheckDiagnosis = Extract<Finding, { facts: CheckFacts }>

/**
 * Whether the work is to blame: the check judged the code, or it passes on the base commit on the same machine. If a probe
 * found the machine at fault, the work is not to blame.
 */
const isByWork = ({ baseline }: ObservedCheck, { label, facts }: CheckDiagnosis): boolean => {
  if (facts.machine !== undefined) return false
  return label === 'check_failed' || baseline?.state === 'passes' || !labels[label].infra
}

/** Told once, because nothing about it changed. */
const withOneFeedback = (check: ObservedCheck, found: CheckDiagnosis): CheckDiagnosis => ({
  ...found,
  retryable: false,
  facts: { ...found.facts, feedback: feedbackOn(check, found.evidence), unchanged: true },
})

/** Whether the task asks for what is missing here as on the base commit. */
const isAsked = (check: ObservedCheck, { facts }: CheckDiagnosis): boolean =>
  check.asked === true && facts.machine === undefined && failsOnBaseToo(check)

/** Adds the feedback for the agent, if the work is to blame or the task is about it. */
export const withFeedback = (
  check: ObservedCheck,
  found: CheckDiagnosis,
  otherHarness: string | undefined,
): Finding => {
  const isNone = isNoCheck(check, found.evidence)
  if (isNone || !isByWork(check, found)) {
    if (isAsked(check, found)) return withOneFeedback(check, found)
    return isNone ? { ...found, retryable: false } : found
  }
  if (isRedAsBefore(check))
    return concernsWork(check, found.label) ? withOneFeedback(check, found) : { ...found, retryable: false }
  const elsewhere = otherHarness === undefined ? {} : { otherHarness }
  return { ...found, facts: { ...found.facts, feedback: feedbackOn(check, found.evidence), ...elsewhere } }
}

/** Adds what a person reads: the failing tests and the cause. */
export const explained = (check: ObservedCheck, found: Finding): Finding => {
  const tests = check.failing?.areTests === true ? check.failing.items : []
  const lines = [...outputLines(check.stdout, 'stdout'), ...outputLines(check.stderr, 'stderr')]
  // The runner's own report is more reliable than any other line that looks like a cause.
  const reported = tests.length === 0 ? undefined : testCauseOf(lines)
  const cause = reported ?? causeIn([check.stdout, check.stderr].join('\n'), tests)
  const failure = { tests, ...defined({ cause }) }
  const more = {
    ...(tests.length === 0 && cause === undefined ? {} : { failure }),
    ...(check.baseline?.state === 'fails' ? { redOnBase: true } : {}),
    ...(isCannotRun(found.evidence) ? { cannotRun: true } : {}),
    source: check.source,
  }
  return { ...found, facts: { ...found.facts, ...more } } as Finding
}
