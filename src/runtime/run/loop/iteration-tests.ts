/** The checks of an iteration, which run in a clean clone before the tester's turn, and what the tester gets to read of them. */
import type { IterationTests, LoopState } from '../../../domain/loop.ts'
import { isEvidence, type CheckResult, type Run, type Verdict } from '../../../domain/run.ts'
import { diagnose } from '../../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../../recovery/evidence.ts'
import { isInfra } from '../../../recovery/diagnosis/labels.ts'
import { fingerprint } from '../../../recovery/signature.ts'
import { weakeningText } from '../../../recovery/weakened.ts'
import type { Diagnosis } from '../../../recovery/types.ts'
import { appendEvent } from '../../../store/event.ts'
import { writeOwnReport } from '../../agent/turn-reports.ts'
import type { RunContext } from '../../core/run-context.ts'
import type { PhaseResult } from '../phase.ts'
import { startTurn } from './start-turn.ts'

/** The checks that run now are those of an iteration: a failure is for the tester, and starts no agent of its own. */
export const isIterationTest = ({ loop }: Pick<Run, 'loop'>): boolean =>
  loop?.stage === 'tests' || loop?.stage === 'recovery'

const mostOutput = 200_000

/** Head and tail: the first error and the summary are both needed. */
const bounded = (text: string): string =>
  text.length <= mostOutput
    ? text
    : `${text.slice(0, mostOutput / 2)}\n[${text.length - mostOutput} characters left out]\n${text.slice(-mostOutput / 2)}`

const outputOf = ({ context }: RunContext, { command, stdout, stderr }: ObservedCheck): string =>
  context.ports.processes.redactText(
    bounded([stdout, stderr].filter((text) => text.trim() !== '').join('\n') || `${command} printed nothing`),
    context.environment,
  )

/** Nothing is known about a failure that left no output and names no cause: two of them need not be the same. */
const signatureOfFailure = (failed: ObservedCheck, { failureCode, label, evidence }: Diagnosis): string => {
  const isSilent = `${failed.stdout}${failed.stderr}`.trim() === ''
  const isNamed = failed.timedOut || failed.spawnError !== undefined || failed.unsupported !== undefined
  if (isSilent && !isNamed) return ''
  const { items = [] } = failed.failing ?? {}
  return fingerprint({ failureCode, label, tool: failed.command, failing: items, cause: evidence })
}

const failedText = ({ command }: ObservedCheck, { evidence }: Diagnosis): string =>
  `failed: ${command} (${evidence.slice(0, 600)})`

const passedText = (results: readonly CheckResult[]): string =>
  results.length === 0 ? 'no check ran' : `passed: ${results.map(({ command }) => command).join(', ')}`

export interface TestedIteration {
  tree: string
  results: readonly CheckResult[]
  verdict: Verdict
  failed?: ObservedCheck
}

interface FailedCheck {
  failed: ObservedCheck
  diagnosis: Diagnosis
}

const failureOf = ({ failed }: TestedIteration): FailedCheck | undefined =>
  failed === undefined ? undefined : { failed, diagnosis: diagnose({ kind: 'check', check: failed }) }

const testsOf = ({ tree, results }: TestedIteration, failure: FailedCheck | undefined): IterationTests => {
  if (failure === undefined)
    return { state: results.some(isEvidence) ? 'passed' : 'none', tree, text: passedText(results), signature: '' }
  const { failed, diagnosis } = failure
  return {
    ...{ state: 'failed', tree, text: failedText(failed, diagnosis), signature: signatureOfFailure(failed, diagnosis) },
    ...(isInfra(diagnosis.label) ? { infra: true } : {}),
  }
}

const failureFacts = ({ failed, diagnosis }: FailedCheck) => ({
  ...{ command: failed.command, exitCode: failed.exitCode, timedOut: failed.timedOut },
  ...{ label: diagnosis.label, category: diagnosis.category, evidence: diagnosis.evidence },
  failing: failed.failing?.items ?? [],
})

const resultsText = (
  runContext: RunContext,
  tests: IterationTests,
  { results, verdict }: TestedIteration,
  failure: FailedCheck | undefined,
): string => {
  const text = JSON.stringify(
    {
      iteration: runContext.run.loop?.iteration,
      ...{ state: tests.state, tree: tests.tree, text: tests.text, checks: results },
      ...(failure === undefined ? {} : { failed: failureFacts(failure) }),
      dropped: verdict.dropped,
      weakened: (verdict.weakened ?? []).map(weakeningText),
    },
    null,
    2,
  )
  return runContext.context.ports.processes.redactText(`${text}\n`, runContext.context.environment)
}

/** The checks as they ran for the tester stay the result of the iteration; a recovery that helped counts from the next one on. */
const afterRecovery = (before: IterationTests, after: IterationTests): IterationTests =>
  after.state === 'failed'
    ? { ...before, signature: after.signature }
    : {
        ...{ ...before, signature: '' },
        text: `${before.text}. Then a recovery repaired the environment: the checks pass now, which counts in the next iteration`,
      }

/** What the tester proposed is decided. The reviewer's turn follows, as in every iteration. */
const recoveredIteration = (
  runContext: RunContext,
  { tests, ...loop }: LoopState,
  given: TestedIteration,
): Promise<PhaseResult> => {
  const failure = failureOf(given)
  const after = testsOf(given, failure)
  const now = tests === null ? after : afterRecovery(tests, after)
  if (after.state !== 'failed')
    writeOwnReport(
      runContext,
      'test-results.json',
      resultsText(runContext, { ...after, ...now, state: 'failed' }, given, failure),
    )
  return startTurn(runContext, { ...loop, role: 'reviewer', before: given.tree, tests: now })
}

/** Stores the result and hands it to the tester. */
export const testedIteration = async (runContext: RunContext, given: TestedIteration): Promise<PhaseResult> => {
  const { run } = runContext
  if (run.loop === null) throw new Error('only a loop has checks of an iteration')
  if (run.loop.stage === 'recovery') return recoveredIteration(runContext, run.loop, given)
  const failure = failureOf(given)
  const tests = testsOf(given, failure)
  writeOwnReport(runContext, 'test-results.json', resultsText(runContext, tests, given, failure))
  writeOwnReport(
    runContext,
    'test-output.txt',
    given.failed === undefined ? `${tests.text}\n` : outputOf(runContext, given.failed),
  )
  const { iteration } = run.loop
  return startTurn(runContext, { ...run.loop, role: 'tester', before: given.tree, tests }, (tx) =>
    appendEvent(tx, {
      type: 'loop.tests_finished',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { iteration, state: tests.state, text: tests.text, signature: tests.signature },
    }),
  )
}
