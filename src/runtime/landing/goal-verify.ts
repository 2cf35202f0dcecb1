/**
 * After a rebase nobody has seen the goal's work on what it now stands on: every check that its verdicts stand on runs there
 * once more, before the goal is called ready.
 */
import { taskEnded } from '../../domain/task.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { proves, type CheckResult, type Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import { listMerges } from '../../store/merge.ts'
import { recoveriesOf, waitEnd } from '../../store/recovery.ts'
import { getRun, recordChecks } from '../../store/run.ts'
import { listTasks } from '../../store/task.ts'
import { tellFindings } from '../checks/findings.ts'
import type { HonestReport } from '../checks/honest-checks.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { Evidence, ObservedCheck } from '../../recovery/evidence.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import { decide, failAttempt, recordIntent } from '../core/store-record.ts'
import type { Context } from '../core/context.ts'
import { failFit, machineOf } from './failed-entry.ts'
import { headOf } from './landing.ts'
import { refuseLanding } from './refused-landing.ts'
import { recheck, settleWaits } from './reverify.ts'

/** One task's part of the branch, and what it was verified by. */
interface Part {
  task: Task
  run: Run
  entry: MergeEntry
  checks: CheckResult[]
}

const partsOf = async (context: Context, tasks: readonly Task[], goal: Goal): Promise<Part[]> => {
  const entries = await listMerges(context.db, { goalId: goal.id, state: 'merged' })
  const parts: Part[] = []
  for (const task of tasks.filter(({ place }) => place === 'done')) {
    const entry = entries.findLast(({ taskId }) => taskId === task.id)
    const run = entry === undefined ? undefined : await getRun(context.db, entry.runId)
    if (entry !== undefined && run !== undefined) parts.push({ task, run, entry, checks: run.verdict?.checks ?? [] })
  }
  return parts
}

/** Whether nothing of the goal waits for an outage to end. */
const mayRun = async (context: Context, parts: readonly Part[]): Promise<boolean> => {
  const now = (await storeNow(context.db)).getTime()
  for (const { task } of parts)
    for (const past of await recoveriesOf(context.db, task.id))
      if (past.status === 'acting' && past.action.type === 'wait' && waitEnd(past).getTime() > now) return false
  return true
}

const tell = async (context: Context, goal: Goal, parts: readonly Part[], report: HonestReport): Promise<void> => {
  const { results, findings, failed } = report
  const passed = results.filter(proves).length
  await context.db.transaction(async (tx) => {
    for (const finding of findings) {
      const owner = ownerOf(parts, finding.command)
      if (owner !== undefined) await tellFindings(tx, owner.run, [finding])
    }
    await appendEvent(tx, {
      type: 'goal.reverified',
      goalId: goal.id,
      payload: { commit: headOf(goal), base: goal.baseCommit, checks: results, passed: failed === undefined },
    })
    if (failed !== undefined) return
    for (const { task, run, checks } of parts) {
      await recordChecks(
        tx,
        run.id,
        checks.map((old) => results.find(({ command }) => command === old.command) ?? old),
      )
      await settleWaits(tx, task.id, passed)
    }
    await progressGoal(tx, goal.id, { landing: { unverified: false } })
  })
}

/** Whose check it is: the last that brought it, since what came before had passed with it. */
const ownerOf = (parts: readonly Part[], command: string): Part | undefined =>
  parts.findLast(({ checks }) => checks.some((check) => check.command === command))

/** As in the merge queue: an outage is waited for, the machine is a person's matter, and work that does not fit is done again. */
const failOn = async (context: Context, goal: Goal, part: Part, check: ObservedCheck): Promise<boolean> => {
  const { task, run } = part
  const { diagnosis, step } = await decide(context, run, { kind: 'check', check })
  if (step.kind === 'recover' && step.action.type === 'wait') {
    await context.db.transaction(async (tx) => {
      await failAttempt(tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
      await recordIntent(context, tx, run, { diagnosis, step })
      await progressGoal(tx, goal.id, { reason: `its checks run again after "${diagnosis.evidence}"` })
    })
    context.at('recovery-intended')
    return false
  }
  const machine = machineOf(diagnosis)
  if (machine === undefined) {
    await failFit(
      { ...part, context, goal, tries: 0 },
      { conflicts: [], onto: goal.baseCommit ?? headOf(goal), failed: diagnosis.evidence },
    )
    return true
  }
  const detail = `its checks are held up by this machine (${machine})`
  await refuseLanding(context, goal, { reason: 'checks', detail, paths: [] })
  return false
}

/** The workspace for its checks could not be made, which is none of the work's. */
const notReady = async (context: Context, goal: Goal, evidence: Evidence): Promise<false> => {
  const detail = `its checks could not run again (${diagnose(evidence).evidence})`
  await refuseLanding(context, goal, { reason: 'checks', detail, paths: [] })
  return false
}

/** Everything of it has ended well, on a base that it was not verified on. */
export const isToVerify = (goal: Goal, tasks: readonly Task[]): boolean =>
  goal.landing.unverified && goal.landing.refused === null && tasks.every(({ place }) => taskEnded(place))

/** True = work was taken off the branch for it. */
export const verifyGoal = async (context: Context, goal: Goal): Promise<boolean> => {
  const tasks = await listTasks(context.db, goal.id)
  if (!isToVerify(goal, tasks)) return false
  const parts = await partsOf(context, tasks, goal)
  if (!(await mayRun(context, parts))) return false
  const checks = parts.flatMap((part) => part.checks)
  const commands = [...new Set(checks.map(({ command }) => command))]
  const installs = parts.flatMap(({ run }) => run.verdict?.installed ?? [])
  const checked = await recheck({
    ...{ context, id: goal.id, commit: headOf(goal), base: goal.baseCommit ?? headOf(goal), commands },
    source: (command) => checks.find((check) => check.command === command)?.source ?? 'task',
    installs: [...new Map(installs.map((install) => [installKeyOf(install), install])).values()],
  })
  if (checked.kind === 'stopped') return false
  if (checked.kind === 'not ready') return notReady(context, goal, checked.evidence)
  const { report } = checked
  await tell(context, goal, parts, report)
  context.at('goal-reverified')
  const owner = report.failed === undefined ? undefined : ownerOf(parts, report.failed.command)
  return report.failed !== undefined && owner !== undefined && failOn(context, goal, owner, report.failed)
}
