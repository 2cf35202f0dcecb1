/**
 * The record of recoveries tried against a failure, from which the next one is chosen. The engine keeps it in the store
 * (store-record.ts), `unstuck exec` in memory; the code that chooses and carries out recoveries knows only this interface.
 */
import { diagnose } from '../../recovery/diagnosis.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import { nextStep, type RecoveryPolicy, type Step } from '../../recovery/ladder.ts'
import type { Action, PastRecovery, PostCondition } from '../../recovery/playbook.ts'

export interface Recorded extends PastRecovery {
  id: string
  action: Action
  postCondition: PostCondition
}

export interface Decision {
  diagnosis: Diagnosis
  step: Step
}

export type RecoverStep = Extract<Step, { kind: 'recover' }>

export type ActionOf<T extends Action['type']> = Extract<Action, { type: T }>

/** A decision to recover, with its action. */
export interface Chosen<A extends Action = Action> {
  diagnosis: Diagnosis
  step: Omit<RecoverStep, 'action'> & { action: A }
}

export interface RecoveryRecord {
  /** Every recovery since a person last requested a retry, oldest first. */
  history(): Promise<readonly Recorded[]>
  /** Stores the intent. Call before the action, so that a crash in between cannot repeat an action that was never recorded. */
  begin(chosen: Chosen): Promise<void>
  /** Stores whether the post-condition holds. A second call for the same recovery changes nothing. */
  resolve(id: string, status: 'success' | 'failed', detail: string): Promise<void>
}

/** The part that needs no running run: outcomes can be stored after it has ended. */
export type OpenRecoveries = Pick<RecoveryRecord, 'history' | 'resolve'>

/** Whether a post-condition holds; undefined = what was observed does not show it. */
export type Outcome = { holds: boolean; detail: string } | undefined

/** The diagnosis of this evidence, and the next step after everything that was tried before. */
export const chooseRecovery = async (
  record: OpenRecoveries,
  evidence: Evidence,
  { policy, task }: { policy: RecoveryPolicy; task: { id: string; runId: string } },
): Promise<Decision> => {
  const diagnosis = diagnose(evidence)
  return { diagnosis, step: nextStep(diagnosis, await record.history(), policy, task) }
}

/** Resolves every open recovery for which `observe` returns an outcome; the others stay open. */
export const resolveOpen = async <R extends Recorded>(
  record: { history(): Promise<readonly R[]>; resolve: RecoveryRecord['resolve'] },
  observe: (condition: PostCondition, recovery: R) => Outcome,
): Promise<void> => {
  for (const recovery of await record.history()) {
    if (recovery.status !== 'acting') continue
    const outcome = observe(recovery.postCondition, recovery)
    if (outcome !== undefined) await record.resolve(recovery.id, outcome.holds ? 'success' : 'failed', outcome.detail)
  }
}

/** One handler per type of action, so that a new type without a handler does not compile. */
export type Carriers<Given, Result, T extends Action['type'] = Action['type']> = {
  [K in T]: (given: Given, chosen: Chosen<ActionOf<K>>) => Promise<Result>
}

/** Calls the handler of the action. Throws for an action that the owner of this table never plans, which is a bug. */
export const carryOutBy = <Given, Result, T extends Action['type']>(
  carriers: Carriers<Given, Result, T>,
  given: Given,
  chosen: Chosen,
): Promise<Result> => {
  const { type, name } = chosen.step.action
  const handlers: Partial<Record<string, unknown>> = carriers
  const carry = handlers[type] as ((given: Given, chosen: Chosen) => Promise<Result>) | undefined
  if (carry === undefined) throw new Error(`no handler here carries out the action ${name}`)
  return carry(given, chosen)
}
