/** Proposed commands that helped before are needed in every later clone of the same work; a clone is new for each verification. */
import type { RecoveryExecution } from '../../domain/recovery-proposal.ts'
import { decideCommand } from '../../recovery/proposal/match.ts'
import type { Queryable } from '../../store/db.ts'
import { executionsOf, finishExecution, insertExecution } from '../../store/recovery-proposal.ts'
import type { Context } from '../core/context.ts'
import type { InstallRequest } from './install.ts'
import { outcomeOfCommand, runApproved, undoTracked, unknownOutcome } from './proposed-command.ts'

export const isAutomatic = (approvedBy: string): approvedBy is 'auto' | 'on_unknown' =>
  approvedBy === 'auto' || approvedBy === 'on_unknown'

const keyOf = ({ taskId, step, command, workingDir }: RecoveryExecution): string =>
  JSON.stringify([taskId, step, command, workingDir])

/** Only as long as the owner's lists let it run; what a person approved is approved for the task. */
const mayRepeat = ({ config }: Pick<Context, 'config'>, { command, approvedBy }: RecoveryExecution): boolean => {
  const settings = config().recovery
  if (settings?.enabled !== true) return false
  return !isAutomatic(approvedBy) || decideCommand(command, settings).kind === 'run'
}

/** Of the executions so far, oldest first: the last one of each command that helped and whose last outcome is known. */
export const repeatableOf = (
  context: Pick<Context, 'config'>,
  executions: readonly RecoveryExecution[],
): RecoveryExecution[] => {
  const last = new Map(executions.map((each) => [keyOf(each), each]))
  const helped = new Map(executions.filter(({ effect }) => effect === true).map((each) => [keyOf(each), each]))
  return [...helped]
    .filter(([key, each]) => mayRepeat(context, each) && !['started', 'unknown'].includes(last.get(key)?.state ?? ''))
    .map(([, each]) => each)
}

/** After a kill in a merge: nothing is repeated whose outcome is unknown; the checks that follow report what is missing. */
const settleUnknown = async (context: Context, executions: readonly RecoveryExecution[], ids: readonly string[]) => {
  const open = executions.filter(({ state, taskId }) => state === 'started' && ids.includes(taskId))
  for (const { id } of open) await context.db.transaction((tx: Queryable) => finishExecution(tx, id, unknownOutcome))
  return open.length > 0
}

interface Repeat {
  request: Omit<InstallRequest, 'folder'>
  commit: string
  /** Folder for the output of the commands and the index. */
  root: string
  taskIds: readonly string[]
}

const readAll = async (context: Context, taskIds: readonly string[]): Promise<RecoveryExecution[]> =>
  (await Promise.all(taskIds.map((taskId) => executionsOf(context.db, { taskId })))).flat()

/** In a clone of work that has ended: what helped these tasks, with intent and outcome, and without a trace in tracked files. */
export const repeatForTasks = async (context: Context, { request, commit, root, taskIds }: Repeat): Promise<void> => {
  if (context.config().recovery?.enabled !== true) return
  const before = await readAll(context, taskIds)
  const executions = (await settleUnknown(context, before, taskIds)) ? await readAll(context, taskIds) : before
  for (const { id: _id, ...each } of repeatableOf(context, executions)) {
    const id = context.newId('x')
    await context.db.transaction((tx) => insertExecution(tx, { ...each, id, counted: false }))
    const result = await runApproved(request, each, `${root}/proposed/${id}`)
    if (context.stopping.aborted) return
    const place = { base: commit, workTree: request.workspace, indexFile: `${root}/proposed-index` }
    const { changed } = await undoTracked(context, place)
    await context.db.transaction((tx) => finishExecution(tx, id, outcomeOfCommand(result, changed)))
  }
}
