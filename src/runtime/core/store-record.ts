/** The recovery record of the engine: rows of the store, written in the same transaction as the change that they belong to. */
import type { Run } from '../../domain/run.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { PostCondition } from '../../recovery/playbook.ts'
import type { Queryable } from '../../store/db.ts'
import { insertRecovery, recoveriesOf, settleRecovery, type Recovery } from '../../store/recovery.ts'
import { holdLease } from '../../store/run.ts'
import type { Context } from './context.ts'
import {
  chooseRecovery,
  resolveOpen,
  type Chosen,
  type Decision,
  type Outcome,
  type Recorded,
} from './recovery-record.ts'

/** A row of the store with typed action and post-condition; both are stored as JSON. */
type StoredRecovery = Recovery & Recorded

const openOf = (db: Queryable, taskId: string) => ({
  history: async () => (await recoveriesOf(db, taskId)) as unknown as StoredRecovery[],
  resolve: (id: string, status: 'success' | 'failed', detail: string) => settleRecovery(db, id, status, detail),
})

/** For outcomes that a run writes itself: refused when the run has lost its lease, because another engine may own the task now. */
export const fencedRecoveries = ({ db }: Pick<Context, 'db'>, run: Run): ReturnType<typeof openOf> => ({
  history: openOf(db, run.taskId).history,
  resolve: (id, status, detail) =>
    db.transaction(async (tx) => {
      await holdLease(tx, run)
      await settleRecovery(tx, id, status, detail)
    }),
})

/** The diagnosis of this evidence, and the next step after everything that was tried on the task. */
export const decide = (context: Context, run: Run, evidence: Evidence): Promise<Decision> =>
  chooseRecovery(openOf(context.db, run.taskId), evidence, {
    policy: context.policy(),
    task: { id: run.taskId, runId: run.id },
  })

/** Stores that a recovery is about to be carried out. */
export const recordIntent = (context: Context, tx: Queryable, run: Run, { diagnosis, step }: Chosen): Promise<void> =>
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
export const settleOpen = (
  tx: Queryable,
  taskId: string,
  observe: (condition: PostCondition, recovery: Recovery) => Outcome,
): Promise<void> => resolveOpen(openOf(tx, taskId), observe)

/** For an attempt that ends while the task continues: recoveries that the merge will prove stay open. */
export const failAttempt = (tx: Queryable, taskId: string, detail: string): Promise<void> =>
  settleOpen(tx, taskId, (condition) => (condition.type === 'work_merges' ? undefined : { holds: false, detail }))

/** For a task that ends or goes to a person: every open recovery failed, because nothing can prove it any more. */
export const failOpen = (tx: Queryable, taskId: string, detail: string): Promise<void> =>
  settleOpen(tx, taskId, () => ({ holds: false, detail }))
