/**
 * The folder in which a person works on a task that they took over: the workspace of the last run, at the same path, because most CLIs
 * resume a session only in the folder where it started. It is kept as a snapshot before an agent gets the task again.
 */
import { join } from 'node:path'
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import type { TakenOver, Task } from '../../domain/task.ts'
import { AppError, messageOf } from '../../errors.ts'
import { listRuns } from '../../store/run.ts'
import { recordPrepared, readPrepared } from '../agent/prepared.ts'
import { attemptBefore, restoreEarlierWork } from '../agent/resume-from.ts'
import { copiedPatterns, makeFreshWorkspace } from '../checks/fresh-workspace.ts'
import { runPaths, type Context } from '../core/context.ts'
import { openSessionLine } from './session-line.ts'

/** Runs of a task that launched an agent or have collected work, oldest first. */
const atWork = async (context: Context, task: Task): Promise<Run[]> =>
  (await listRuns(context.db, { taskId: task.id }))
    .filter(({ launches, tree }) => launches.length > 0 || tree !== null)
    .toSorted((one, other) => one.number - other.number)

type Laid = Pick<TakenOver, 'folder' | 'base'>

/** In direct mode: the user's own checkout. */
const inPlace = async (context: Context, task: Task, last: Run | undefined): Promise<Laid> => {
  const folder = context.repository.root
  if (typeof last?.baseCommit === 'string') return { folder, base: last.baseCommit }
  const { root, index } = runPaths(context, task.id)
  context.ports.files.mkdirSync(root, { recursive: true, mode: 0o700 })
  const at = context.clock.now().toISOString()
  const base = await context.ports.git.captureBase(context.shadow, {
    ...{ workTree: folder, indexFile: index, name: task.id, at },
  })
  return { folder, base }
}

/** A clone on the base of the last run, with its work; without a run on the newest base. */
const layFresh = async (context: Context, goal: Goal, task: Task, last: Run | undefined): Promise<Laid> => {
  const base = last?.baseCommit ?? goal.headCommit ?? goal.baseCommit
  if (base === null) throw new AppError('REPOSITORY_STATE', `goal ${goal.id} has no base commit`)
  const paths = runPaths(context, last?.id ?? task.id)
  const { workspace: config } = context.config()
  await context.ports.git.removeWorkspace(paths.workspace)
  const fresh = await makeFreshWorkspace(context.ports, {
    clone: {
      repository: context.repository,
      ...{ base, dir: paths.workspace, branch: `${goal.branchPrefix}run/${last?.id ?? task.id}` },
    },
    owners: context.repository,
    ...{ stateDir: context.stateDir, filters: context.shadow.filters, config, signal: context.stopping },
  })
  if (fresh.copyProblem !== undefined) context.log.warn({ task: task.id }, `workspace.copy: ${fresh.copyProblem}`)
  recordPrepared({ context, paths }, { ...fresh.submodules, copied: fresh.copied, setupTree: null })
  if (last !== undefined) await restoreEarlierWork(context, last, { onto: base, into: paths.workspace })
  return { folder: paths.workspace, base }
}

/** Restores the packages, which are removed when a run ends: the person needs them. */
const givePackages = async (context: Context, workspace: string): Promise<void> => {
  try {
    await context.ports.git.prepareDependencies({
      ...{ repository: context.repository, workspace, cacheDir: join(context.stateDir, 'dependencies') },
      signal: context.stopping,
    })
  } catch (error) {
    context.log.warn({ workspace, error: messageOf(error) }, 'the packages of a workspace could not be restored')
  }
}

const layFolder = async (context: Context, goal: Goal, task: Task, last: Run | undefined): Promise<Laid> => {
  if (goal.repoMode === 'direct') return inPlace(context, task, last)
  const { files } = context.ports
  const { root, workspace } = runPaths(context, last?.id ?? task.id)
  // This file exists while the folder is being made. If a crash left it, the folder is incomplete and made again.
  const unfinished = join(root, 'taking-over')
  if (typeof last?.baseCommit === 'string' && files.existsSync(workspace) && !files.existsSync(unfinished)) {
    await givePackages(context, workspace)
    return { folder: workspace, base: last.baseCommit }
  }
  files.mkdirSync(root, { recursive: true, mode: 0o700 })
  files.writeFileSync(unfinished, '')
  const laid = await layFresh(context, goal, task, last)
  files.rmSync(unfinished, { force: true })
  return laid
}

/** Makes the folder if it is missing, and returns the command that opens it. A repeated call changes nothing in the folder. */
export const takeOverFolder = async (context: Context, goal: Goal, task: Task, by: string): Promise<TakenOver> => {
  const { takenOver } = task
  if (takenOver !== null && context.ports.files.existsSync(takenOver.folder))
    return { ...takenOver, by, givenBack: false }
  const last = (await atWork(context, task)).at(-1)
  const { folder, base } = await layFolder(context, goal, task, last)
  const command = openSessionLine(context.config(), folder, last)
  return { folder, base, runId: last?.id ?? null, command, by, givenBack: false }
}

/** Keeps the person's work as a snapshot, for the next agent and for `unstuck restore`. */
export const keepPersonsWork = async (context: Context, task: Task, reason: string): Promise<void> => {
  const { takenOver } = task
  if (takenOver === null || !context.ports.files.existsSync(takenOver.folder)) return
  const newest = attemptBefore(await listRuns(context.db, { taskId: task.id }), Number.POSITIVE_INFINITY)
  const { folder, base, runId } = takenOver
  const { copied } = readPrepared({ context, paths: runPaths(context, runId ?? task.id) })
  try {
    await context.ports.git.snapshot(context.shadow, {
      ...{ runId: newest?.id ?? runId ?? task.id, workTree: folder, base, reason },
      exclude: copiedPatterns(copied),
      at: context.clock.now().toISOString(),
    })
  } catch (error) {
    // Nothing is lost: the folder itself stays.
    context.log.warn({ task: task.id, folder, error: messageOf(error) }, 'a snapshot could not be made')
  }
}
