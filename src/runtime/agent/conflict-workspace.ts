/**
 * For a task that solves a conflict: the finished work is merged into the files of the fresh workspace, and conflict markers are left
 * where both sides changed the same lines. Everything is merged in the shadow repository; the branch and the user's repository are not
 * touched.
 */
import { join } from 'node:path'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { visibleText } from '../../visible-text.ts'
import { listRuns } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { RunContext } from '../core/run-context.ts'
import { bringFinishedWork } from './finished-work.ts'
import { listChanges } from './progress-summary.ts'

const mostDiffChars = 200_000

type Solved = Run & { commit: string; baseCommit: string }

const isSolved = (run: Run): run is Solved => run.state === 'success' && run.commit !== null && run.baseCommit !== null

const newestWork = async ({ context }: RunContext, taskId: string): Promise<Solved | undefined> =>
  (await listRuns(context.db, { taskId, state: 'success' })).filter(isSolved).at(-1)

/** The task in the line of this one that solves a conflict; undefined = its work has no conflict markers to begin with. */
export const conflictTaskOf = async (
  { context }: Pick<RunContext, 'context'>,
  task: Task,
): Promise<Task | undefined> => {
  if (task.rework === null) return undefined
  if (task.rework.kind === 'conflict') return task
  const parent = await getTask(context.db, task.rework.parent)
  return parent === undefined ? undefined : conflictTaskOf({ context }, parent)
}

/** Its own solution, if that conflicted with newer work again, else the work of its parent. */
const workToMerge = async (runContext: RunContext): Promise<Solved | undefined> => {
  const fix = await conflictTaskOf(runContext, runContext.task)
  if (fix?.rework == null) return undefined
  return (await newestWork(runContext, fix.id)) ?? newestWork(runContext, fix.rework.parent)
}

const reportOf = (run: Solved, { conflicts, diff, changes }: { conflicts: string[]; diff: string; changes: string }) =>
  [
    'The finished work is merged into the workspace.',
    ...(conflicts.length === 0
      ? ['No lines conflict with the branch as it is now.']
      : [`Conflict markers are left in: ${conflicts.map(visibleText).join(', ')}.`]),
    changes,
    `The work alone is in ${diff} as a diff (commit ${run.commit.slice(0, 12)}).`,
  ].join('\n')

/** Otherwise the agent would look for conflict markers, and take the branch without the work for the solution. */
const goneReport =
  'The finished work is not in the workspace, because its commit is gone. There are no conflict markers to solve: do the task on the branch as it is now.'

/**
 * Part of phase `prepare`, on a fresh workspace of the commit `base`. Returns the report for the agent; undefined = the task solves no
 * conflict.
 */
export const mergeConflictingWork = async (runContext: RunContext, base: string): Promise<string | undefined> => {
  const { context, paths } = runContext
  const { files, git } = context.ports
  const run = await workToMerge(runContext)
  if (run === undefined) return undefined
  if (!(await bringFinishedWork(context, run))) return goneReport
  const { tree, conflicts } = await git.mergedTree(context.shadow, { commit: run.commit, onto: base })
  const { written } = await git.layOver(context.shadow, {
    snapshot: tree,
    from: base,
    onto: base,
    into: paths.workspace,
  })
  const diff = join(paths.agentDir, 'earlier.diff')
  const range = { from: run.baseCommit, to: run.commit }
  files.writeFileSync(diff, await git.diffText(context.shadow, range, mostDiffChars))
  context.log.info(
    { run: runContext.run.id, from: run.id, conflicts },
    'the work that conflicts is merged into the workspace',
  )
  return reportOf(run, { conflicts, diff, changes: listChanges(written) })
}
