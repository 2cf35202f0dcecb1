/**
 * Runs approved commands of proposals in the clean clone in which the checks are about to run, so that the failed check sees the
 * effect and neither the user's checkout nor the agent's files do. Each command has its intent stored before and its outcome after it.
 */
import { join } from 'node:path'
import type { RecoveryExecution } from '../../domain/recovery-proposal.ts'
import { commandEnvironment } from '../../process/environment.ts'
import type { CommandResult } from '../../process/run-command.ts'
import type { RunProposed } from '../../recovery/diagnosis/direct-evidence.ts'
import { linesIn } from '../../recovery/failing-set.ts'
import { decideCommand } from '../../recovery/proposal/match.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import {
  appendApproved,
  executionsOf,
  finishExecution,
  insertExecution,
  type ExecutionOutcome,
} from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { commandDirectory } from '../checks/check-facts.ts'
import { cacheVariables } from '../checks/private-caches.ts'
import { npmVariables, packageVariables } from '../core/package-variables.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { checkedTreeOf, isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { recordIntent } from '../core/store-record.ts'
import { keepPermitted } from './changes-by-proposal.ts'
import type { PhaseResult } from './phase.ts'
import { commandContext } from './repair.ts'

const graceMs = 5_000
const longestError = 400

/** The command ran when the engine ended: whether it had its effect is unknown. */
export interface UnknownOutcome {
  kind: 'unknown'
  execution: RecoveryExecution
}

type Automatic = 'auto' | 'on_unknown'

const isAutomatic = (approvedBy: string): approvedBy is Automatic =>
  approvedBy === 'auto' || approvedBy === 'on_unknown'

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

const troubleOf = (result: CommandResult): string => {
  if (result.spawnError !== undefined) return result.spawnError
  const ended = result.timedOut
    ? 'it ran out of time'
    : `it ended with ${result.exitCode ?? result.signal ?? 'no status'}`
  const last = [...linesIn(result.stdout), ...linesIn(result.stderr)].at(-1) ?? ''
  return last === '' ? ended : `${ended}: ${last}`.slice(0, longestError)
}

const hasSucceeded = (result: CommandResult): boolean =>
  result.exitCode === 0 && !result.timedOut && result.spawnError === undefined

const refused = (error: string): ExecutionOutcome => ({
  ...{ state: 'failed', exitCode: null, durationMs: 0, error, changed: [] },
})

/** The text that was judged is passed to the shell as one argument. Undefined = the run was stopped; then the outcome is unknown. */
const carryOutCommand = async (
  runContext: RunContext,
  { id, command, workingDir, timeoutSeconds }: RecoveryExecution,
): Promise<CommandResult | string | undefined> => {
  const workspace = checkedTreeOf(runContext)
  const request = { ...commandContext(runContext), folder: () => '' }
  const { ports, environment } = request
  const place = commandDirectory(ports.files, workspace, [workingDir])
  if (!place.ok) return `working_dir: ${place.reason}`
  const dir = join(runContext.paths.root, 'proposed', id)
  const result = await ports.processes.runCommand(dir, {
    argv: ['/bin/sh', '-c', command],
    cwd: place.path,
    environment: commandEnvironment(workspace, environment, request.extraNames, {
      ...packageVariables(ports.files, workspace),
      ...npmVariables(ports.files, environment, [workspace, place.path]),
      ...(await cacheVariables(request)),
      ...request.variables,
    }),
    timeoutMs: timeoutSeconds * 1000,
    ...{ marker: request.marker, graceMs, keepAliveMs: request.keepAliveMs, signal: request.signal },
  })
  return isReleased(runContext) ? undefined : result
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
  const result = await carryOutCommand(runContext, execution)
  if (result === undefined) return
  const changed = await keepPermitted(runContext, found, { byPerson: !isAutomatic(approvedBy) })
  const outcome: ExecutionOutcome =
    typeof result === 'string'
      ? refused(result)
      : {
          state: hasSucceeded(result) ? 'succeeded' : 'failed',
          exitCode: result.exitCode,
          durationMs: Math.round(result.durationMs),
          error: hasSucceeded(result) ? '' : troubleOf(result),
          changed,
        }
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await finishExecution(tx, execution.id, outcome)
  })
}

const unknownEnd: ExecutionOutcome = {
  ...{ state: 'unknown', exitCode: null, durationMs: null, changed: [] },
  error: 'the engine ended while it ran, so its outcome is unknown',
}

/** The approved commands of this run whose effect is not decided yet. */
const intended = async ({ context, run }: RunContext): Promise<RunProposed[]> =>
  (await recoveriesOfRun(context.db, run.id)).flatMap(({ status, action }) =>
    status === 'acting' && action.type === 'run_proposed' ? [action as unknown as RunProposed] : [],
  )

/** A clone is new for each verification, so a command that helped is needed again; but only as long as it may still run. */
const mayRepeat = ({ context }: RunContext, { command, approvedBy }: RecoveryExecution): boolean => {
  const settings = context.config().recovery
  return !isAutomatic(approvedBy) || (settings?.enabled === true && decideCommand(command, settings).kind === 'run')
}

const keyOf = ({ proposalId, step, command }: RecoveryExecution): string => `${proposalId} ${step} ${command}`

interface Plan {
  run: (RunProposed & { counted: boolean })[]
  unknown?: RecoveryExecution
}

/** What runs in this clone: what was approved now, then what helped this task before. */
const planOf = async (runContext: RunContext): Promise<Plan> => {
  const { context, run } = runContext
  const ran = await executionsOf(context.db, { taskId: run.taskId })
  const unknown = ran.find(({ state, runId }) => state === 'started' && runId === run.id)
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
  const helped = new Map(
    ran.filter((each) => each.effect === true && mayRepeat(runContext, each)).map((each) => [keyOf(each), each]),
  )
  const again = [...helped.values()].map(({ proposalId, goalId: _goal, ...each }) => ({
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
      await finishExecution(tx, unknown.id, unknownEnd)
    })
    return { kind: 'unknown', execution: unknown }
  }
  for (const each of plan.run) {
    await execute(runContext, found, each)
    if (isReleased(runContext)) return undefined
  }
  return undefined
}
