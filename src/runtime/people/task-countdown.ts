/** A task with the time of its next start, in seconds as well, for clients whose clock differs from the store's. */
import type { Judgement } from '../../domain/judgement.ts'
import { secondsUntil, type Retry, type Task } from '../../domain/task.ts'
import { storeNow } from '../../store/event.ts'
import { openJudgementsOf } from '../../store/judgement.ts'
import type { Context } from '../core/context.ts'

/** What the countdowns of tasks depend on besides the tasks. */
interface Countdowns {
  now: Date
  /** Those of the task without a verdict. */
  judgements: readonly Judgement[]
  /** The setting `judge.retries`. */
  judgeRetries: number
}

/** When a reviewer that gave no answer is asked again. It is not stored with the task, because only its judgement waits. */
const reviewRetry = ({ state, retryAt, failures }: Judgement, limit: number): Retry | null =>
  state === 'waiting' && retryAt !== null ? { reason: 'awaiting_judge', at: retryAt, count: failures, limit } : null

/** The status is also there under the earlier name of that field. */
export const withCountdown = (task: Task, { now, judgements, judgeRetries }: Countdowns) => {
  const judgement = task.status === 'blocked(awaiting_judge)' ? judgements.at(-1) : undefined
  const retry = judgement === undefined ? task.retry : reviewRetry(judgement, judgeRetries)
  return {
    ...task,
    place: task.status,
    retry: retry === null ? null : { ...retry, inSeconds: secondsUntil(retry.at, now) },
  }
}

/** Reads what any number of tasks need in one query. */
export const withCountdowns = async ({ db, config }: Pick<Context, 'db' | 'config'>, tasks: readonly Task[]) => {
  const reviewed = tasks.flatMap(({ id, status }) => (status === 'blocked(awaiting_judge)' ? [id] : []))
  const judgements = reviewed.length === 0 ? [] : await openJudgementsOf(db, { taskIds: reviewed })
  const ofTask = Map.groupBy(judgements, ({ taskId }) => taskId)
  const shared = { now: await storeNow(db), judgeRetries: config().judge.retries }
  return tasks.map((task) => withCountdown(task, { ...shared, judgements: ofTask.get(task.id) ?? [] }))
}

/** The same for one task. */
export const shownTask = async (context: Pick<Context, 'db' | 'config'>, task: Task) => {
  const [shown] = await withCountdowns(context, [task])
  if (shown === undefined) throw new Error('a task was lost')
  return shown
}
