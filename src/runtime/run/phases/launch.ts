/** Phase `launch`: an agent is started, unless something speaks against new work now. */
import { overrunOf, overrunText } from '../../../domain/budget.ts'
import { mayStartWork } from '../../../domain/goal.ts'
import { getGoal } from '../../../store/goal.ts'
import { changeModes } from '../../agent/change-modes.ts'
import { hasBegun, startLaunch } from '../../agent/launch.ts'
import { mendBeforeLaunch } from '../../agent/re-entry.ts'
import { endPrograms, keepSnapshot } from '../../agent/stop.ts'
import type { Session } from '../../core/session.ts'
import { fencedRecoveries } from '../../core/store-record.ts'
import { abilitiesOf } from '../../harness/abilities.ts'
import { limitOn } from '../../harness/accounts.ts'
import { recover } from '../carry-out.ts'
import { endCancelled, endHeld, endPaused } from '../endings.ts'
import type { Next, Phase } from '../phase.ts'

/** What an earlier launch left running is ended and its work kept, before the run ends. */
const putDown = async (session: Session, reason: string): Promise<void> => {
  await endPrograms(session, 'shutdown')
  await keepSnapshot(session, reason)
}

/** A launch begins new work: not while the goal is paused, its account at its limit, or a ceiling reached. */
const holdBack = async (session: Session): Promise<Next | undefined> => {
  const { context, goal, run } = session
  if (!mayStartWork(goal)) {
    await putDown(session, `the goal is ${goal.state}`)
    await (goal.state === 'cancelled' ? endCancelled(session) : endPaused(session))
    return 'ended'
  }
  const held = await limitOn(context, context.db, run.harness)
  if (held !== undefined) {
    await putDown(session, `its account is at its limit: ${held.account}`)
    await endHeld(session, held)
    return 'ended'
  }
  const overrun = overrunOf(goal.limits, run.spend, goal.spend)
  if (overrun !== undefined) {
    await endPrograms(session, 'shutdown')
    return recover(session, { kind: 'budget', text: overrunText(overrun) })
  }
  const locked = await changeModes(fencedRecoveries(context, run), context.ports.files, run.id)
  if (locked === undefined) return undefined
  await endPrograms(session, 'shutdown')
  return recover(session, { kind: 'directory', directory: locked })
}

export const launch: Phase = async (session) => {
  const goal = await getGoal(session.context.db, session.goal.id)
  if (goal !== undefined) session.goal = goal
  if (!hasBegun(session)) {
    const next = await holdBack(session)
    if (next !== undefined) return next
    await mendBeforeLaunch(session)
  }
  await startLaunch(session, await abilitiesOf(session))
  return 'on'
}
