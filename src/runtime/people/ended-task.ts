/** What a person reads who uses a command on a task that has ended, with the command that helps. */
import { taskNameInside } from '../../domain/task-title.ts'
import type { Task } from '../../domain/task.ts'
import type { Queryable } from '../../store/db.ts'
import { isGivenUp } from '../../store/requeue.ts'
import { getTask } from '../../store/task.ts'

/** The task at the end of the chain that continues this one. */
const continuationOf = async (db: Queryable, task: Task): Promise<Task> => {
  let at = task
  for (const seen = new Set<string>(); at.supersededBy !== null && !seen.has(at.id);) {
    seen.add(at.id)
    at = (await getTask(db, at.supersededBy)) ?? at
  }
  return at
}

/** For a task that another one continues: which one, and the command for it. */
export const continuedText = async (db: Queryable, task: Task, verb: 'retry' | 'edit' | 'cancel'): Promise<string> => {
  const next = await continuationOf(db, task)
  const { id, number, title, status, goalId } = next
  const state = (await isGivenUp(db, next)) ? 'was given up' : `is ${status}`
  const advice =
    status === 'done'
      ? 'nothing is left to do'
      : verb === 'cancel' && status === 'cancelled'
        ? `to end the goal: unstuck cancel ${goalId}`
        : `use: unstuck ${verb} ${id}`
  return `task ${task.number} has ended, because ${taskNameInside({ number, title })} continues its work and ${state}; ${advice}`
}

export const alreadyCancelledText = async (db: Queryable, task: Task): Promise<string> => {
  if (task.supersededBy !== null) return continuedText(db, task, 'cancel')
  return (await isGivenUp(db, task))
    ? `task ${task.id} was given up and is cancelled already; to end its goal as well: unstuck cancel ${task.goalId}`
    : `task ${task.id} is cancelled already`
}
