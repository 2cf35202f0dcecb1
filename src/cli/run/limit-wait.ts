/** Tells whether no task of a goal can make progress before a limit ends: of an account, or of tokens per hour. Pure. */
import type { GoalView, TaskView } from '../../api/contract.ts'
import { taskEnded } from '../../domain/task.ts'

export interface LimitWait {
  /** The harness whose account is at its limit; null = the limit of tokens per hour. */
  harness: string | null
  /** When the first of the limits ends. */
  until: number
}

const limitOf = ({ harness, status, nextStep }: TaskView): LimitWait | undefined => {
  const until = Date.parse(nextStep?.at ?? '')
  if (nextStep?.waitsFor === 'hour_tokens') return { harness: null, until }
  return status === 'blocked(quota_wait)' || nextStep?.waitsFor === 'account_limit' ? { harness, until } : undefined
}

/** The limit for which `run --no-wait` exits; undefined while a task runs, is being checked, or can start. */
export const limitWait = (goal: Pick<GoalView, 'tasks'>): LimitWait | undefined => {
  const live = goal.tasks.filter(({ status }) => !taskEnded(status))
  const waits = live.flatMap((task) => limitOf(task) ?? [])
  const [first] = waits.toSorted((one, other) => one.until - other.until)
  const behind = (task: TaskView): boolean =>
    task.status === 'queued' && task.dependsOn.some((id) => live.some((other) => other.id === id))
  return live.every((task) => limitOf(task) !== undefined || behind(task)) ? first : undefined
}
