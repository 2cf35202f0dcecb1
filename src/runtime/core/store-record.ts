/** The recovery record of the engine: rows of the store, written in the transaction of the change that they belong to. */
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

/** A row as the ladder reads it: actions and post-conditions are stored as they were written. */
type StoredRecovery = Recovery & Recorded

const openOf = (db: Queryable, taskId: string) => ({
  history: async () => (await recoveriesOf(db, taskId)) as unknown as StoredRecovery[],
  resolve: (id: string, status: 'success' | 'failed', detail: string) => settleRecovery(db, id, status, detail),
})

/** Outcomes of a run's own recoveries: each is written only while the run holds its lease. */
export const fencedRecoveries = ({ db }: Pick<Context, 'db'>, run: Run): ReturnType<typeof openOf> => ({
  history: openOf(db, run.taskId).history,
  resolve: (id, status, detail) =>
    db.transaction(async (tx) => {
      await holdLease(tx, run)
      await settleRecovery(tx, id, status, detail)
    }),
})

/** What to do about this evidence, given everything that was tried on the task before. */
export const decide = (context: Context, run: Run, evidence: Evidence): Promise<Decision> =>
  chooseRecovery(openOf(context.db, run.taskId), evidence, {
    policy: context.policy(),
    task: { id: run.taskId, runId: run.id },
  })

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

/** Resolves every open recovery of a task whose post-condition `observe` can judge; undefined leaves it open. */
export const settleOpen = (
  tx: Queryable,
  taskId: string,
  observe: (condition: PostCondition, recovery: Recovery) => Outcome,
): Promise<void> => resolveOpen(openOf(tx, taskId), observe)

/** When an attempt ends and the task goes on: what its merge will decide stays open. */
export const failAttempt = (tx: Queryable, taskId: string, detail: string): Promise<void> =>
  settleOpen(tx, taskId, (condition) => (condition.type === 'work_merges' ? undefined : { holds: false, detail }))

/** When a task ends for good or goes to a person, what is still open did not show its post-condition. */
export const failOpen = (tx: Queryable, taskId: string, detail: string): Promise<void> =>
  settleOpen(tx, taskId, () => ({ holds: false, detail }))
