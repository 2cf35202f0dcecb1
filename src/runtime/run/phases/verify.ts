/**
 * Phase `verify`: runs the task's checks on the collected work and records what they prove. A command that cannot run
 * as written may be dropped; a check that runs and fails never is.
 */
import {
  keptVerdict,
  outcomeOf,
  isEvidence,
  preexistingFailures,
  type Verdict,
  type Weakening,
} from '../../../domain/run.ts'
import { isGivenBack } from '../../../domain/task.ts'
import { remainingFailures, failuresText, unacceptedFailures } from '../../../domain/preexisting-failures.ts'
import type { Evidence } from '../../../recovery/evidence.ts'
import { isDocumentation } from '../../../recovery/documentation.ts'
import { isMachineWait } from '../../../recovery/ladder.ts'
import { proofText } from '../../../domain/proof.ts'
import { decides, objectionsTo, provenOutcome } from '../../../recovery/proof/what-holds.ts'
import { scopeOf } from '../../../recovery/playbook.ts'
import { weakeningText } from '../../../recovery/weakened.ts'
import type { Queryable } from '../../../store/db.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { appendEvent } from '../../../store/event.ts'
import { requireLease } from '../../../store/run.ts'
import { carryOut, endUnrecovered, recover } from '../carry-out.ts'
import { checkWork, passedOnBase, passedWithout } from '../check-work.ts'
import { discardCheckWorkspace, makeCheckWorkspace, type CheckWorkspaceProblem } from '../check-workspace.ts'
import { resolveFeedback, resolveKeptTests, resolveRemaining, resolveWeakened } from '../resolve-feedback.ts'
import { considerProposal } from '../decide-proposal.ts'
import { endUnknownOutcome } from '../end-unknown-outcome.ts'
import { dropNeedless, resolveProposed } from '../settle-proposals.ts'
import { endLeftRunning } from '../end-left-running.ts'
import { isIterationTest, testedIteration } from '../loop/iteration-tests.ts'
import { removedFailures } from '../removed-tests.ts'
import { proveWork } from '../prove-work.ts'
import type { PhaseResult, Phase } from '../phase.ts'
import { collectedWork, excludedNotes, isUnchanged, leftOutNotes } from '../../agent/collected.ts'
import { readDenials, openDenials } from '../../agent/denials.ts'
import { missingNotes, readPrepared } from '../../agent/prepared.ts'
import { recordFindings } from '../../checks/check-events.ts'
import { verifyUnchanged } from '../no-change.ts'
import { chooseStoredRecovery, resolveOpenOf } from '../../core/store-record.ts'
import { untriedHarness } from '../../harness/accounts.ts'
import { withRepairFacts } from '../../checks/repair-facts.ts'
import { refuseMarkers } from '../conflict-markers.ts'
import { proveAllLeftOut, proveGenerated } from '../prove-generated.ts'
import { resolveRepairs } from '../repair.ts'
import { lastWorking } from '../../core/held-work.ts'
import { isReleased, saveProgress, type RunContext } from '../../core/run-context.ts'
import { failedCheckMeta } from '../endings.ts'
import { applySuggestion } from '../suggested-command.ts'
import { replacedProgramsIn, weakenedIn } from '../../checks/weakened-tests.ts'
import { cachePassed } from '../../checks/check-cache.ts'
import { trustedContract } from '../../checks/allowed-commands.ts'
import { plannedChecks, type PlannedChecks } from '../../checks/verify-contract.ts'
import type { JudgedReport } from '../../checks/check-runner.ts'
import { followOwn } from '../own-recovery.ts'
import { tryBuild } from '../try-build.ts'
import { leaveOutsideOut } from '../without-outside.ts'
import { defined } from '../../../domain/defined.ts'

/** What the passing checks prove, and the changes of the checks themselves. */
const recordWeakened = async (
  tx: Queryable,
  { run }: RunContext,
  { weakened = [], proof }: Pick<Verdict, 'weakened' | 'proof'>,
): Promise<void> => {
  const of = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  if (weakened.length > 0)
    await appendEvent(tx, { type: 'verify.weakened', ...of, payload: { weakened: weakened.map(weakeningText) } })
  if (proof !== undefined)
    await appendEvent(tx, { type: 'verify.proof', ...of, payload: { ...proof, text: proofText(proof) } })
}

const otherHarnessOf = async ({ context, task, run }: RunContext): Promise<{ otherHarness?: string }> => {
  const otherHarness = await untriedHarness(context, task, run)
  return otherHarness === undefined ? {} : { otherHarness }
}

const failedVerification = async (
  runContext: RunContext,
  report: JudgedReport,
  verdict: Verdict,
): Promise<PhaseResult> => {
  if (report.failed === undefined) throw new Error('failedVerification needs a failed check')
  const needsNone = isDocumentation(verdict.changedPaths) ? { needsNone: true as const } : {}
  const observed = { ...report.failed, changed: verdict.changedPaths }
  const failed = { ...(await withRepairFacts(runContext, observed)), ...needsNone }
  await runContext.context.db.transaction(async (tx) => {
    await recordFindings(tx, runContext.run, report.findings)
    await resolveRepairs(tx, runContext, { results: report.results, failed })
    await resolveProposed(tx, runContext, { results: report.results, failed })
    await resolveFeedback(tx, runContext, { results: report.results, failed })
    await saveProgress(runContext, { verdict: { ...verdict, checks: report.results } }, tx)
  })
  const evidence: Evidence = { kind: 'check', check: failed, ...(await otherHarnessOf(runContext)) }
  const decision = await chooseStoredRecovery(runContext.context, runContext.run, evidence)
  const own = await followOwn(runContext, failed, decision, failedCheckMeta(report))
  if (own !== undefined) return own
  const { diagnosis, step } = decision
  const proposed = await considerProposal(runContext, { failed, diagnosis }, step)
  if (proposed !== undefined) return proposed
  if (step.kind === 'recover' && scopeOf[step.action.type] === 'run') return carryOut(runContext, { diagnosis, step })
  if (isIterationTest(runContext.run))
    return testedIteration(runContext, { tree: runContext.run.tree ?? '', results: report.results, verdict, failed })
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    const detail = `${failed.command} failed as well`
    await resolveRemaining(tx, runContext, { holds: false, detail, unchecked: isMachineWait(step) })
  })
  const denials = await readDenials(runContext)
  if (denials.length === 0) return recover(runContext, evidence, failedCheckMeta(report))
  const denial: Evidence = { kind: 'denial', harness: runContext.driver.name, denials, because: 'verification failed' }
  const cure = await chooseStoredRecovery(runContext.context, runContext.run, denial)
  if (cure.step.kind === 'recover') return carryOut(runContext, { diagnosis: cure.diagnosis, step: cure.step })
  // Nothing can be granted. The agent may find a way without it; otherwise the refusal is the cause.
  if (step.kind === 'recover') return carryOut(runContext, { diagnosis, step })
  return endUnrecovered(runContext, { diagnosis: cure.diagnosis, step: cure.step }, failedCheckMeta(report))
}

/** All checks that were dropped, in this run or in an earlier run of the task. */
const droppedSoFar = ({ task, run }: RunContext): Verdict['dropped'] => {
  const now = run.verdict?.dropped ?? []
  const earlier = task.originalCommands.filter(
    (command) => !task.commands.includes(command) && !now.some((entry) => entry.command === command),
  )
  return [...earlier.map((command) => ({ command, reason: 'dropped in an earlier run of the task' })), ...now]
}

/** What the checks run on, and which ones. */
interface Work {
  found: ChangeList
  planned: PlannedChecks
  verdict: Verdict
}

const workOf = async (runContext: RunContext): Promise<Work> => {
  const found = await collectedWork(runContext)
  const changedPaths = found.changes.map((change) => change.path)
  const kept = { ...keptVerdict(runContext.run.verdict), dropped: droppedSoFar(runContext) }
  const planned = plannedChecks(runContext.task, await trustedContract(runContext), changedPaths, kept)
  const givenBack = isGivenBack(runContext.task) ? { givenBack: true as const } : {}
  return { found, planned, verdict: { ...kept, changedPaths, ...givenBack } }
}

const nothingRan =
  'no verification command is left or could be inferred; add "commands" to the task or to .unstuck/verify.contract.json, or verify.commands to .unstuck/config.json'

/** A check that passes because its failing tests were removed proves nothing. */
const refuseRemoved = async (
  runContext: RunContext,
  { found, planned, verdict }: Work,
  report: JudgedReport,
): Promise<PhaseResult | undefined> => {
  const removed = await removedFailures(runContext, verdict.weakened ?? [], {
    onBase: () => passedOnBase(runContext, planned, report),
    withTests: (paths) => passedWithout(runContext, { planned, found, paths }, report),
  })
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveKeptTests(tx, runContext, removed)
  })
  if (removed.length === 0) return undefined
  return recover(runContext, { kind: 'testsRemoved', tests: removed }, { source: 'verification' })
}

/**
 * Reports to the agent once which checks it weakened; what remains is for a person, together with the finished work.
 */
const reportWeakened = async (runContext: RunContext, { verdict }: Work): Promise<PhaseResult | undefined> => {
  const { context, run, task } = runContext
  const left = objectionsTo(task, verdict)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveWeakened(tx, runContext, left)
  })
  if (left.length === 0) return undefined
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    kind: 'weakened',
    weakened: left,
  })
  if (step.kind !== 'recover') return undefined
  await context.db.transaction((tx) => recordWeakened(tx, runContext, verdict))
  return carryOut(runContext, { diagnosis, step })
}

/** Reports to the agent once which tests failed before its work and still fail, unless the owner accepted them. */
const reportStillRed = async (runContext: RunContext, { results }: JudgedReport): Promise<PhaseResult | undefined> => {
  const { context, run } = runContext
  const red = unacceptedFailures(preexistingFailures(results), context.config().verify.knownFailures)
  if (red.length === 0) return undefined
  const { diagnosis, step } = await chooseStoredRecovery(context, run, { kind: 'redBefore', red })
  return step.kind === 'recover' ? carryOut(runContext, { diagnosis, step }) : undefined
}

/** Resolves the recoveries that wait for tests which failed before the work. */
const resolveStillRed = (tx: Queryable, { task }: RunContext, { results }: JudgedReport): Promise<void> =>
  resolveOpenOf(tx, task.id, (condition) => {
    if (condition.type !== 'tests_pass') return undefined
    const now = remainingFailures(condition.red, preexistingFailures(results))
    return now.length === 0
      ? { satisfied: true, detail: 'they pass now' }
      : { satisfied: false, detail: `still failing: ${failuresText(now)}` }
  })

/** Every check passed: stores the verdict with everything that was found on the way. */
const passedVerification = async (
  runContext: RunContext,
  { found, verdict }: Work,
  report: JudgedReport,
): Promise<PhaseResult> => {
  const { context } = runContext
  const leftAs = lastWorking(runContext.run)?.leftAs
  const notes = [
    ...(await openDenials(runContext)).map((denial) => denial.text),
    ...(leftAs === undefined ? [] : [`the agent did not end its turn (${leftAs}); what it left was checked`]),
    ...missingNotes(readPrepared(runContext)),
    ...leftOutNotes(found),
    ...excludedNotes(verdict.excluded ?? []),
  ]
  const { installed: installs = [] } = verdict
  // For work in place the results are not reused: other files of the folder took part.
  if (runContext.goal.repoMode !== 'direct')
    await cachePassed(context.ports, { ...context, commit: found.tree, installs }, report.results)
  const outcome = provenOutcome(outcomeOf(report.results, true), verdict.proof)
  const passed = report.results.filter(isEvidence).length
  await dropNeedless(runContext)
  await context.db.transaction(async (tx) => {
    await recordFindings(tx, runContext.run, report.findings)
    await resolveRepairs(tx, runContext, report)
    await resolveProposed(tx, runContext, report)
    await resolveStillRed(tx, runContext, report)
    await resolveFeedback(tx, runContext, report)
    const nothing = outcome === 'nothing to verify'
    const detail = nothing ? 'nothing is left to verify' : `${passed} remaining check(s) ran and passed`
    await resolveRemaining(tx, runContext, { holds: nothing || passed > 0, detail })
    await recordWeakened(tx, runContext, verdict)
    const whole = { ...verdict, outcome, checks: report.results, notes, tree: found.tree }
    await saveProgress(runContext, { phase: 'policy', verdict: whole }, tx)
  })
  context.at('verified')
  return 'on'
}

/** The checks of an iteration passed. Weakened tests are for the tester and the reviewer here; the last verification decides about them. */
const passedIteration = async (
  runContext: RunContext,
  { found, verdict }: Work,
  report: JudgedReport,
): Promise<PhaseResult> => {
  await dropNeedless(runContext)
  await runContext.context.db.transaction(async (tx) => {
    await recordFindings(tx, runContext.run, report.findings)
    await resolveRepairs(tx, runContext, report)
    await resolveProposed(tx, runContext, report)
    await saveProgress(runContext, { verdict: { ...verdict, checks: report.results } }, tx)
  })
  return testedIteration(runContext, { tree: found.tree, results: report.results, verdict })
}

const withoutRepeats = (weakened: readonly Weakening[]): Weakening[] => [
  ...new Map(weakened.map((each) => [weakeningText(each), each])).values(),
]

const verifyChanged = async (runContext: RunContext, { found, planned, verdict }: Work): Promise<PhaseResult> => {
  const marked = await refuseMarkers(runContext, found)
  if (marked !== undefined) return marked
  // Dropped checks are inspected too: the work may be the reason why they could not run.
  const commands = [...new Set([...planned.commands, ...verdict.dropped.map(({ command }) => command)])]
  const weakened = await weakenedIn(runContext, found, commands)
  // Inspected before the checks, because a check could hide the traces, and after them, because a check may install
  // programs.
  const laid = await replacedProgramsIn(runContext, found, commands)
  const report = await checkWork(runContext, planned)
  laid.push(...(await replacedProgramsIn(runContext, found, commands)))
  if (isReleased(runContext)) return 'ended'
  const excluded = await proveGenerated(runContext, verdict.excluded ?? [], report)
  if (excluded === undefined) return 'on'
  const work: Work = {
    ...{ found, planned },
    verdict: {
      ...{ ...verdict, weakened: withoutRepeats([...weakened, ...laid]) },
      ...(excluded.length === 0 ? {} : { excluded }),
    },
  }
  if (report.failed !== undefined)
    return (
      (await leaveOutsideOut(runContext, found, { planned, report })) ??
      failedVerification(runContext, await tryBuild(runContext, planned, report), work.verdict)
    )
  if (isIterationTest(runContext.run)) return passedIteration(runContext, work, report)
  if (report.results.length === 0 && !isDocumentation(verdict.changedPaths))
    return recover(runContext, { kind: 'unverified', reason: nothingRan }, { source: 'verification' })
  const proof = report.results.length === 0 ? undefined : await proveWork(runContext, found, report)
  if (isReleased(runContext)) return 'ended'
  const proven: Work = { ...work, verdict: { ...work.verdict, ...defined({ proof }) } }
  return (
    (decides(proof) ? undefined : await refuseRemoved(runContext, proven, report)) ??
    (await reportWeakened(runContext, proven)) ??
    (await reportStillRed(runContext, report)) ??
    passedVerification(runContext, proven, report)
  )
}

/** The clone for the checks could not be made: the owner's files are missing, or the set-up fails with this work. */
const withoutClone = (
  runContext: RunContext,
  { verdict }: Work,
  notReady: CheckWorkspaceProblem,
): Promise<PhaseResult> => {
  if (notReady.kind === 'unknown') return endUnknownOutcome(runContext, notReady)
  return notReady.kind === 'copy'
    ? recover(runContext, notReady, { source: 'engine' })
    : failedVerification(runContext, { results: [], findings: [], failed: notReady.check }, verdict)
}

const verifyClean = async (runContext: RunContext): Promise<PhaseResult> => {
  const { found, planned: asked } = await workOf(runContext)
  // Without a check no clone is needed.
  const count = asked.commands.length
  const notReady = count === 0 ? undefined : await makeCheckWorkspace(runContext, found, count)
  if (isReleased(runContext)) return 'ended'
  // Read again: a failed install was removed from the verdict.
  const work = await workOf(runContext)
  if (notReady !== undefined) return withoutClone(runContext, work, notReady)
  if (!isUnchanged(work.found) || isIterationTest(runContext.run)) return verifyChanged(runContext, work)
  const unproven = await proveAllLeftOut(runContext, work)
  if (unproven !== undefined) return unproven
  const { planned, verdict } = work
  return verifyUnchanged(runContext, {
    planned,
    dropped: verdict.dropped,
    check: (list) => checkWork(runContext, list),
  })
}

/** Ends processes that could disturb the checks, then verifies the work in a clean clone that is removed afterwards. */
export const verify: Phase = async (runContext) => {
  await runContext.context.ports.processes.sweep(`${runContext.run.id}-check`)
  const left = await endLeftRunning(runContext)
  if (left !== undefined) return recover(runContext, left, { source: 'engine' })
  await applySuggestion(runContext)
  try {
    return await verifyClean(runContext)
  } finally {
    await discardCheckWorkspace(runContext)
  }
}
