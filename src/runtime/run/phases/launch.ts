/** Phase `launch`: starts the agent, unless new work must not start now. */
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

/** Ends what an earlier launch left running and keeps its work, before the run ends. */
const endEarlier = async (session: Session, reason: string): Promise<void> => {
  await endPrograms(session, 'shutdown')
  await keepSnapshot(session, reason)
}

/**
 * A launch starts new work, which is not allowed while the goal is paused, the account is at its limit, or a budget is
 * used up.
 */
const refuseStart = async (session: Session): Promise<Next | undefined> => {
  const { context, goal, run } = session
  if (!mayStartWork(goal)) {
    await endEarlier(session, `the goal is ${goal.state}`)
    await (goal.state === 'cancelled' ? endCancelled(session) : endPaused(session))
    return 'ended'
  }
  const limit = await limitOn(context, context.db, run.harness)
  if (limit !== undefined) {
    await endEarlier(session, `its account is at its limit: ${limit.account}`)
    await endHeld(session, limit)
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
    const next = await refuseStart(session)
    if (next !== undefined) return next
    await mendBeforeLaunch(session)
  }
  await startLaunch(session, await abilitiesOf(session))
  return 'on'
}
