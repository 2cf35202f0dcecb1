/** Actions of scope `launch`: the same run starts its agent again with something changed. */
import { carriedVerdict, lastLaunch } from '../../domain/run.ts'
import { nextLaunch } from '../agent/corrections.ts'
import { correctedLaunch } from '../agent/launch.ts'
import { workSoFar } from '../agent/work-so-far.ts'
import type { ActionOf, Chosen } from '../core/recovery-record.ts'
import { save, type Session } from '../core/session.ts'
import { recordIntent } from '../core/store-record.ts'
import { abilitiesOf } from '../harness/abilities.ts'
import type { Next } from './phase.ts'

/** A new session does not know the previous one, so its hint also describes the work so far. */
const actionFor = async (session: Session, { step: { action } }: Chosen<ActionOf<'relaunch'>>) =>
  action.fresh === true ? { ...action, hint: `${action.hint}\n${await workSoFar(session)}` } : action

/** Stores the corrected launch; phase `launch` starts it, also after a restart of the engine. */
export const relaunch = async (session: Session, chosen: Chosen<ActionOf<'relaunch'>>): Promise<Next> => {
  const { context, run } = session
  const last = lastLaunch(run)
  if (last === undefined) throw new Error('a relaunch needs a launch before it')
  const { capabilities: can } = await abilitiesOf(session)
  const action = await actionFor(session, chosen)
  const change = nextLaunch(last.corrections, action, can.resume ? run.sessionId : null)
  await context.db.transaction(async (tx) => {
    // Recorded with the complete hint, so that the event shows the text the agent receives.
    await recordIntent(context, tx, session.run, { ...chosen, step: { ...chosen.step, action } })
    // Dropped checks and installs are kept, so that the next verification runs under the same conditions.
    const verdict = carriedVerdict(session.run.verdict)
    const launches = [...session.run.launches, correctedLaunch(last, change)]
    await save(session, { phase: 'launch', launches, tree: null, verdict }, tx)
  })
  context.at('recovery-intended')
  return 'on'
}
