/**
 * Carries out the recovery that the ladder chose. There is one table per scope, and together they cover every type of
 * action, so an action without an implementation does not compile.
 */
import { isGivenBack } from '../../domain/task.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { Step } from '../../recovery/ladder.ts'
import type { Action, ActionIn } from '../../recovery/playbook.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { keepSnapshot } from '../agent/stop.ts'
import { carryOutBy, type Carriers, type Chosen, type Decision } from '../core/recovery-record.ts'
import type { Session } from '../core/session.ts'
import { decide } from '../core/store-record.ts'
import { endExhausted, endSwitched, endWaiting, errorMetaOf } from './endings.ts'
import type { Next } from './phase.ts'
import { relaunch } from './relaunch.ts'
import { intendChange, repairs } from './repair.ts'

const launchActions: Carriers<Session, Next, ActionIn<'launch'>> = { relaunch }

const runActions: Carriers<Session, Next, ActionIn<'run'>> = { chmod: intendChange, ...repairs }

/** The label of a diagnosis as a person reads it, in the list of snapshots. */
const wordsOf = ({ label }: Diagnosis): string => label.replaceAll('_', ' ')

/** The run ends, and the task continues in a later run. */
const taskActions: Carriers<Session, Next, ActionIn<'task'>> = {
  wait: async (session, chosen) => {
    await keepSnapshot(session, `before a wait: ${wordsOf(chosen.diagnosis)}`)
    await endWaiting(session, chosen)
    return 'ended'
  },
  switch_harness: async (session, chosen) => {
    await keepSnapshot(session, `before ${chosen.step.action.harness} continues: ${wordsOf(chosen.diagnosis)}`)
    await endSwitched(session, chosen)
    return 'ended'
  },
}

/** Actions that a run may choose; those of scope `goal` belong to the merge queue. */
type OfRun = Exclude<Action['type'], ActionIn<'goal'>>

const actions: Carriers<Session, Next, OfRun> = { ...launchActions, ...runActions, ...taskActions }

const needsAgent: readonly Action['type'][] = ['relaunch', 'switch_harness']

/** Failures of a person's work are reported to that person: no agent is launched on it. */
const allowedStep = (session: Session, step: Step): Step =>
  isGivenBack(session.task) && step.kind === 'recover' && needsAgent.includes(step.action.type)
    ? { kind: 'exhausted', then: 'escalate', reason: "the work is a person's own" }
    : step

type Extra = Parameters<typeof errorMetaOf>[1]

const carryOutOr = (session: Session, { diagnosis, step }: Decision, extra?: Extra): Promise<Next> => {
  const taken = allowedStep(session, step)
  return taken.kind === 'recover'
    ? carryOutBy(actions, session, { diagnosis, step: taken })
    : endWithout(session, { diagnosis, step: taken }, extra)
}

export const carryOut = (session: Session, chosen: Chosen): Promise<Next> => carryOutOr(session, chosen)

/** No recovery is left: the run ends, and its task waits for a person. */
export const endWithout = async (session: Session, decision: Decision, extra: Extra = {}): Promise<Next> => {
  const { diagnosis } = decision
  await keepSnapshot(session, `the run failed: ${wordsOf(diagnosis)}`)
  await endExhausted(session, decision, errorMetaOf(diagnosis, extra))
  return 'ended'
}

/** Chooses the recovery for this evidence and carries it out, or ends the run if none is left. */
export const recover = async (session: Session, evidence: Evidence, extra: Extra = {}): Promise<Next> =>
  carryOutOr(session, await decide(session.context, session.run, evidence), extra)
