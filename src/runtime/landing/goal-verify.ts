/**
 * A rebase gives the goal's work a base on which no check has run. Every check behind its verdicts runs once more
 * there before the goal becomes ready; otherwise a goal could land with work that fails on the current target.
 */
import { taskEnded } from '../../domain/task.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Install } from '../../domain/install.ts'
import { isEvidence, type CheckResult, type Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import { listMerges } from '../../store/merge.ts'
import { recoveriesOf, waitEnd } from '../../store/recovery.ts'
import { getRun, recordChecks } from '../../store/run.ts'
import { listTasks } from '../../store/task.ts'
import { recordFindings } from '../checks/check-events.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { Evidence, ObservedCheck } from '../../recovery/evidence.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import { chooseStoredRecovery, failAttemptRecoveries, recordIntent } from '../core/store-record.ts'
import type { Context } from '../core/context.ts'
import { handleMergeConflict, machineFault, checkOutput } from './unmergeable-entry.ts'
import { goalHead } from './merge-attempt.ts'
import { refuseLanding } from './refused-landing.ts'
import { rerunChecks, resolveWaits } from './reverify.ts'

/** The work of one task on the branch, and the checks that verified it. */
export interface Part {
  task: Task
  run: Run
  entry: MergeEntry
  checks: CheckResult[]
}

export const partsOfGoal = async (context: Context, tasks: readonly Task[], goal: Goal): Promise<Part[]> => {
  const entries = await listMerges(context.db, { goalId: goal.id, state: 'merged' })
  const parts: Part[] = []
  for (const task of tasks.filter(({ status }) => status === 'done')) {
    const entry = entries.findLast(({ taskId }) => taskId === task.id)
    const run = entry === undefined ? undefined : await getRun(context.db, entry.runId)
    if (entry !== undefined && run !== undefined) parts.push({ task, run, entry, checks: run.verdict?.checks ?? [] })
  }
  return parts
}

export const installsOf = (parts: readonly Part[]): Install[] => {
  const all = parts.flatMap(({ run }) => run.verdict?.installed ?? [])
  return [...new Map(all.map((install) => [installKeyOf(install), install])).values()]
}

/** False while a task of the goal waits for an outage to end: its checks would fail again for the same reason. */
const checksMayRun = async (context: Context, parts: readonly Part[]): Promise<boolean> => {
  const now = (await storeNow(context.db)).getTime()
  for (const { task } of parts)
    for (const past of await recoveriesOf(context.db, task.id))
      if (past.status === 'acting' && past.action.type === 'wait' && waitEnd(past).getTime() > now) return false
  return true
}

const recordReport = async (
  context: Context,
  goal: Goal,
  parts: readonly Part[],
  report: JudgedReport,
): Promise<void> => {
  const { results, findings, failed } = report
  const passed = results.filter(isEvidence).length
  await context.db.transaction(async (tx) => {
    for (const finding of findings) {
      const owner = ownerOf(parts, finding.command)
      if (owner !== undefined) await recordFindings(tx, owner.run, [finding])
    }
    await appendEvent(tx, {
      type: 'goal.reverified',
      goalId: goal.id,
      payload: { commit: goalHead(goal), base: goal.baseCommit, checks: results, passed: failed === undefined },
    })
    if (failed !== undefined) return
    for (const { task, run, checks } of parts) {
      await recordChecks(
        tx,
        run.id,
        checks.map((old) => results.find(({ command }) => command === old.command) ?? old),
      )
      await resolveWaits(tx, task.id, passed)
    }
    await progressGoal(tx, goal.id, { landing: { unverified: false } })
  })
}

/**
 * The task to blame for a failed check: the last one that brought the check, because everything before it had passed
 * with it.
 */
const ownerOf = (parts: readonly Part[], command: string): Part | undefined =>
  parts.findLast(({ checks }) => checks.some((check) => check.command === command))

/**
 * Same rules as in the merge queue: wait out an outage, ask a person about a fault of the machine, redo work that
 * fails on the new base. True = work was taken off the branch.
 */
const handleFailedCheck = async (context: Context, goal: Goal, part: Part, check: ObservedCheck): Promise<boolean> => {
  const { task, run } = part
  const { diagnosis, step } = await chooseStoredRecovery(context, run, { kind: 'check', check })
  if (step.kind === 'recover' && step.action.type === 'wait') {
    await context.db.transaction(async (tx) => {
      await failAttemptRecoveries(tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
      await recordIntent(context, tx, run, { diagnosis, step })
      await progressGoal(tx, goal.id, { reason: `its checks run again when this is over: "${diagnosis.evidence}"` })
    })
    context.at('recovery-intended')
    return false
  }
  const machine = machineFault(diagnosis)
  if (machine === undefined) {
    await handleMergeConflict(
      { ...part, context, goal, tries: 0 },
      {
        ...{ conflicts: [], onto: goal.baseCommit ?? goalHead(goal), failed: diagnosis.evidence },
        ...checkOutput({ kind: 'check', check }),
      },
    )
    return true
  }
  const detail = `its checks cannot run on this machine (${machine})`
  await refuseLanding(context, goal, { reason: 'checks', detail, paths: [] })
  return false
}

/** The workspace for the checks could not be made. That says nothing about the work, so only the landing is refused. */
const notReady = async (context: Context, goal: Goal, evidence: Evidence): Promise<false> => {
  const detail = `its checks could not run again (${diagnose(evidence).evidence})`
  await refuseLanding(context, goal, { reason: 'checks', detail, paths: [] })
  return false
}

/** All tasks have ended, or what is done is to land without the rest, and the goal branch has a base on which its checks have not run. */
export const needsVerification = (goal: Goal, tasks: readonly Task[]): boolean =>
  goal.landing.unverified &&
  goal.landing.refused === null &&
  (goal.landing.part === true || tasks.every(({ status }) => taskEnded(status)))

/**
 * Runs the checks of the goal on its new base. True = work was taken off the branch, so the goal has to be rebased
 * once more.
 */
export const verifyGoal = async (context: Context, goal: Goal): Promise<boolean> => {
  const tasks = await listTasks(context.db, goal.id)
  if (!needsVerification(goal, tasks)) return false
  const parts = await partsOfGoal(context, tasks, goal)
  if (!(await checksMayRun(context, parts))) return false
  const checks = parts.flatMap((part) => part.checks)
  const commands = [...new Set(checks.map(({ command }) => command))]
  const checked = await rerunChecks({
    ...{ context, id: goal.id, commit: goalHead(goal), base: goal.baseCommit ?? goalHead(goal), commands },
    source: (command) => checks.find((check) => check.command === command)?.source ?? 'task',
    installs: installsOf(parts),
    taskIds: parts.map(({ task }) => task.id),
  })
  if (checked.kind === 'stopped') return false
  if (checked.kind === 'not ready') return notReady(context, goal, checked.evidence)
  const { report } = checked
  await recordReport(context, goal, parts, report)
  context.at('goal-reverified')
  const owner = report.failed === undefined ? undefined : ownerOf(parts, report.failed.command)
  return report.failed !== undefined && owner !== undefined && handleFailedCheck(context, goal, owner, report.failed)
}
