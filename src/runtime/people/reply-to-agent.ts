/** A person's answer to a question that an agent asked during its run. */
import type { Escalation } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import { answerEscalation, getEscalation } from '../../store/escalation.ts'
import { lockGoal } from '../../store/goal.ts'
import { setHint } from '../../store/hint.ts'
import type { Context } from '../core/context.ts'
import { hintText } from '../core/person-text.ts'
import { taskNamed } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'

/**
 * Stores the answer for the agent that waits for it, and for every later attempt. False = the task waits for a person, so it has to
 * be retried with the answer.
 */
export const replyToAgent = async (
  context: Context,
  { id, goalId, taskId }: Escalation,
  text: string,
): Promise<boolean> => {
  const hint = hintText(context, text)
  return commandTransaction(context, async (tx) => {
    await lockGoal(tx, goalId)
    const task = await taskNamed(tx, taskId ?? '')
    if (task.status === 'blocked(awaiting_human)') return false
    const question = await getEscalation(tx, id)
    if (question === undefined) throw new AppError('NOT_FOUND', `there is no question ${id}`)
    movedOrThrow(await answerEscalation(tx, question, 'reply', hint ?? ''))
    await setHint(tx, task.id, hint)
    return true
  })
}
