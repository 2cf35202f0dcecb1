/** Approves finished work that weakened its own checks or is larger than the limits, which only a person may do. Exactly that commit is merged. */
import { offersChoice } from '../../domain/escalation.ts'
import type { Task } from '../../domain/task.ts'
import { goalEnded } from '../../domain/goal.ts'
import { AppError } from '../../errors.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { enqueueMerge } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { goalNamed, movedOrThrow, reopenGoal, taskNamed } from './commands.ts'

export const approveTask = async (context: Context, id: string): Promise<Task> => {
  await context.db.transaction(async (tx) => {
    const task = await taskNamed(tx, id)
    const goal = await goalNamed(tx, task.goalId)
    const pending = await pendingEscalationOf(tx, id)
    const run = pending?.runId == null ? undefined : await getRun(tx, pending.runId)
    if (pending === undefined || run === undefined || !offersChoice(pending, 'approve'))
      throw new AppError(
        'ILLEGAL',
        `task ${id} has no finished work that waits for an approval; "unstuck status" shows what waits for you`,
      )
    if (goalEnded(goal.state))
      throw new AppError('ILLEGAL', `goal ${goal.id} is ${goal.state}, so no work of it can land`)
    movedOrThrow(await answerEscalation(tx, pending, 'approve'))
    const trigger = goal.repoMode === 'direct' ? 'approved_in_place' : 'approved'
    movedOrThrow(await moveTask(tx, task, trigger, { runId: run.id, payload: { commit: run.commit } }))
    if (goal.repoMode !== 'direct') await enqueueMerge(tx, context.newId('m'), run)
    await reopenGoal(tx, goal.id)
  })
  context.wake()
  return taskNamed(context.db, id)
}
