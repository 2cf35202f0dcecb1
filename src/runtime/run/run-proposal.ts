/**
 * Runs approved commands of proposals in the clean clone in which the checks are about to run, so that the failed check sees the
 * effect and neither the user's checkout nor the agent's files do. Each command has its intent stored before and its outcome after it.
 */
import { join } from 'node:path'
import type { RecoveryExecution } from '../../domain/recovery-proposal.ts'
import type { RunProposed } from '../../recovery/diagnosis/direct-evidence.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import { appendApproved, executionsOf, finishExecution, insertExecution } from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { outcomeOfCommand, runApproved, unknownOutcome } from '../checks/proposed-command.ts'
import { isAutomatic, repeatableOf } from '../checks/repeated-proposals.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { recordIntent } from '../core/store-record.ts'
import { keepPermitted } from './changes-by-proposal.ts'
import type { PhaseResult } from './phase.ts'
import { commandContext } from './repair.ts'

/** The command ran when the engine ended: whether it had its effect is unknown. */
export interface UnknownOutcome {
  kind: 'unknown'
  execution: RecoveryExecution
}

/** Stores the intent. The command runs in the next clean clone, before its checks. */
export const intendProposed = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'run_proposed'>>,
): Promise<PhaseResult> => {
  const { context, run } = runContext
  const { approvedBy, command } = chosen.step.action
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, run, chosen)
    // The event of a person's approval was written with their answer.
    if (isAutomatic(approvedBy)) await appendApproved(tx, { ...run, runId: run.id }, { source: approvedBy, command })
    await saveProgress(runContext, { phase: 'verify' }, tx)
  })
  context.at('recovery-intended')
  return 'on'
}

/** Intent, command, outcome. What it changed in tracked files is listed, and undone unless the work may have it. */
const execute = async (
  runContext: RunContext,
  found: ChangeList,
  { command, ...intent }: RunProposed & { counted: boolean },
): Promise<void> => {
  const { context, run } = runContext
  const { proposal: proposalId, step, workingDir, timeoutSeconds, approvedBy, counted } = intent
  const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  const execution = await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    return insertExecution(tx, {
      ...{
        id: context.newId('x'),
        proposalId,
        ...about,
        step,
        command,
        workingDir,
        timeoutSeconds,
        approvedBy,
        counted,
      },
    })
  })
  const dir = join(runContext.paths.root, 'proposed', execution.id)
  const result = await runApproved(commandContext(runContext), execution, dir)
  // Whether it had its effect is unknown when the run was stopped meanwhile.
  if (isReleased(runContext)) return
  const changed = await keepPermitted(runContext, found, { byPerson: !isAutomatic(approvedBy) })
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await finishExecution(tx, execution.id, outcomeOfCommand(result, changed))
  })
}

/** The approved commands of this run whose effect is not decided yet. */
const intended = async ({ context, run }: RunContext): Promise<RunProposed[]> =>
  (await recoveriesOfRun(context.db, run.id)).flatMap(({ status, action }) =>
    status === 'acting' && action.type === 'run_proposed' ? [action as unknown as RunProposed] : [],
  )

interface Plan {
  run: (RunProposed & { counted: boolean })[]
  unknown?: RecoveryExecution
}

/** What runs in this clone: what was approved now, then what helped this task before. */
const planOf = async (runContext: RunContext): Promise<Plan> => {
  const { context, run } = runContext
  const ran = await executionsOf(context.db, { taskId: run.taskId })
  // Only one run of a task lives, so a command without an outcome is one that was interrupted, also in an earlier run.
  const unknown = ran.find(({ state }) => state === 'started')
  if (unknown !== undefined) return { run: [], unknown }
  const before = await intended(runContext)
  const first = before.map((each) => {
    // After a restart the clone is new, and a command with a known outcome is repeated there without being counted again.
    const known = ran.some(
      ({ proposalId, step, runId, state, effect }) =>
        runId === run.id &&
        proposalId === each.proposal &&
        step === each.step &&
        state !== 'started' &&
        effect === null,
    )
    return { ...each, counted: isAutomatic(each.approvedBy) && !known }
  })
  const again = repeatableOf(context, ran).map(({ proposalId, ...each }) => ({
    ...{ proposal: proposalId, step: each.step, command: each.command, workingDir: each.workingDir },
    ...{ timeoutSeconds: each.timeoutSeconds, approvedBy: each.approvedBy, check: '', signature: '', counted: false },
  }))
  return { run: [...again, ...first] }
}

/** Returns an outcome that only a person can tell; undefined = the checks can run. */
export const runProposed = async (runContext: RunContext, found: ChangeList): Promise<UnknownOutcome | undefined> => {
  const { context, run } = runContext
  const isOn = context.config().recovery !== undefined
  if (!isOn) return undefined
  const plan = await planOf(runContext)
  const { unknown } = plan
  if (unknown !== undefined) {
    await context.db.transaction(async (tx) => {
      await requireLease(tx, run)
      await finishExecution(tx, unknown.id, unknownOutcome)
    })
    return { kind: 'unknown', execution: unknown }
  }
  for (const each of plan.run) {
    await execute(runContext, found, each)
    if (isReleased(runContext)) return undefined
  }
  return undefined
}
