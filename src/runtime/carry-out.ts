/** Carries out the step that the ladder chose for a piece of evidence: a relaunch, a wait, or the end of the run. */
import { carriedVerdict, lastLaunch } from '../domain/run.ts'
import type { Evidence } from '../recovery/evidence.ts'
import { holdLease } from '../store/run.ts'
import { abilitiesOf } from './abilities.ts'
import { correctedLaunch } from './launch.ts'
import { decide, recordIntent } from './recover.ts'
import { save, type Session } from './session.ts'
import { endExhausted, endSwitched, endWaiting, errorMetaOf } from './settle.ts'
import { keepSnapshot } from './supervise.ts'
import { workSoFar } from './work-so-far.ts'

/** Whether the run goes on with its (possibly new) phase, or has ended. */
export type Next = 'on' | 'ended'

/** The diagnosis and its step for this evidence, carried out: a relaunch, a wait, or the end of the run. */
export const recover = async (
  session: Session,
  evidence: Evidence,
  extra: Parameters<typeof errorMetaOf>[1] = {},
): Promise<Next> => {
  const { context } = session
  const decision = await decide(context, session.run, evidence)
  const { diagnosis, step } = decision
  if (step.kind === 'exhausted') {
    await keepSnapshot(session, `the run ended: ${diagnosis.label}`)
    await endExhausted(session, decision, errorMetaOf(diagnosis, extra))
    return 'ended'
  }
  if (step.action.type === 'wait') {
    await keepSnapshot(session, `waiting: ${diagnosis.label}`)
    await endWaiting(session, { diagnosis, step })
    return 'ended'
  }
  if (step.action.type === 'switch_harness') {
    await keepSnapshot(session, `going on with ${step.action.harness}: ${diagnosis.label}`)
    await endSwitched(session, { diagnosis, step })
    return 'ended'
  }
  if (step.action.type === 'chmod') {
    // The phase that needs the folder makes the change when it is entered again.
    await context.db.transaction(async (tx) => {
      await holdLease(tx, session.run)
      await recordIntent(context, tx, session.run, { diagnosis, step })
    })
    context.at('recovery-intended')
    return 'on'
  }
  if (step.action.type === 'relaunch') {
    const { action } = step
    const last = lastLaunch(session.run)
    if (last === undefined) throw new Error('a relaunch needs a launch before it')
    const { capabilities: can } = await abilitiesOf(session)
    const next = correctedLaunch(last, {
      ...(action.addDir === undefined ? {} : { addDir: action.addDir }),
      ...(action.skipGitCheck === true ? { skipGitCheck: true } : {}),
      ...(action.toolRules === undefined ? {} : { toolRules: action.toolRules }),
      ...(action.ask === undefined ? {} : { ask: action.ask }),
      resumeSession: action.resume && can.resume ? session.run.sessionId : null,
      hint: action.fresh === true ? `${action.hint}\n${await workSoFar(session)}` : action.hint,
    })
    await context.db.transaction(async (tx) => {
      await recordIntent(context, tx, session.run, { diagnosis, step })
      // What was dropped stays listed, and what was installed stays there: the next look at the work is made the same way.
      const verdict = carriedVerdict(session.run.verdict)
      await save(session, { phase: 'launch', launches: [...session.run.launches, next], tree: null, verdict }, tx)
    })
    context.at('recovery-intended')
    return 'on'
  }
  throw new Error(`the action ${step.action.type} has no place here`)
}
