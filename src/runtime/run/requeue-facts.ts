/** Reads from the store what decides how a task continues after a run without a recovery left. */
import type { ErrorMeta } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { failureCodes } from '../../recovery/diagnosis/labels.ts'
import type { RequeueFacts } from '../../recovery/requeue.ts'
import { coveredPaths } from '../../recovery/requeue/covered-paths.ts'
import { fruitlessCalls } from '../../recovery/fruitless.ts'
import type { FailedRun } from '../../recovery/requeue/repetition.ts'
import type { Queryable } from '../../store/db.ts'
import { childOf, requeuesOf } from '../../store/requeue.ts'
import type { Context } from '../core/context.ts'
import { callResultsOf, failedRunsOf, lineageOf, type FailedRow } from '../core/call-results.ts'
import { liveGrantsFor } from '../core/granted-paths.ts'
import { defined } from '../../domain/defined.ts'

export const comparable = ({
  taskId,
  epoch,
  errorMeta,
}: Pick<FailedRow, 'taskId' | 'epoch' | 'errorMeta'>): FailedRun => ({
  ...{ taskId, epoch, failureCode: errorMeta.failureCode, signature: errorMeta.signature },
  ...defined({ command: errorMeta.failedCommand, failing: errorMeta.failing }),
})

export type Failure = RequeueFacts['failure']

/** `row`: category and retryability where they are known better than by the stored code. */
export const failureOf = (
  { failureCode, source, policyViolations = [], adjustment, withoutWork }: ErrorMeta,
  row?: Pick<Failure, 'category' | 'retryable'>,
): Failure => {
  // A code that is not in the table is not retried without a person.
  const [category, retryable] = failureCodes[failureCode] ?? ['model', false]
  return {
    ...{ failureCode, category, retryable, ...row },
    isOfWork: source !== 'execution',
    violations: policyViolations.map(({ path }) => path),
    outside: policyViolations.flatMap(({ path, kind }) => (kind === 'outside' ? [path] : [])),
    never: policyViolations.flatMap(({ path, kind }) => (kind === 'outside' || kind === 'denied' ? [] : [path])),
    ...defined({ adjustment, withoutWork }),
  }
}

/** The last run that failed because of the work or its agent. */
export const lastFailedRun = async (db: Queryable, task: Task): Promise<FailedRow | undefined> =>
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
    fruitless: fruitlessCalls(await callResultsOf(db, task)),
    solvesConflict: task.rework?.kind === 'conflict',
    ...{ hasChild: (await childOf(db, task.id)) !== undefined, depth: task.rework?.depth ?? 0 },
    limits: config.requeue,
  }
}
