/** What was decided about a goal from its tasks holds only for the tasks as they were read. */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { StaleError, type Queryable } from '../../store/db.ts'
import { lockGoal } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'

/**
 * Throws `StaleError` if a task of the goal is no longer as it was read. A person may retry one in that moment, and a goal that ends, or
 * begins to wait for answers, would leave it in the queue for ever. What else moves a task waits for the lock.
 */
export const requireAsRead = async (tx: Queryable, goal: Goal, tasks: readonly Task[]): Promise<void> => {
  await lockGoal(tx, goal.id)
  const versions = (list: readonly Task[]): string => list.map(({ id, version }) => `${id} ${version}`).join()
  if (versions(await listTasks(tx, goal.id)) !== versions(tasks))
    throw new StaleError(`a task of goal ${goal.id} was changed in the meantime`)
}
