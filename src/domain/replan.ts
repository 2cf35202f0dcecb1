/** When the finished tasks of a planned goal are compared with what was asked. Pure. */
import { isWork, type Task } from './task.ts'

/** Comparisons of a goal at most. A gap that two rounds of work did not close is for a person to see. */
export const mostReplans = 2

/** Added to the priority of the plan: any other work is more urgent. */
export const replanPriority = -100

export const isOfReplan = ({ plan }: Pick<Task, 'plan'>): boolean => plan === 'replan'

type PlannedTask = Pick<Task, 'number' | 'plan' | 'status' | 'supersededBy'>

/**
 * Whether what is missing is to be looked for. A plan that kept the goal in one task left nothing between tasks, and where the last
 * comparison brought no new work, another one would find the same. Who cancels a comparison wants none.
 */
export const wantsReplan = (tasks: readonly PlannedTask[], most: number): boolean => {
  const plans = tasks.filter(({ plan, status }) => plan !== null && plan !== 'only' && status === 'done')
  const last = plans.at(-1)
  if (last === undefined) return false
  const replans = tasks.filter(isOfReplan)
  if (replans.some(({ status }) => status === 'cancelled')) return false
  const since = tasks.filter((task) => isWork(task) && task.number > last.number && task.status === 'done')
  return replans.length < Math.min(most, mostReplans) && since.length >= (last.plan === 'replan' ? 1 : 2)
}
