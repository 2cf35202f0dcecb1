/**
 * The record of what was tried against a failure, and the recovery that is chosen by it. The engine keeps its record in the
 * store (store-record.ts), `unstuck exec` in memory; the ladder and everything that carries it out know only this port.
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

/** A decision that has an action. */
export interface Chosen<A extends Action = Action> {
  diagnosis: Diagnosis
  step: Omit<RecoverStep, 'action'> & { action: A }
}

export interface RecoveryRecord {
  /** Everything that was tried in the present count, oldest first. */
  history(): Promise<readonly Recorded[]>
  /** Stores the intent. Comes before the action: a crash between them must leave a trace. */
  begin(chosen: Chosen): Promise<void>
  /** Stores what was observed of the post-condition. A second outcome changes nothing. */
  resolve(id: string, status: 'success' | 'failed', detail: string): Promise<void>
}

/** The part that needs no run: outcomes are stored for a task whose run has ended as well. */
export type OpenRecoveries = Pick<RecoveryRecord, 'history' | 'resolve'>

/** What was seen of a post-condition; undefined = nothing that shows whether it holds. */
export type Outcome = { holds: boolean; detail: string } | undefined

/** What to do about this evidence, given everything that was tried before. */
export const chooseRecovery = async (
  record: OpenRecoveries,
  evidence: Evidence,
  { policy, task }: { policy: RecoveryPolicy; task: { id: string; runId: string } },
): Promise<Decision> => {
  const diagnosis = diagnose(evidence)
  return { diagnosis, step: nextStep(diagnosis, await record.history(), policy, task) }
}

/** Resolves every open recovery whose post-condition `observe` can judge; undefined leaves it open. */
export const resolveOpen = async <R extends Recorded>(
  record: { history(): Promise<readonly R[]>; resolve: RecoveryRecord['resolve'] },
  observe: (condition: PostCondition, recovery: R) => Outcome,
): Promise<void> => {
  for (const recovery of await record.history()) {
    if (recovery.status !== 'acting') continue
    const seen = observe(recovery.postCondition, recovery)
    if (seen !== undefined) await record.resolve(recovery.id, seen.holds ? 'success' : 'failed', seen.detail)
  }
}

/** One handler for each type of action: a type that nothing carries out does not compile. */
export type Carriers<Given, Result, T extends Action['type'] = Action['type']> = {
  [K in T]: (given: Given, chosen: Chosen<ActionOf<K>>) => Promise<Result>
}

/** Hands a decision to the handler of its action. Throws for an action whose evidence the owner of the table never gathers. */
export const carryOutBy = <Given, Result, T extends Action['type']>(
  carriers: Carriers<Given, Result, T>,
  given: Given,
  chosen: Chosen,
): Promise<Result> => {
  const { type, name } = chosen.step.action
  const handlers: Partial<Record<string, unknown>> = carriers
  const carry = handlers[type] as ((given: Given, chosen: Chosen) => Promise<Result>) | undefined
  if (carry === undefined) throw new Error(`the action ${name} has no place here`)
  return carry(given, chosen)
}
