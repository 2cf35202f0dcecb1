/** Reads from the store what decides how a task continues after a run without a recovery left. */
import type { ErrorMeta, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { failureCodes } from '../../recovery/diagnosis/labels.ts'
import type { RequeueFacts } from '../../recovery/requeue.ts'
import { coveredPaths } from '../../recovery/requeue/covered-paths.ts'
import type { FailedRun } from '../../recovery/requeue/repetition.ts'
import type { Queryable } from '../../store/db.ts'
import { childOf, requeuesOf } from '../../store/requeue.ts'
import { listRuns } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { liveGrantsFor } from '../core/granted-paths.ts'

/** Endings that say nothing about the work. */
export const notByWork: ReadonlySet<string> = new Set(['quota_failure', 'account_limited', 'interrupted', 'paused'])

type WithReason = Run & { errorMeta: ErrorMeta }

/** Runs of the present count that failed because of the work or its agent, oldest first. */
const failedRunsOf = async (db: Queryable, { id, countFromEpoch }: Task): Promise<WithReason[]> =>
  (await listRuns(db, { taskId: id, state: 'failed' })).filter(
    (run): run is WithReason =>
      run.epoch > countFromEpoch && run.errorMeta !== null && !notByWork.has(run.errorMeta.failureCode),
  )

export const comparable = ({
  taskId,
  epoch,
  errorMeta,
}: Pick<WithReason, 'taskId' | 'epoch' | 'errorMeta'>): FailedRun => ({
  ...{ taskId, epoch, failureCode: errorMeta.failureCode, signature: errorMeta.signature },
  ...(errorMeta.failedCommand === undefined ? {} : { command: errorMeta.failedCommand }),
  ...(errorMeta.failing === undefined ? {} : { failing: errorMeta.failing }),
})

/** The tasks that this one continues, oldest first. A person's retry begins a new count, which earlier tasks do not belong to. */
export const lineageOf = async (db: Queryable, task: Task): Promise<Task[]> => {
  const lineage: Task[] = []
  for (let at = task; at.rework !== null && at.countFromEpoch === 0;) {
    const parent = await getTask(db, at.rework.parent)
    if (parent === undefined || lineage.some(({ id }) => id === parent.id)) break
    lineage.unshift(parent)
    at = parent
  }
  return lineage
}

export type Failure = RequeueFacts['failure']

/** `row`: category and retryability where they are known better than by the stored code. */
export const failureOf = (
  { failureCode, source, failedCommandSource, policyViolations = [], adjustment }: ErrorMeta,
  row?: Pick<Failure, 'category' | 'retryable'>,
): Failure => {
  // A code that is not in the table is not retried without a person.
  const [category, retryable] = failureCodes[failureCode] ?? ['model', false]
  return {
    ...{ failureCode, category, retryable, ...row },
    isOfWork: source !== 'execution',
    isExplicit: failedCommandSource === 'task',
    violations: policyViolations.map(({ path }) => path),
    outside: policyViolations.flatMap(({ path, kind }) => (kind === 'outside' ? [path] : [])),
    never: policyViolations.flatMap(({ path, kind }) => (kind === 'outside' || kind === 'denied' ? [] : [path])),
    ...(adjustment === undefined ? {} : { adjustment }),
  }
}

/** The last run that failed because of the work or its agent. */
export const lastFailedRun = async (db: Queryable, task: Task): Promise<WithReason | undefined> =>
  (await failedRunsOf(db, task)).at(-1)

/** Which of the paths a task may change at present: by its own paths, or by what was granted to it meanwhile. */
export const coveredNow = async (
  db: Queryable,
  context: Pick<Context, 'config'>,
  task: Task,
  paths: readonly string[],
): Promise<string[]> => {
  if (paths.length === 0) return []
  const allowedPaths = [...task.allowedPaths, ...(await liveGrantsFor(db, context, task))]
  return coveredPaths({ allowedPaths, deniedPaths: [...task.deniedPaths, ...context.config().deniedPaths] }, paths)
}

export const readRequeueFacts = async (
  context: Context,
  db: Queryable,
  task: Task,
  given: Pick<RequeueFacts, 'status' | 'failure' | 'allowable'>,
): Promise<RequeueFacts> => {
  const config = context.config()
  const runs: FailedRun[] = []
  for (const each of [...(await lineageOf(db, task)), task])
    runs.push(...(await failedRunsOf(db, each)).map(comparable))
  return {
    ...given,
    allowable: [...given.allowable, ...(await coveredNow(db, context, task, given.failure.outside))],
    ...{ taskId: task.id, commands: task.commands, runs, past: await requeuesOf(db, task.id) },
    solvesConflict: task.rework?.kind === 'conflict',
    ...{ hasChild: (await childOf(db, task.id)) !== undefined, depth: task.rework?.depth ?? 0 },
    ...{ limits: config.requeue, mayDropExplicit: config.verify.skipMissingExplicitScript },
  }
}
