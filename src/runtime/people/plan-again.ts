/** A person looked at the plan of a goal, and wants another one. */
import type { Escalation } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import { answerEscalation } from '../../store/escalation.ts'
import { lockGoal, moveGoal } from '../../store/goal.ts'
import { listTasks, moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { actorName, hintText } from '../core/person-text.ts'
import { goalNamed, movedOrThrow } from './commands.ts'

/**
 * The tasks of the plan end before any of them began, and the planner plans again with the person's words. Everything in one transaction:
 * a start at the same time finds either the old plan or none.
 */
export const planAgain = async (
  context: Context,
  question: Escalation,
  { text, by }: { text: string; by: string | undefined },
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, question.goalId)
    const goal = await goalNamed(tx, question.goalId)
    const tasks = await listTasks(tx, goal.id)
    const planner = tasks.find(({ plan, status }) => plan === 'review' && status === 'done')
    if (planner === undefined || goal.state !== 'paused')
      throw new AppError('ILLEGAL', `the plan of goal ${goal.id} is at work; "unstuck status" shows it`)
    const payload = { by: actorName(by), with: 'plan' }
    for (const task of tasks.filter(({ status }) => status === 'queued'))
      movedOrThrow(await moveTask(tx, task, 'cancelled', { supersededBy: planner.id, payload }))
    const hint = hintText(context, text)
    movedOrThrow(await moveTask(tx, planner, 'planned_again', { resetBudget: true, hint, payload }))
    movedOrThrow(await answerEscalation(tx, question, 'plan_again', text))
    movedOrThrow(await moveGoal(tx, goal, 'resumed', 'it is planned again'))
  })
  context.wake()
}
