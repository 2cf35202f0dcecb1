/** Phase `supervise`: waits for the agent to end, and chooses the recovery if it ended badly. */
import { overrunText } from '../../../domain/budget.ts'
import { lastLaunch, spendOfLaunches, type Launch } from '../../../domain/run.ts'
import type { LaunchExit } from '../../../process/contract.ts'
import { holdLease } from '../../../store/run.ts'
import { observeFailed } from '../../agent/denials.ts'
import { judgeLaunchRecoveries } from '../../agent/launch-effect.ts'
import { failureEvidence, stallEvidence } from '../../agent/launch-evidence.ts'
import { replaceLast } from '../../agent/launch.ts'
import { observedStall } from '../../agent/stalled.ts'
import { keepSnapshot } from '../../agent/stop.ts'
import { superviseLaunch, type LaunchResult } from '../../agent/supervise.ts'
import { save, type Session } from '../../core/session.ts'
import { loginRenewedSince, nextHarness } from '../../harness/accounts.ts'
import { compareAfterRun } from '../../landing/ref-guard.ts'
import { recover } from '../carry-out.ts'
import { endCancelled, endInterrupted } from '../endings.ts'
import type { Next, Phase } from '../phase.ts'

type Ended = Extract<LaunchResult, { kind: 'ended' }>

/**
 * Replaces the spend that an earlier reading of the same launch stored, so that a crash in between does not count it
 * twice.
 */
const countSpend = (session: Session, { spend }: Exclude<LaunchResult, { kind: 'let-go' }>) => {
  const launches = replaceLast(session.run.launches, { ...(lastLaunch(session.run) as Launch), spend })
  return { launches, spend: spendOfLaunches(launches) }
}

const endCutShort = async (session: Session, kept: string, reason: string): Promise<Next> => {
  await keepSnapshot(session, kept)
  await endInterrupted(session, reason)
  return 'ended'
}

/** Ends caused from outside, which are not failures of the turn; undefined = none of them. */
const endedFromOutside = async (session: Session, { overrun, exit }: Ended): Promise<Next | undefined> => {
  if (overrun !== undefined) return recover(session, { kind: 'budget', text: overrunText(overrun) })
  const causes: Partial<Record<NonNullable<LaunchExit['cause']>, () => Promise<Next>>> = {
    limit: () =>
      recover(session, {
        kind: 'budget',
        text: `the run's limit of ${session.goal.limits.runSeconds ?? '?'} seconds is reached`,
      }),
    // A person cancelled the run, and a crash interrupted the ending.
    cancelled: async () => {
      await keepSnapshot(session, 'cancelled')
      await endCancelled(session)
      return 'ended'
    },
    abandoned: () => endAbandoned(session),
    gate: () => endAbandoned(session),
  }
  return exit.cause === undefined ? undefined : causes[exit.cause]?.()
}

const endAbandoned = (session: Session): Promise<Next> =>
  endCutShort(
    session,
    'the agent was ended while no engine was running',
    'no engine was running for longer than the lease allows, so the shim ended the agent',
  )

const recoverTurn = async (session: Session, { reading, settled, exit }: Ended): Promise<Next> => {
  const { context, driver, run, task } = session
  const stall = await observedStall(session, { reading, settled }, exit.cause)
  await judgeLaunchRecoveries(session, { reading, settled }, stall)
  if (settled.ok) {
    await save(session, { phase: 'collect' })
    return 'on'
  }
  const { denials, look } = await observeFailed(session, reading.denials)
  const stalled = stallEvidence(stall, denials)
  if (stalled !== undefined) return recover(session, stalled)
  return recover(
    session,
    failureEvidence({
      harness: driver.name,
      error: settled.error,
      ...{ reading, denials, look },
      endedAt: new Date(exit.endedAt),
      environment: context.environment,
      next: await nextHarness(context, task, run),
      renewedLogin: loginRenewedSince(context, run.harness, lastLaunch(run)),
    }),
  )
}

export const supervise: Phase = async (session) => {
  session.context.at('supervising')
  const result = await superviseLaunch(session)
  if (result.kind === 'let-go') return 'ended'
  // The next step restores refs and is not a write to the store, so the lease is checked here: an engine that was
  // suspended past its lease must not restore anything.
  await session.context.db.transaction((tx) => holdLease(tx, session.run))
  await compareAfterRun(session)
  const counted = countSpend(session, result)
  if (result.kind === 'lost') {
    await keepSnapshot(session, 'the shim was lost')
    await save(session, counted)
    await endInterrupted(session, result.reason)
    return 'ended'
  }
  session.context.at('agent-ended')
  await save(session, { ...counted, sessionId: result.reading.sessionId ?? session.run.sessionId })
  return (await endedFromOutside(session, result)) ?? recoverTurn(session, result)
}
