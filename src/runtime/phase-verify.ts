/**
 * Phase `verify`: runs the task's checks on what the agent left, and says honestly what that proves. A command that cannot
 * be run as it stands may be dropped; a check of the code never is.
 */
import { join } from 'node:path'
import { keepAliveMs } from '../domain/lease.ts'
import { emptyVerdict, proves, type Verdict, type Weakening } from '../domain/run.ts'
import type { Evidence, ObservedCheck } from '../recovery/evidence.ts'
import { weakeningText } from '../recovery/weakened.ts'
import { StaleError, type Queryable } from '../store/db.ts'
import { appendEvent } from '../store/event.ts'
import { holdLease } from '../store/run.ts'
import { setTaskCommands } from '../store/task.ts'
import { recover, type Next } from './carry-out.ts'
import { collectedWork } from './collected.ts'
import { readDenials } from './denials.ts'
import { verifyUnchanged } from './no-change.ts'
import { decide, recordIntent, settleOpen } from './recover.ts'
import { bothSignals, letGo, passedNames, save, workTreeOf, type Session } from './session.ts'
import type { errorMetaOf } from './settle.ts'
import { weakenedIn } from './weakened-tests.ts'
import {
  contractFile,
  parseContract,
  plannedChecks,
  readContract,
  type PlannedChecks,
  type VerifyContract,
} from './verify-contract.ts'
import { runHonestly, type CheckFinding, type HonestReport } from './honest-checks.ts'

const documentation = /(?:^|\/)(?:docs?\/.*|[^/]+\.(?:md|mdx|txt|rst|adoc)|LICENSE|NOTICE)$/i

/** Time that verification of this run has used so far: a relaunch does not begin a new half hour. */
const usedFile = (session: Session): string => join(session.paths.root, 'verification-ms')

const usedMs = (session: Session): number => {
  try {
    return Number(session.context.ports.files.readFileSync(usedFile(session), 'utf8')) || 0
  } catch {
    return 0 // the first verification of the run
  }
}

const checkNow = async (session: Session, planned: PlannedChecks): Promise<HonestReport> => {
  const { context, task } = session
  const config = context.config()
  const used = usedMs(session)
  const begun = context.clock.elapsed()
  // What an interrupted verification left running must not write into this one's files.
  context.ports.files.rmSync(join(session.paths.root, 'checks'), { recursive: true, force: true })
  const report = await runHonestly({
    ...context,
    base: { ...context, commit: session.run.baseCommit ?? '', dir: join(session.paths.root, 'base') },
    commands: planned.commands,
    source: (command) => (planned.fromContract.has(command) ? 'contract' : task.commandSource),
    workspace: workTreeOf(session),
    folder: session.paths.check,
    marker: `${session.run.id}-check`,
    environment: context.environment,
    extraNames: passedNames(config, session.harness),
    timeoutMs: config.verify.timeoutSeconds * 1000,
    totalMs: Math.max(1, config.verify.totalSeconds * 1000 - used),
    keepAliveMs: keepAliveMs(config.lease.ttlSeconds),
    signal: bothSignals(session),
    passed: () => context.at('check-passed'),
  })
  const now = Math.round(used + context.clock.elapsed() - begun)
  context.ports.files.writeFileSync(usedFile(session), String(now), { mode: 0o600 })
  return report
}

const failedCheckMeta = (report: HonestReport): Parameters<typeof errorMetaOf>[1] => ({
  source: 'verification',
  failedCommand: report.failed?.command ?? '',
  failedCommandSource: report.failed?.source ?? '',
  failedCommandStderr: (report.failed?.stderr ?? '').slice(-2_000),
})

/** Drops a command that cannot be run as it stands; the checks that are left then decide. */
const dropCommand = async (session: Session, evidence: Evidence): Promise<Next | undefined> => {
  const { context } = session
  const decision = await decide(context, session.run, evidence)
  const { diagnosis, step } = decision
  if (step.kind !== 'recover' || step.action.type !== 'drop_command') return undefined
  const { command } = step.action
  const commands = session.task.commands.filter((candidate) => candidate !== command)
  const dropped = [...(session.run.verdict?.dropped ?? []), { command, reason: diagnosis.evidence }]
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, session.run, { diagnosis, step })
    if (!(await setTaskCommands(tx, session.run, commands))) throw new StaleError(`task ${session.task.id}`)
    await save(session, { phase: 'verify', verdict: { ...emptyVerdict, dropped } }, tx)
  })
  session.task = { ...session.task, commands }
  context.at('recovery-intended')
  return 'on'
}

/** With the verdict that rests on them, so that a verification which a crash cut short tells nothing twice. */
const tellFindings = async (tx: Queryable, session: Session, findings: readonly CheckFinding[]): Promise<void> => {
  const { run } = session
  const place = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  for (const { kind, ...payload } of findings) {
    if (kind === 'flaky') await appendEvent(tx, { type: 'verify.flaky', ...place, payload })
    else await appendEvent(tx, { type: 'verify.baseline', ...place, payload })
  }
}

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

/** Whether the base commit has the script that the work's manifest lacks: then the work took it away. */
const withBase = async (session: Session, failed: ObservedCheck): Promise<ObservedCheck> => {
  const { script } = failed
  if (script === undefined || script.exists) return failed
  const { git } = session.context.ports
  const text = await git.textAt(session.context.shadow, session.run.baseCommit ?? '', script.manifest)
  try {
    const parsed = JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }
    return { ...failed, script: { ...script, inBase: typeof parsed.scripts?.[script.name] === 'string' } }
  } catch {
    return failed // a manifest that was broken before has no script that could have been taken away
  }
}

const failedVerification = async (session: Session, report: HonestReport, verdict: Verdict): Promise<Next> => {
  if (report.failed === undefined) throw new Error('failedVerification needs a failed check')
  const failed = await withBase(session, report.failed)
  await session.context.db.transaction(async (tx) => {
    await tellFindings(tx, session, report.findings)
    await save(session, { verdict: { ...verdict, checks: report.results } }, tx)
  })
  const denials = await readDenials(session)
  const evidence: Evidence = { kind: 'check', check: failed }
  const dropped = await dropCommand(session, evidence)
  if (dropped !== undefined) return dropped
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

/** The owner's checkout; where the agent works in that very folder, what stood there before it began. */
const trustedContract = async (session: Session): Promise<VerifyContract | undefined> => {
  const { context, goal, run } = session
  if (goal.repoMode === 'direct') {
    const text = await context.ports.git.textAt(context.shadow, run.baseCommit ?? '', contractFile)
    if (text !== undefined) return parseContract(contractFile, text)
  }
  return readContract(context.ports.files, context.repository.root)
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
  const { context, task } = session
  await context.ports.processes.sweep(`${session.run.id}-check`)
  const found = await collectedWork(session)
  const { changes, leftOut } = found
  const changedPaths = changes.map((change) => change.path)
  const dropped = droppedSoFar(session)
  const planned = plannedChecks(
    task,
    await trustedContract(session),
    changedPaths,
    dropped.map(({ command }) => command),
  )
  if (changes.length === 0 && found.nestedRepositories.length === 0)
    return verifyUnchanged(session, { planned, dropped, check: (asked) => checkNow(session, asked) })
  const weakened = await weakenedIn(session, found, planned.commands)
  const verdict: Verdict = { ...emptyVerdict, dropped, changedPaths, weakened }
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
    await tellFindings(tx, session, report.findings)
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
