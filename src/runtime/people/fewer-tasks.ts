/** A status of which each goal lists at most so many tasks: those that have not ended first, then the newest of the others. Pure. */
import { taskEnded, type TaskStatus } from '../../domain/task.ts'

interface Listed {
  number: number
  status: TaskStatus
}

/** The goal with at most `most` tasks, in their order, and how many more there are of each status. */
export const withFewerTasks = <T extends Listed, G extends { tasks: readonly T[] }>(
  goal: G,
  most: number,
): G & { moreTasks?: Record<string, number> } => {
  const { tasks } = goal
  if (tasks.length <= most) return goal
  const [ended, open] = [
    tasks.filter((task) => taskEnded(task.status)),
    tasks.filter((task) => !taskEnded(task.status)),
  ]
  const kept = new Set([...open, ...ended.toReversed()].slice(0, most))
  const moreTasks: Record<string, number> = {}
  for (const { status } of tasks.filter((task) => !kept.has(task))) moreTasks[status] = (moreTasks[status] ?? 0) + 1
  return { ...goal, tasks: tasks.filter((task) => kept.has(task)), moreTasks }
}
