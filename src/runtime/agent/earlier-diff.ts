/**
 * For a task whose finished work conflicted with newer commits and is done again on top of them: the agent gets the reason and the
 * earlier work as a diff, so that it adapts that work instead of starting from nothing.
 */
import { join } from 'node:path'
import { recoveriesOf } from '../../store/recovery.ts'
import { getRun } from '../../store/run.ts'
import type { RunContext } from '../core/run-context.ts'
import { bringFinishedWork } from './finished-work.ts'
import { appendReport } from './progress-summary.ts'

const mostDiffChars = 200_000

/** Part of phase `prepare`. Appends to the report that `takeOver` may have written about the run before. */
export const reportConflict = async (runContext: RunContext): Promise<void> => {
  const { context, paths, task } = runContext
  const { files, git } = context.ports
  const open = (await recoveriesOf(context.db, task.id)).findLast(
    ({ status, action }) => status === 'acting' && action.type === 'run_again',
  )
  const before = open === undefined ? undefined : await getRun(context.db, open.runId)
  if (open === undefined || before === undefined || before.commit === null || before.baseCommit === null) return
  if (!(await bringFinishedWork(context, before))) return
  const path = join(paths.agentDir, 'earlier.diff')
  const range = { from: before.baseCommit, to: before.commit }
  files.writeFileSync(path, await git.diffText(context.shadow, range, mostDiffChars))
  const text = [
    `This task was done before, and the work passed its checks, but it conflicts with commits that were merged meanwhile: ${open.issueDetected}.`,
    `That work is in ${path} as a diff. Do the task again on the files that are in the workspace now, and keep the changes of others.`,
  ].join('\n')
  appendReport(runContext, text)
}
