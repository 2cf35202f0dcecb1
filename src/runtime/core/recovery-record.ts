/**
 * The record of recoveries tried against a failure, from which the next one is chosen. The engine keeps it in the store
 * (store-record.ts), `unstuck exec` in memory; the code that chooses and carries out recoveries knows only this interface.
 */
import { diagnose } from '../../recovery/diagnosis.ts'
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import { callsBefore, fruitlessCalls, type CallResult } from '../../recovery/fruitless.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import { ownTurn, type OwnCommand } from '../../recovery/own/own-step.ts'
import { nextStep, type LadderSettings, type LadderStep } from '../../recovery/ladder.ts'
import type { Action, PastRecovery, PostCondition } from '../../recovery/playbook.ts'
import { defined } from '../../domain/defined.ts'

export interface RecordedRecovery extends PastRecovery {
  id: string
  action: Action
  postCondition: PostCondition
}

export interface RecoveryDecision {
  diagnosis: Diagnosis
  step: LadderStep
  /** A command of the owner's playbook, which goes before the step. */
  proposes?: OwnCommand
}

export type RecoverStep = Extract<LadderStep, { kind: 'recover' }>

export type ActionOf<T extends Action['type']> = Extract<Action, { type: T }>

/** A decision to recover, with its action. */
export interface ChosenRecovery<A extends Action = Action> {
  diagnosis: Diagnosis
  step: Omit<RecoverStep, 'action'> & { action: A }
}

export interface RecoveryRecord {
  /** Every recovery since a person last requested a retry, oldest first. */
  history(): Promise<readonly RecordedRecovery[]>
  /** Stores the intent. Call before the action, so that a crash in between cannot repeat an action that was never recorded. */
  begin(chosen: ChosenRecovery): Promise<void>
  /** Stores whether the post-condition holds. A second call for the same recovery changes nothing. */
  resolve(id: string, status: 'success' | 'failed', detail: string): Promise<void>
}

/** The part that needs no running run: outcomes can be stored after it has ended. */
export type OpenRecoveries = Pick<RecoveryRecord, 'history' | 'resolve'>

/** Whether a post-condition holds; undefined = what was observed does not show it. */
export type PostConditionOutcome = { satisfied: boolean; detail: string } | undefined

/** The diagnosis of this evidence, and the next step after everything that was tried before. */
export const chooseRecovery = async (
  record: OpenRecoveries,
  evidence: Evidence,
  /** `calls`: what earlier calls of an agent came to, without those of the present run. */
  {
    policy,
    task,
    calls,
  }: {
    policy: LadderSettings
    task: { id: string; runId: string; harness?: string }
    calls: readonly CallResult[]
  },
): Promise<RecoveryDecision> => {
  const found = diagnose(evidence)
  const history = await record.history()
  const { failing, command } = (found.facts as AnyFacts).feedback ?? {}
  const now = {
    signature: found.signature,
    ...defined({ failing, command }),
  }
  const ofRun = callsBefore(history.filter(({ runId }) => runId === task.runId))
  const fruitless = fruitlessCalls([...calls, ...ofRun, now])
  const about = { ...task, harness: task.harness ?? '', fruitless }
  const own = ownTurn({ evidence, diagnosis: found, history, policy, task: about })
  const diagnosis = own?.diagnosis ?? found
  return {
    ...{ diagnosis, step: own?.step ?? nextStep(diagnosis, history, policy, about) },
    ...defined({ proposes: own?.proposes }),
  }
}

/** Resolves every open recovery for which `observe` returns an outcome; the others stay open. */
export const resolveOpen = async <R extends RecordedRecovery>(
  record: { history(): Promise<readonly R[]>; resolve: RecoveryRecord['resolve'] },
  observe: (condition: PostCondition, recovery: R) => PostConditionOutcome,
): Promise<void> => {
  for (const recovery of await record.history()) {
    if (recovery.status !== 'acting') continue
    const outcome = observe(recovery.postCondition, recovery)
    if (outcome !== undefined)
      await record.resolve(recovery.id, outcome.satisfied ? 'success' : 'failed', outcome.detail)
  }
}

/** One handler per type of action, so that a new type without a handler does not compile. */
export type ActionHandlers<Given, Result, T extends Action['type'] = Action['type']> = {
  [K in T]: (given: Given, chosen: ChosenRecovery<ActionOf<K>>) => Promise<Result>
}

/** Calls the handler of the action. Throws for an action that the owner of this table never plans, which is a bug. */
export const dispatchAction = <Given, Result, T extends Action['type']>(
  carriers: ActionHandlers<Given, Result, T>,
  given: Given,
  chosen: ChosenRecovery,
): Promise<Result> => {
  const { type, name } = chosen.step.action
  const handlers: Partial<Record<string, unknown>> = carriers
  const carry = handlers[type] as ((given: Given, chosen: ChosenRecovery) => Promise<Result>) | undefined
  if (carry === undefined) throw new Error(`no handler here carries out the action ${name}`)
  return carry(given, chosen)
}
