/** The recovery record of one `unstuck exec`. It is held in memory, and its outcomes are emitted as events. */
import { randomUUID } from 'node:crypto'
import type { ChosenRecovery, RecordedRecovery, RecoveryRecord } from '../runtime/core/recovery-record.ts'
import type { ExecParts } from './exec-events.ts'

/** Stands in for the task and run that a record refers to. */
export const execRun = { id: 'exec', runId: 'exec' } as const

interface Remembered extends RecordedRecovery {
  issue: string
  attempt: number
}

const remember = ({ diagnosis, step }: ChosenRecovery): Remembered => ({
  id: `rec_${randomUUID().replaceAll('-', '').slice(0, 12)}`,
  runId: execRun.runId,
  playbook: step.playbook.id,
  label: diagnosis.label,
  action: step.action,
  actionKey: step.actionKey,
  postCondition: step.postCondition,
  status: 'acting',
  counted: step.playbook.counted,
  issue: diagnosis.evidence,
  attempt: step.attempt,
})

export const memoryRecord = ({ command, emit }: Pick<ExecParts, 'command' | 'emit'>): RecoveryRecord => {
  const recoveries: Remembered[] = []
  return {
    history: async () => recoveries,
    begin: async (chosen) => void recoveries.push(remember(chosen)),
    resolve: async (id, status) => {
      const recovery = recoveries.find((candidate) => candidate.id === id)
      if (recovery?.status !== 'acting') return
      recovery.status = status
      const { issue, action, attempt } = recovery
      emit({
        type: 'recovery',
        id,
        timestamp: new Date().toISOString(),
        payload: {
          worker: command.driver.name,
          issue_detected: issue,
          action_taken: action.name,
          status,
          retry_count: attempt,
        },
      })
    },
  }
}
