/** Resolves open recoveries from a launch that ended: each post-condition that the launch can prove or disprove. */
import { lastLaunch, type Launch } from '../../domain/run.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import { holdLease } from '../../store/run.ts'
import type { Session } from '../core/session.ts'
import { settleOpen } from '../core/store-record.ts'
import { observe } from './denials.ts'
import { outcomeOf, type Shown } from './post-conditions.ts'
import type { LaunchResult } from './supervise.ts'

export const judgeLaunchRecoveries = async (
  session: Session,
  { reading, settled }: Pick<Extract<LaunchResult, { kind: 'ended' }>, 'reading' | 'settled'>,
  stall: ObservedStall | undefined,
): Promise<void> => {
  const launch = lastLaunch(session.run) as Launch
  const { files } = session.context.ports
  const shown: Shown = { launch, reading, settled, stall, files, ...(await observe(session, reading.denials)) }
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (condition) => outcomeOf(shown, condition))
  })
}
