/**
 * Joins diagnosis, ladder and store: records the intent of a recovery before its action, and its outcome when the
 * post-condition was observed. Decides nothing itself.
 */
import { diagnose, type Diagnosis } from '../recovery/diagnosis.ts'
import type { Evidence } from '../recovery/evidence.ts'
import { nextStep, type Step } from '../recovery/ladder.ts'
import type { PostCondition } from '../recovery/playbook.ts'
import type { Run } from '../domain/run.ts'
import type { Queryable } from '../store/db.ts'
import { insertRecovery, recoveriesOf, settleRecovery, type Recovery } from '../store/recovery.ts'
import type { Context } from './context.ts'

export interface Decision {
  diagnosis: Diagnosis
  step: Step
}

/** What to do about this evidence, given everything that was tried on the task before. */
export const decide = async (context: Context, run: Run, evidence: Evidence): Promise<Decision> => {
  const diagnosis = diagnose(evidence)
  const history = await recoveriesOf(context.db, run.taskId)
  return { diagnosis, step: nextStep(diagnosis, history, context.policy(), { id: run.taskId, runId: run.id }) }
}

export type RecoverStep = Extract<Step, { kind: 'recover' }>

export const recordIntent = (
  context: Context,
  tx: Queryable,
  run: Run,
  decision: { diagnosis: Diagnosis; step: RecoverStep },
): Promise<void> =>
  insertRecovery(tx, {
    id: context.newId('rec').replace('-', '_'),
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    worker: run.harness,
    playbook: decision.step.playbook.id,
    rung: decision.step.playbook.rung,
    scope: decision.step.playbook.scope,
    label: decision.diagnosis.label,
    signature: decision.diagnosis.signature,
    issueDetected: decision.diagnosis.evidence,
    action: decision.step.action,
    actionKey: decision.step.actionKey,
    postCondition: decision.step.postCondition,
    counted: decision.step.playbook.counted,
    attempt: decision.step.attempt,
  })

/** Decides every open recovery of a task whose post-condition `observe` can judge; undefined leaves it open. */
export const settleOpen = async (
  context: Context,
  tx: Queryable,
  taskId: string,
  observe: (condition: PostCondition, recovery: Recovery) => { holds: boolean; detail: string } | undefined,
): Promise<void> => {
  const open = (await recoveriesOf(tx, taskId)).filter((recovery) => recovery.status === 'acting')
  for (const recovery of open) {
    const seen = observe(recovery.postCondition as PostCondition, recovery)
    if (seen !== undefined) await settleRecovery(tx, recovery.id, seen.holds ? 'success' : 'failed', seen.detail)
  }
}

/** When a task ends for good or goes to a person, what is still open did not show its post-condition. */
export const failOpen = (context: Context, tx: Queryable, taskId: string, detail: string): Promise<void> =>
  settleOpen(context, tx, taskId, () => ({ holds: false, detail }))
