/** The owner of a task parks it until something is linked, and resolves the link. Nothing else ends this wait. */
import { linkRetry, waitsForLink } from '../../domain/task-review.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { actorName } from '../core/person-text.ts'
import { reopenGoal, taskNamed } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'

const lineOf = (text: string, field: string): string => {
  const line = text.trim()
  if (line === '' || /\p{Cc}/u.test(line) || line.length > 200)
    throw new AppError('INPUT_INVALID', `${field}: allowed: one line of 1 to 200 characters`)
  return line
}

/** Parks a queued task until it is linked. */
export const awaitLink = async (
  context: Context,
  id: string,
  { waitsFor, by }: { waitsFor: string; by?: string | undefined },
): Promise<Task> => {
  const link = { waitsFor: lineOf(waitsFor, 'waitsFor'), issue: null }
  return commandTransaction(context, async (tx) => {
    const task = await taskNamed(tx, id)
    const at = new Date((await storeNow(tx)).getTime() + context.config().requeue.linkSeconds * 1000)
    const payload = { waitsFor: link.waitsFor, by: actorName(by) }
    return movedOrThrow(await moveTask(tx, task, 'link_awaited', { link, retry: { ...linkRetry, at }, payload }))
  })
}

/** Resolves the link, also after a person was asked about it: the task is queued. */
export const linkTask = async (
  context: Context,
  id: string,
  { issue, by }: { issue: string; by?: string | undefined },
): Promise<Task> => {
  const name = lineOf(issue, 'issue')
  const linked = await commandTransaction(context, async (tx) => {
    const task = await taskNamed(tx, id)
    const question = await pendingEscalationOf(tx, id)
    if (!waitsForLink(task, question?.id))
      throw new AppError(
        'ILLEGAL',
        `task ${id} is ${task.status} and waits for no link; to make a queued task wait for one: unstuck link ${id} --wait "<what>"`,
      )
    if (question !== undefined) movedOrThrow(await answerEscalation(tx, question, 'overtaken'))
    const link = { waitsFor: task.link?.waitsFor ?? '', issue: name }
    const moved = movedOrThrow(
      await moveTask(tx, task, 'linked', { link, payload: { issue: name, by: actorName(by) } }),
    )
    await reopenGoal(tx, task.goalId)
    return moved
  })
  context.wake()
  return linked
}
