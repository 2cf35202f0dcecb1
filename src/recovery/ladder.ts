/**
 * The ladder: which playbook handles a diagnosis, and what happens when none is left. `nextStep` is pure and total: it always
 * returns an action that was not tried for this failure, or a "then" that asks a person.
 */
import type { Diagnosis } from './types.ts'
import {
  actionKeyOf,
  type Action,
  type PastRecovery,
  type Playbook,
  type PostCondition,
  type RetryPolicy,
  type WhenExhausted,
} from './playbook.ts'
import type { OwnQuestion, OwnSettings } from './own/own-playbook.ts'
import { feedbackPlaybooks } from './playbooks/feedback.ts'
import { mergePlaybooks } from './playbooks/merge.ts'
import { policyPlaybooks } from './playbooks/policy.ts'
import { proposalPlaybooks } from './playbooks/proposal.ts'
import { objectionPlaybooks } from './playbooks/objections.ts'
import { permissionPlaybooks } from './playbooks/permission.ts'
import { progressPlaybooks } from './playbooks/progress.ts'
import { providerPlaybooks } from './playbooks/provider.ts'
import { verificationPlaybooks } from './playbooks/verification.ts'

/** In order of choice: of the playbooks for one label, the first one with its evidence applies. */
export const playbooks: readonly Playbook[] = [
  ...permissionPlaybooks,
  ...providerPlaybooks,
  ...progressPlaybooks,
  ...verificationPlaybooks,
  // After the repairs that need no agent, because feedback costs a turn.
  ...feedbackPlaybooks,
  ...policyPlaybooks,
  ...proposalPlaybooks,
  ...mergePlaybooks,
  ...objectionPlaybooks,
]

/** The most counted recoveries of a task until a person resets its count. Waits are not counted. */
export const totalBudget = 12

export interface LadderSettings {
  playbooks: readonly Playbook[]
  disabled: readonly string[]
  retry: RetryPolicy
  /** Most calls of an agent that bring nothing new; absent or -1 = no limit. */
  fruitlessCalls?: number
  /** Absent = the owner has none, or they have no say here. */
  own?: OwnSettings
}

export type LadderStep =
  | {
      kind: 'recover'
      playbook: Playbook
      action: Action
      actionKey: string
      postCondition: PostCondition
      attempt: number
    }
  | { kind: 'exhausted'; then: WhenExhausted; reason: string; question?: OwnQuestion }

/** Problems of the machine or the CLI: every other run of the goal would meet them as well. */
const blocksGoal = ({ rung, label }: Diagnosis): boolean =>
  rung === 1 || label === 'FS_PERM_ERROR' || label === 'DIRECTORY_MISSING'

const exhausted = (diagnosis: Diagnosis, reason: string): LadderStep => ({
  kind: 'exhausted',
  then: blocksGoal(diagnosis) ? 'pause_goal' : 'escalate',
  reason,
})

/**
 * A correction that had no effect is never repeated, and no correction is applied twice in one run. A correction that helped
 * an earlier run may be needed again, because grants end with their run.
 */
const notTried = (history: readonly PastRecovery[], action: Action, runId: string): boolean =>
  action.type === 'wait' ||
  !history.some((past) => past.actionKey === actionKeyOf(action) && (past.status === 'failed' || past.runId === runId))

/** The attempts that count towards the playbook's budget. */
const attemptsOf = (
  { id, refilled, anyLabel }: Playbook,
  { label }: Diagnosis,
  history: readonly PastRecovery[],
  all: readonly Playbook[],
): number => {
  if (refilled !== true)
    return history.filter((past) => past.playbook === id && (anyLabel === true || past.label === label)).length
  const refilling = new Set(all.filter((other) => other.refilled === true).map((other) => other.id))
  const helped = history.findLastIndex((past) => refilling.has(past.playbook) && past.status === 'success')
  return history.slice(helped + 1).filter((past) => past.playbook === id).length
}

/** Whether the agent gets the same work once more by this action: at once, or after a wait that is not for its checks alone. */
const callsAgent = (action: Action): boolean =>
  action.type === 'relaunch' ? action.ask === undefined : action.type === 'wait' && action.forChecks !== true

/** Whether the checks run again later, because the machine is at fault. */
export const isMachineWait = (step: LadderStep): boolean =>
  step.kind === 'recover' && step.action.type === 'wait' && step.action.forChecks === true

/** The recovery to apply to this diagnosis, given everything that was tried in the present count (oldest first). */
export const nextStep = (
  diagnosis: Diagnosis,
  history: readonly PastRecovery[],
  policy: LadderSettings,
  /** `fruitless`: calls of the agent that brought nothing new, with the one that has just failed. */
  task: { id: string; runId: string; fruitless?: number },
): LadderStep => {
  const { fruitlessCalls: limit = -1 } = policy
  const isFruitless = limit >= 0 && (task.fruitless ?? 0) >= limit
  const spent = history.filter((past) => past.counted).length
  const family = policy.playbooks.filter((playbook) => playbook.labels.includes(diagnosis.label))
  if (family.length === 0) return exhausted(diagnosis, `no playbook handles ${diagnosis.label}`)
  const reasons: string[] = []
  for (const playbook of family) {
    const attempts = attemptsOf(playbook, diagnosis, history, policy.playbooks)
    const action = playbook.plan(diagnosis, { attempts, taskId: task.id, retry: policy.retry })
    if (policy.disabled.includes(playbook.id)) reasons.push(`${playbook.id} is disabled`)
    else if (attempts >= playbook.budget) reasons.push(`${playbook.id} was tried ${attempts} times`)
    else if (action === undefined)
      reasons.push(`${playbook.id} lacks its evidence or has reached its limit (it needs: ${playbook.neededEvidence})`)
    else if (!notTried(history, action, task.runId)) reasons.push(`${playbook.id} already tried the same action`)
    else if (playbook.counted && spent >= totalBudget) reasons.push(`the task has used its ${totalBudget} recoveries`)
    else if (isFruitless && playbook.rung >= 3 && callsAgent(action))
      reasons.push(`${task.fruitless} calls of the agent in a row brought nothing new`)
    else {
      return {
        kind: 'recover',
        playbook,
        action,
        actionKey: actionKeyOf(action),
        postCondition: playbook.postCondition(action),
        attempt: attempts + 1,
      }
    }
  }
  return exhausted(diagnosis, reasons.join('; '))
}
