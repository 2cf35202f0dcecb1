/** Tells whether no task of a goal can make progress before the limit of an account ends. Pure. */
import type { GoalView, StatusView, TaskView } from '../../api/contract.ts'
import { taskEnded } from '../../domain/task.ts'

export interface LimitWait {
  harness: string
  /** When the first of the limits ends. */
  until: number
}

const limitOf = (task: TaskView, limits: StatusView['limits']): LimitWait | undefined => {
  const { harness, nextStep } = task
  if (task.place === 'blocked(quota_wait)') return { harness, until: Date.parse(nextStep?.at ?? '') }
  const limit = task.place === 'queued' ? limits.find(({ harnesses }) => harnesses.includes(harness)) : undefined
  return limit === undefined ? undefined : { harness, until: new Date(limit.until).getTime() }
}

/** The limit for which `run --no-wait` exits; undefined while a task runs, is being checked, or can start. */
export const limitWait = (goal: Pick<GoalView, 'tasks'>, limits: StatusView['limits']): LimitWait | undefined => {
  const live = goal.tasks.filter(({ place }) => !taskEnded(place))
  const waits = live.flatMap((task) => limitOf(task, limits) ?? [])
  const [first] = waits.toSorted((one, other) => one.until - other.until)
  const behind = (task: TaskView): boolean =>
    task.place === 'queued' && task.dependsOn.some((id) => live.some((other) => other.id === id))
  return live.every((task) => limitOf(task, limits) !== undefined || behind(task)) ? first : undefined
}
