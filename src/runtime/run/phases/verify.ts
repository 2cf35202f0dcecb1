/**
 * Phase `verify`: runs the task's checks on the collected work and records what they prove. A command that cannot run
 * as written may be dropped; a check that runs and fails never is.
 */
import { keptVerdict, outcomeOf, proves, stillRed, type Verdict, type Weakening } from '../../../domain/run.ts'
import { redIn, redText, unknownRed } from '../../../domain/still-red.ts'
import type { Evidence } from '../../../recovery/evidence.ts'
import { isDocumentation } from '../../../recovery/documentation.ts'
import { unnamed } from '../../../recovery/named-by-task.ts'
import { scopeOf } from '../../../recovery/playbook.ts'
import { weakeningText } from '../../../recovery/weakened.ts'
import type { Queryable } from '../../../store/db.ts'
import type { ChangeList } from '../../../workspace/contract.ts'
import { appendEvent } from '../../../store/event.ts'
import { holdLease } from '../../../store/run.ts'
import { carryOut, endWithout, recover } from '../carry-out.ts'
import { checkWork, passedOnBase, passedWithout } from '../check-work.ts'
import { discard, layOut, type NotReady } from '../clean-checks.ts'
import { settleFeedback, settleTests, settleWeakened } from '../feedback.ts'
import { leftRunning } from '../left-running.ts'
import { removedFailures } from '../removed-tests.ts'
import type { Next, Phase } from '../phase.ts'
import { collectedWork, isUnchanged, leftOutNotes } from '../../agent/collected.ts'
import { readDenials, standingDenials } from '../../agent/denials.ts'
import { missingNotes, readPrepared } from '../../agent/prepared.ts'
import { tellFindings } from '../../checks/findings.ts'
import { verifyUnchanged } from '../no-change.ts'
import { decide, settleOpen } from '../../core/store-record.ts'
import { untriedHarness } from '../../harness/accounts.ts'
import { withFacts } from '../../checks/repair-facts.ts'
import { settleRepairs } from '../repair.ts'
import { letGo, save, type Session } from '../../core/session.ts'
import type { errorMetaOf } from '../endings.ts'
import { takeSuggestion } from '../suggested-command.ts'
import { programsLaid, weakenedIn } from '../../checks/weakened-tests.ts'
import { keepPassed } from '../../checks/kept-checks.ts'
import { trustedContract } from '../../checks/own-commands.ts'
import { plannedChecks, type PlannedChecks } from '../../checks/verify-contract.ts'
import type { HonestReport } from '../../checks/honest-checks.ts'

const failedCheckMeta = (report: HonestReport): Parameters<typeof errorMetaOf>[1] => ({
  source: 'verification',
  failedCommand: report.failed?.command ?? '',
  failedCommandSource: report.failed?.source ?? '',
  failedCommandStderr: (report.failed?.stderr ?? '').slice(-2_000),
})

const recordWeakened = async (tx: Queryable, { run }: Session, weakened: readonly Weakening[]): Promise<void> => {
  if (weakened.length === 0) return
  await appendEvent(tx, {
    type: 'verify.weakened',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { weakened: weakened.map(weakeningText) },
  })
}

/** Resolves the recoveries whose post-condition is that the remaining checks pass. */
const resolveRemaining = (tx: Queryable, { task }: Session, holds: boolean, detail: string): Promise<void> =>
  settleOpen(tx, task.id, ({ type }) => (type === 'remaining_checks_pass' ? { holds, detail } : undefined))

const otherHarnessOf = async ({ context, task, run }: Session): Promise<{ otherHarness?: string }> => {
  const otherHarness = await untriedHarness(context, task, run)
  return otherHarness === undefined ? {} : { otherHarness }
}

const failedVerification = async (session: Session, report: HonestReport, verdict: Verdict): Promise<Next> => {
  if (report.failed === undefined) throw new Error('failedVerification needs a failed check')
  const needsNone = isDocumentation(verdict.changedPaths) ? { needsNone: true as const } : {}
  const failed = { ...(await withFacts(session, report.failed)), ...needsNone }
  await session.context.db.transaction(async (tx) => {
    await tellFindings(tx, session.run, report.findings)
    await settleRepairs(tx, session, { results: report.results, failed })
    await settleFeedback(tx, session, { results: report.results, failed })
    await save(session, { verdict: { ...verdict, checks: report.results } }, tx)
  })
  const evidence: Evidence = { kind: 'check', check: failed, ...(await otherHarnessOf(session)) }
  const { diagnosis, step } = await decide(session.context, session.run, evidence)
  if (step.kind === 'recover' && scopeOf[step.action.type] === 'run') return carryOut(session, { diagnosis, step })
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await resolveRemaining(tx, session, false, `${failed.command} failed as well`)
  })
  const denials = await readDenials(session)
  if (denials.length === 0) return recover(session, evidence, failedCheckMeta(report))
  const denial: Evidence = { kind: 'denial', harness: session.driver.name, denials, because: 'verification failed' }
  const cure = await decide(session.context, session.run, denial)
  if (cure.step.kind === 'recover') return carryOut(session, { diagnosis: cure.diagnosis, step: cure.step })
  // Nothing can be granted. The agent may find a way without it; otherwise the refusal is the cause.
  if (step.kind === 'recover') return carryOut(session, { diagnosis, step })
  return endWithout(session, { diagnosis: cure.diagnosis, step: cure.step }, failedCheckMeta(report))
}

/** All checks that were dropped, in this run or in an earlier run of the task. */
const droppedSoFar = ({ task, run }: Session): Verdict['dropped'] => {
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

const workOf = async (session: Session): Promise<Work> => {
  const found = await collectedWork(session)
  const changedPaths = found.changes.map((change) => change.path)
  const kept = { ...keptVerdict(session.run.verdict), dropped: droppedSoFar(session) }
  const planned = plannedChecks(session.task, await trustedContract(session), changedPaths, kept)
  return { found, planned, verdict: { ...kept, changedPaths } }
}

const nothingRan =
  'no verification command is left or could be inferred; add "commands" to the task or to .unstuck/verify.contract.json, or verify.commands to .unstuck/config.json'

/** A check that passes because its failing tests were removed proves nothing. */
const refuseRemoved = async (
  session: Session,
  { found, planned, verdict }: Work,
  report: HonestReport,
): Promise<Next | undefined> => {
  const removed = await removedFailures(session, verdict.weakened ?? [], {
    onBase: () => passedOnBase(session, planned, report),
    withTests: (paths) => passedWithout(session, { planned, found, paths }, report),
  })
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleTests(tx, session, removed)
  })
  if (removed.length === 0) return undefined
  return recover(session, { kind: 'testsRemoved', tests: removed }, { source: 'verification' })
}

/**
 * Reports to the agent once which checks it weakened; what remains is for a person, together with the finished work.
 */
const reportWeakened = async (session: Session, { verdict }: Work): Promise<Next | undefined> => {
  const { context, run, task } = session
  const left = unnamed(task, verdict.weakened ?? [])
  await context.db.transaction(async (tx) => {
    await holdLease(tx, run)
    await settleWeakened(tx, session, left)
  })
  if (left.length === 0) return undefined
  const { diagnosis, step } = await decide(context, run, { kind: 'weakened', weakened: left.map(weakeningText) })
  if (step.kind !== 'recover') return undefined
  await context.db.transaction((tx) => recordWeakened(tx, session, left))
  return carryOut(session, { diagnosis, step })
}

/** Reports to the agent once which tests failed before its work and still fail, unless the owner accepted them. */
const reportStillRed = async (session: Session, { results }: HonestReport): Promise<Next | undefined> => {
  const { context, run } = session
  const red = unknownRed(stillRed(results), context.config().verify.knownFailures)
  if (red.length === 0) return undefined
  const { diagnosis, step } = await decide(context, run, { kind: 'redBefore', red })
  return step.kind === 'recover' ? carryOut(session, { diagnosis, step }) : undefined
}

/** Resolves the recoveries that wait for tests which failed before the work. */
const resolveStillRed = (tx: Queryable, { task }: Session, { results }: HonestReport): Promise<void> =>
  settleOpen(tx, task.id, (condition) => {
    if (condition.type !== 'tests_pass') return undefined
    const now = redIn(condition.red, stillRed(results))
    return now.length === 0
      ? { holds: true, detail: 'they pass now' }
      : { holds: false, detail: `still failing: ${redText(now)}` }
  })

/** Every check passed: stores the verdict with everything that was found on the way. */
const passedVerification = async (session: Session, { found, verdict }: Work, report: HonestReport): Promise<Next> => {
  const { context } = session
  const notes = [
    ...(await standingDenials(session)).map((denial) => denial.text),
    ...missingNotes(readPrepared(session)),
    ...leftOutNotes(found),
  ]
  const { installed: installs = [] } = verdict
  // For work in place the results are not reused: other files of the folder took part.
  if (session.goal.repoMode !== 'direct')
    await keepPassed(context.ports, { ...context, commit: found.tree, installs }, report.results)
  const outcome = outcomeOf(report.results, true)
  const passed = report.results.filter(proves).length
  await context.db.transaction(async (tx) => {
    await tellFindings(tx, session.run, report.findings)
    await settleRepairs(tx, session, report)
    await resolveStillRed(tx, session, report)
    await settleFeedback(tx, session, report)
    const nothing = outcome === 'nothing to verify'
    const detail = nothing ? 'nothing is left to verify' : `${passed} remaining check(s) ran and passed`
    await resolveRemaining(tx, session, nothing || passed > 0, detail)
    await recordWeakened(tx, session, verdict.weakened ?? [])
    const whole = { ...verdict, outcome, checks: report.results, notes, tree: found.tree }
    await save(session, { phase: 'policy', verdict: whole }, tx)
  })
  context.at('verified')
  return 'on'
}

const withoutRepeats = (weakened: readonly Weakening[]): Weakening[] => [
  ...new Map(weakened.map((each) => [weakeningText(each), each])).values(),
]

const verifyChanged = async (session: Session, { found, planned, verdict }: Work): Promise<Next> => {
  // Dropped checks are inspected too: the work may be the reason why they could not run.
  const commands = [...new Set([...planned.commands, ...verdict.dropped.map(({ command }) => command)])]
  const weakened = await weakenedIn(session, found, commands)
  // Inspected before the checks, because a check could hide the traces, and after them, because a check may install
  // programs.
  const laid = await programsLaid(session, found, commands)
  const report = await checkWork(session, planned)
  laid.push(...(await programsLaid(session, found, commands)))
  const work: Work = { found, planned, verdict: { ...verdict, weakened: withoutRepeats([...weakened, ...laid]) } }
  if (letGo(session)) return 'ended'
  if (report.failed !== undefined) return failedVerification(session, report, work.verdict)
  if (report.results.length === 0 && !isDocumentation(verdict.changedPaths))
    return recover(session, { kind: 'unverified', reason: nothingRan }, { source: 'verification' })
  return (
    (await refuseRemoved(session, work, report)) ??
    (await reportWeakened(session, work)) ??
    (await reportStillRed(session, report)) ??
    passedVerification(session, work, report)
  )
}

/** The clone for the checks could not be made: the owner's files are missing, or the set-up fails with this work. */
const withoutClone = (session: Session, { verdict }: Work, notReady: NotReady): Promise<Next> =>
  notReady.kind === 'copy'
    ? recover(session, notReady, { source: 'engine' })
    : failedVerification(session, { results: [], findings: [], failed: notReady.check }, verdict)

const verifyClean = async (session: Session): Promise<Next> => {
  const { found, planned: asked } = await workOf(session)
  // Without a check no clone is needed.
  const count = asked.commands.length
  const notReady = count === 0 ? undefined : await layOut(session, found, count)
  if (letGo(session)) return 'ended'
  // Read again: a failed install was removed from the verdict.
  const work = await workOf(session)
  if (notReady !== undefined) return withoutClone(session, work, notReady)
  if (!isUnchanged(work.found)) return verifyChanged(session, work)
  const { planned, verdict } = work
  return verifyUnchanged(session, { planned, dropped: verdict.dropped, check: (list) => checkWork(session, list) })
}

/** Ends processes that could disturb the checks, then verifies the work in a clean clone that is removed afterwards. */
export const verify: Phase = async (session) => {
  await session.context.ports.processes.sweep(`${session.run.id}-check`)
  const left = await leftRunning(session)
  if (left !== undefined) return recover(session, left, { source: 'engine' })
  await takeSuggestion(session)
  try {
    return await verifyClean(session)
  } finally {
    await discard(session)
  }
}
