/** A person leaves changed paths out of the work of a task, so that it continues without them. */
import type { Task } from '../../domain/task.ts'
import type { Queryable } from '../../store/db.ts'
import { insertRequeue, leftOut } from '../../store/requeue.ts'
import { pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { Context } from '../core/context.ts'
import { pathRulesOf } from '../core/effective-paths.ts'
import { liveGrantsFor } from '../core/granted-paths.ts'

/** Recorded with the requeue: every later run of the task, and of a task that continues it, reads it. */
export const leavePathsOut = async (
  context: Context,
  tx: Queryable,
  task: Task,
  paths: readonly string[],
): Promise<Task> => {
  const matches = pathRulesOf([...task.allowedPaths, ...(await liveGrantsFor(tx, context, task))]).map(pathMatcher)
  // Refused for what it is, as a secret or a denied path: that its paths cover it does not bring it back.
  const covered = paths.filter((path) => matches.some((covers) => covers(path)))
  await insertRequeue(tx, {
    ...{ id: context.newId('rq').replace('-', '_'), goalId: task.goalId, taskId: task.id, runId: null },
    ...{ epoch: task.epoch, reason: leftOut, cause: leftOut, signature: '', payload: { paths, covered } },
  })
  return task
}
