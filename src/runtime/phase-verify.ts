/**
 * Phase `verify`: runs the task's checks on what the agent left, and says honestly what that proves. A command that cannot
 * be run as it stands may be dropped; a check of the code never is.
 */
import { join } from 'node:path'
import { keptVerdict, proves, type Verdict, type Weakening } from '../domain/run.ts'
import type { Evidence } from '../recovery/evidence.ts'
import { weakeningText } from '../recovery/weakened.ts'
import type { Queryable } from '../store/db.ts'
import { appendEvent } from '../store/event.ts'
import { holdLease } from '../store/run.ts'
import { recover, type Next } from './carry-out.ts'
import { collectedWork } from './collected.ts'
import { readDenials } from './denials.ts'
import { tellFindings } from './findings.ts'
import { verifyUnchanged } from './no-change.ts'
import { settleOpen } from './recover.ts'
import { withFacts } from './repair-facts.ts'
import { addUsed, carryOutRepairs, placeOfChecks, repairCheck, settleRepairs } from './repair.ts'
import { letGo, save, type Session } from './session.ts'
import type { errorMetaOf } from './settle.ts'
import { takeSuggestion } from './suggested-command.ts'
import { weakenedIn } from './weakened-tests.ts'
import { trustedContract } from './own-commands.ts'
import { plannedChecks, type PlannedChecks } from './verify-contract.ts'
import { runHonestly, type HonestReport } from './honest-checks.ts'

const documentation = /(?:^|\/)(?:docs?\/.*|[^/]+\.(?:md|mdx|txt|rst|adoc)|LICENSE|NOTICE)$/i

const checkNow = async (session: Session, planned: PlannedChecks): Promise<HonestReport> => {
  const { context, task, run } = session
  const begun = context.clock.elapsed()
  // What an interrupted verification left running must not write into this one's files.
  context.ports.files.rmSync(join(session.paths.root, 'checks'), { recursive: true, force: true })
  const report = await runHonestly({
    ...placeOfChecks(session),
    ...(context.machine === undefined ? {} : { machine: context.machine }),
    base: {
      ...context,
      commit: run.baseCommit ?? '',
      dir: join(session.paths.root, 'base'),
      installs: run.verdict?.installed ?? [],
    },
    commands: planned.commands,
    source: (command) => (planned.fromContract.has(command) ? 'contract' : task.commandSource),
    folder: session.paths.check,
    changed: (session.collected?.changes ?? []).map(({ path }) => path),
    passed: () => context.at('check-passed'),
  })
  addUsed(session, begun)
  return report
}

const failedCheckMeta = (report: HonestReport): Parameters<typeof errorMetaOf>[1] => ({
  source: 'verification',
  failedCommand: report.failed?.command ?? '',
  failedCommandSource: report.failed?.source ?? '',
  failedCommandStderr: (report.failed?.stderr ?? '').slice(-2_000),
})

const tellWeakened = async (tx: Queryable, { run }: Session, weakened: readonly Weakening[]): Promise<void> => {
  if (weakened.length === 0) return
  await appendEvent(tx, {
    type: 'verify.weakened',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { weakened: weakened.map(weakeningText) },
  })
}

const failedVerification = async (session: Session, report: HonestReport, verdict: Verdict): Promise<Next> => {
  if (report.failed === undefined) throw new Error('failedVerification needs a failed check')
  const failed = await withFacts(session, report.failed)
  await session.context.db.transaction(async (tx) => {
    await tellFindings(tx, session.run, report.findings)
    await settleRepairs(tx, session, { results: report.results, failed })
    await save(session, { verdict: { ...verdict, checks: report.results } }, tx)
  })
  const denials = await readDenials(session)
  const evidence: Evidence = { kind: 'check', check: failed }
  const repaired = await repairCheck(session, evidence)
  if (repaired !== undefined) return repaired
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(session.context, tx, session.task.id, (condition) =>
      condition.type === 'remaining_checks_pass'
        ? { holds: false, detail: `${failed.command} failed as well` }
        : undefined,
    )
  })
  if (denials.length > 0) {
    return recover(
      session,
      { kind: 'denial', harness: session.driver.name, denials, because: 'verification failed' },
      failedCheckMeta(report),
    )
  }
  return recover(session, evidence, failedCheckMeta(report))
}

/** Everything that was asked for and is not looked at any more, in this run or in an earlier one of the task. */
const droppedSoFar = ({ task, run }: Session): Verdict['dropped'] => {
  const now = run.verdict?.dropped ?? []
  const earlier = task.originalCommands.filter(
    (command) => !task.commands.includes(command) && !now.some((entry) => entry.command === command),
  )
  return [...earlier.map((command) => ({ command, reason: 'dropped in an earlier run of the task' })), ...now]
}

export const verify = async (session: Session): Promise<Next> => {
  const { context } = session
  await context.ports.processes.sweep(`${session.run.id}-check`)
  await takeSuggestion(session)
  await carryOutRepairs(session)
  if (letGo(session)) return 'ended'
  const { task } = session
  const found = await collectedWork(session)
  const { changes, leftOut } = found
  const changedPaths = changes.map((change) => change.path)
  const dropped = droppedSoFar(session)
  const planned = plannedChecks(task, await trustedContract(session), changedPaths, {
    ...keptVerdict(session.run.verdict),
    dropped,
  })
  if (changes.length === 0 && found.nestedRepositories.length === 0)
    return verifyUnchanged(session, { planned, dropped, check: (asked) => checkNow(session, asked) })
  const weakened = await weakenedIn(session, found, planned.commands)
  const verdict: Verdict = { ...keptVerdict(session.run.verdict), dropped, changedPaths, weakened }
  const report = await checkNow(session, planned)
  if (letGo(session)) return 'ended'
  if (report.failed !== undefined) return failedVerification(session, report, verdict)
  if (report.results.length === 0 && !changedPaths.every((path) => documentation.test(path))) {
    const reason =
      'no verification command is left or could be inferred; add "commands" to the task or to .unstuck/verify.contract.json, or verify.commands to .unstuck/config.json'
    return recover(session, { kind: 'unverified', reason }, { source: 'verification' })
  }
  const notes = [
    ...(await readDenials(session)).map((denial) => denial.text),
    ...leftOut.map(({ path, reason }) => `${path} is not part of the work: ${reason}`),
  ]
  const outcome = report.results.length === 0 ? 'nothing to verify' : 'verified'
  const passed = report.results.filter(proves).length
  await context.db.transaction(async (tx) => {
    await tellFindings(tx, session.run, report.findings)
    await settleRepairs(tx, session, report)
    await settleOpen(context, tx, task.id, (condition) =>
      condition.type === 'remaining_checks_pass'
        ? { holds: passed > 0, detail: `${passed} remaining check(s) ran and passed` }
        : undefined,
    )
    await tellWeakened(tx, session, weakened)
    await save(session, { phase: 'policy', verdict: { ...verdict, outcome, checks: report.results, notes } }, tx)
  })
  context.at('verified')
  return 'on'
}
