/**
 * Carries out the recovery that the ladder chose. There is one table per scope, and together they cover every type of
 * action, so an action without an implementation does not compile.
 */
import { isGivenBack, needsNoAgent } from '../../domain/task.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { LadderStep } from '../../recovery/ladder.ts'
import type { Action, ActionIn } from '../../recovery/playbook.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { keepSnapshot } from '../agent/stop-agent.ts'
import { requireRepository } from '../core/gone-repository.ts'
import {
  dispatchAction,
  type ActionHandlers,
  type ChosenRecovery,
  type RecoveryDecision,
} from '../core/recovery-record.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery } from '../core/store-record.ts'
import { checkLeft } from './check-left.ts'
import { endExhausted } from './end-exhausted.ts'
import { endSwitched, endWaiting, errorMetaOf } from './endings.ts'
import type { PhaseResult } from './phase.ts'
import { pathActions } from './policy-actions.ts'
import { relaunch } from './relaunch.ts'
import { recordModeChange, repairs } from './repair.ts'
import { intendProposed } from './run-proposal.ts'

const launchActions: ActionHandlers<RunContext, PhaseResult, ActionIn<'launch'>> = { relaunch }

const runActions: ActionHandlers<RunContext, PhaseResult, ActionIn<'run'>> = {
  chmod: recordModeChange,
  ...repairs,
  ...pathActions,
  check_work: checkLeft,
  run_proposed: intendProposed,
}

/** The label of a diagnosis as a person reads it, in the list of snapshots. */
const wordsOf = ({ label }: Diagnosis): string => label.replaceAll('_', ' ')

/** The run ends, and the task continues in a later run. */
const taskActions: ActionHandlers<RunContext, PhaseResult, ActionIn<'task'>> = {
  wait: async (runContext, chosen) => {
    await keepSnapshot(runContext, `before a wait: ${wordsOf(chosen.diagnosis)}`)
    await endWaiting(runContext, chosen)
    return 'ended'
  },
  switch_harness: async (runContext, chosen) => {
    await keepSnapshot(runContext, `before ${chosen.step.action.harness} continues: ${wordsOf(chosen.diagnosis)}`)
    await endSwitched(runContext, chosen)
    return 'ended'
  },
}

/** Actions that a run may choose; those of scope `goal` belong to the merge queue. */
type OfRun = Exclude<Action['type'], ActionIn<'goal'>>

const actions: ActionHandlers<RunContext, PhaseResult, OfRun> = { ...launchActions, ...runActions, ...taskActions }

const needsAgent: readonly Action['type'][] = ['relaunch', 'switch_harness', 'ask_paths']

/** Failures of work that exists already are reported to the person whose it is: no agent is launched on it. */
const allowedStep = ({ task }: RunContext, step: LadderStep): LadderStep => {
  if (!needsNoAgent(task) || step.kind !== 'recover' || !needsAgent.includes(step.action.type)) return step
  const reason = isGivenBack(task) ? "the work is a person's own" : 'the work is reviewed as it is'
  return { kind: 'exhausted', then: 'escalate', reason }
}

type Extra = Parameters<typeof errorMetaOf>[1]

const carryOutOr = (
  runContext: RunContext,
  { diagnosis, step }: RecoveryDecision,
  extra?: Extra,
): Promise<PhaseResult> => {
  const taken = allowedStep(runContext, step)
  return taken.kind === 'recover'
    ? dispatchAction(actions, runContext, { diagnosis, step: taken })
    : endUnrecovered(runContext, { diagnosis, step: taken }, extra)
}

export const carryOut = (runContext: RunContext, chosen: ChosenRecovery): Promise<PhaseResult> =>
  carryOutOr(runContext, chosen)

/** No recovery is left: the run ends, and its task waits for its next start or for a person. */
export const endUnrecovered = async (
  runContext: RunContext,
  decision: RecoveryDecision,
  extra: Extra = {},
): Promise<PhaseResult> => {
  const { diagnosis } = decision
  await keepSnapshot(runContext, `the run failed: ${wordsOf(diagnosis)}`)
  await endExhausted(runContext, decision, errorMetaOf(diagnosis, extra))
  return 'ended'
}

/**
 * Chooses the recovery for this evidence and carries it out, or ends the run if none is left. Throws if the repository of an agent that
 * was started is gone: that is why it failed. A run that cannot begin without it is told as a missing directory.
 */
export const recover = async (runContext: RunContext, evidence: Evidence, extra?: Extra): Promise<PhaseResult> => {
  if (runContext.run.phase !== 'prepare') await requireRepository(runContext.context)
  return carryOutOr(runContext, await chooseStoredRecovery(runContext.context, runContext.run, evidence), extra)
}
