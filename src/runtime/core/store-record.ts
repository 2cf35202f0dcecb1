/** The recovery record of the engine: rows of the store, written in the same transaction as the change that they belong to. */
import type { Run } from '../../domain/run.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import { historyOfTurn } from '../../recovery/loop/turn-history.ts'
import type { PostCondition } from '../../recovery/playbook.ts'
import type { Queryable } from '../../store/db.ts'
import { insertRecovery, recoveriesOf, resolveRecovery, type Recovery } from '../../store/recovery.ts'
import { requireLease } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { callResultsOf } from './call-results.ts'
import type { Context } from './context.ts'
import {
  chooseRecovery,
  resolveOpen,
  type ChosenRecovery,
  type RecoveryDecision,
  type PostConditionOutcome,
  type RecordedRecovery,
} from './recovery-record.ts'

/** A row of the store with typed action and post-condition; both are stored as JSON. */
type StoredRecovery = Recovery & RecordedRecovery

const openOf = (db: Queryable, taskId: string) => ({
  history: async () => (await recoveriesOf(db, taskId)) as unknown as StoredRecovery[],
  resolve: (id: string, status: 'success' | 'failed', detail: string) => resolveRecovery(db, id, status, detail),
})

/** For outcomes that a run writes itself: refused when the run has lost its lease, because another engine may own the task now. */
export const fencedRecoveries = ({ db }: Pick<Context, 'db'>, run: Run): ReturnType<typeof openOf> => ({
  history: openOf(db, run.taskId).history,
  resolve: (id, status, detail) =>
    db.transaction(async (tx) => {
      await requireLease(tx, run)
      await resolveRecovery(tx, id, status, detail)
    }),
})

/** What counts as tried in the present turn of a loop, or in the run of any other task. */
const ofTurn = (open: ReturnType<typeof openOf>, { loop }: Run): ReturnType<typeof openOf> =>
  loop === null ? open : { ...open, history: async () => historyOfTurn(await open.history(), loop.recoveries) }

/** The diagnosis of this evidence, and the next step after everything that was tried on the task. */
export const chooseStoredRecovery = async (
  context: Pick<Context, 'policy'> & { db: Queryable },
  run: Run,
  evidence: Evidence,
): Promise<RecoveryDecision> => {
  const task = await getTask(context.db, run.taskId)
  return chooseRecovery(ofTurn(openOf(context.db, run.taskId), run), evidence, {
    policy: context.policy(),
    task: { id: run.taskId, runId: run.id, harness: run.harness },
    calls: task === undefined || run.loop !== null ? [] : await callResultsOf(context.db, task),
  })
}

/** Stores that a recovery is about to be carried out. */
export const recordIntent = (
  context: Context,
  tx: Queryable,
  run: Run,
  { diagnosis, step }: ChosenRecovery,
): Promise<void> =>
  insertRecovery(tx, {
    id: context.newId('rec').replace('-', '_'),
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    worker: run.harness,
    playbook: step.playbook.id,
    rung: step.playbook.rung,
    scope: step.playbook.scope,
    label: diagnosis.label,
    signature: diagnosis.signature,
    issueDetected: diagnosis.evidence,
    action: step.action,
    actionKey: step.actionKey,
    postCondition: step.postCondition,
    counted: step.playbook.counted,
    attempt: step.attempt,
  })

/** Resolves every open recovery of a task for which `observe` returns an outcome; the others stay open. */
export const resolveOpenOf = (
  tx: Queryable,
  taskId: string,
  observe: (condition: PostCondition, recovery: Recovery) => PostConditionOutcome,
): Promise<void> => resolveOpen(openOf(tx, taskId), observe)

/**
 * For an attempt that ends while the task continues: recoveries that the merge will prove stay open. `unchecked`: the checks did not run,
 * so that a look at what an agent left has shown nothing yet.
 */
export const failAttemptRecoveries = (
  tx: Queryable,
  taskId: string,
  detail: string,
  { unchecked = false } = {},
): Promise<void> =>
  resolveOpenOf(tx, taskId, (condition, { action }) =>
    condition.type === 'work_merges' || (unchecked && action.type === 'check_work')
      ? undefined
      : { satisfied: false, detail },
  )

/** For a task that ends or goes to a person: every open recovery failed, because nothing can prove it any more. */
export const failOpenRecoveries = (tx: Queryable, taskId: string, detail: string): Promise<void> =>
  resolveOpenOf(tx, taskId, () => ({ satisfied: false, detail }))
