/**
 * A task whose AutoFix task has ended without a result. Nothing is left that a machine would try in its place, so a person is asked; the
 * work is kept.
 */
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import { cancelChoice, hintChoice, retryChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'

const happenedText = ({ number, title }: Task): string =>
  `Task ${number} "${title}" has finished work that could not land, and the task that was to correct it ended without a result.`

const keptText = (run: Run | undefined): string =>
  run?.commit == null
    ? ''
    : `The work is kept: commit ${run.commit}, and in the snapshots of the run (unstuck restore ${run.id} --into <folder>).`

export const continueAfterAutoFix = async (context: Context, tx: Queryable, task: Task): Promise<void> => {
  const run = (await listRuns(tx, { taskId: task.id, state: 'success' })).at(-1)
  const happened = happenedText(task)
  const tried = triedLines(await recoveriesOf(tx, task.id))
  mustSucceed(await moveTask(tx, task, 'escalated', { payload: { reason: 'auto_fix_ended' } }))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: task.id, runId: run?.id ?? null, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried), details: keptText(run) },
    choices: [hintChoice(task.id), retryChoice(task.id), cancelChoice(task.id)],
  })
}
