/** Proposed commands that helped before are needed in every later clone of the same work; a clone is new for each verification. */
import type { RecoveryExecution } from '../../domain/recovery-proposal.ts'
import { commandReport } from '../../recovery/proposal/command-risks.ts'
import { decideCommand } from '../../recovery/proposal/match.ts'
import { executionsOf, finishExecution, insertExecution } from '../../store/recovery-proposal.ts'
import type { Context } from '../core/context.ts'
import type { InstallRequest } from './install.ts'
import { outcomeOfCommand, runApproved, runUndone, unknownOutcome } from './proposed-command.ts'

export const isAutomatic = (approvedBy: string): approvedBy is 'auto' | 'on_unknown' =>
  approvedBy === 'auto' || approvedBy === 'on_unknown'

type Placed = Pick<RecoveryExecution, 'command' | 'workingDir'>

const keyOf = ({ command, workingDir }: Placed): string => JSON.stringify([command, workingDir])

const keyInTask = (each: RecoveryExecution): string => `${each.taskId} ${keyOf(each)}`

/** In one clone the same command in the same folder runs once, no matter which task proposed it. */
export const isSameCommand = (one: Placed, other: Placed): boolean => keyOf(one) === keyOf(other)

/** Each of its parts changes the machine, and none of it a file of the work, so it holds for every later clone as well. */
const isForMachine = ({ command, changed }: RecoveryExecution): boolean => {
  const { parts, risks } = commandReport(command)
  const ofMachine = new Set(risks.filter(({ kind }) => kind === 'changes_machine').map(({ part }) => part))
  return changed.length === 0 && parts.length > 0 && parts.every((part) => ofMachine.has(part))
}

/** Only as long as the owner's lists let it run; what a person approved is approved for the task. */
const mayRepeat = ({ config }: Pick<Context, 'config'>, { command, approvedBy }: RecoveryExecution): boolean => {
  const settings = config().recovery
  if (settings?.enabled !== true) return false
  return !isAutomatic(approvedBy) || decideCommand(command, settings).kind === 'run'
}

/**
 * Of the executions so far, oldest first: the last one of each command that helped and whose last outcome is known. A repetition that was
 * interrupted bars nothing: its clone is gone, and the command may run once in each clone.
 */
export const repeatableOf = (
  context: Pick<Context, 'config'>,
  executions: readonly RecoveryExecution[],
): RecoveryExecution[] => {
  const first = executions.filter(({ repetition }) => !repetition)
  const last = new Map(first.map((each) => [keyInTask(each), each]))
  const isKnown = (each: RecoveryExecution): boolean =>
    !['started', 'unknown'].includes(last.get(keyInTask(each))?.state ?? '')
  const helped = first.filter(
    (each) => each.effect === true && !isForMachine(each) && isKnown(each) && mayRepeat(context, each),
  )
  return [...new Map(helped.map((each) => [keyOf(each), each])).values()]
}

interface Repeat {
  request: Omit<InstallRequest, 'folder'>
  commit: string
  /** Folder for the output of the commands and the index. */
  root: string
  taskIds: readonly string[]
}

/**
 * In a clone of work that has ended: what helped these tasks, with intent and outcome, and without a trace in files that land. True = a
 * command ran.
 */
export const repeatForTasks = async (
  context: Context,
  { request, commit, root, taskIds }: Repeat,
): Promise<boolean> => {
  if (context.config().recovery?.enabled !== true) return false
  const executions = (await Promise.all(taskIds.map((taskId) => executionsOf(context.db, { taskId })))).flat()
  // Interrupted in an earlier merge; the checks that follow report what is missing.
  for (const { id } of executions.filter(({ state }) => state === 'started'))
    await context.db.transaction((tx) => finishExecution(tx, id, unknownOutcome))
  const repeatable = repeatableOf(context, executions)
  for (const { id: _id, ...each } of repeatable) {
    const id = context.newId('x')
    await context.db.transaction((tx) => insertExecution(tx, { ...each, id, counted: false, repetition: true }))
    const place = { base: commit, workTree: request.workspace, indexFile: `${root}/proposed-index` }
    const { result, changed } = await runUndone(context, place, () =>
      runApproved(request, each, `${root}/proposed/${id}`),
    )
    if (context.stopping.aborted) return true
    await context.db.transaction((tx) => finishExecution(tx, id, outcomeOfCommand(result, changed)))
  }
  return repeatable.length > 0
}
