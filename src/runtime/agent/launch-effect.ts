/** Resolves open recoveries from a launch that ended: each post-condition that the launch can prove or disprove. */
import { lastLaunch, type Launch } from '../../domain/run.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import { requireLease } from '../../store/run.ts'
import type { RunContext } from '../core/run-context.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import { observeLaunchDenials } from './denials.ts'
import { launchOutcome, type WatchedLaunch } from './post-conditions.ts'
import type { LaunchResult } from './follow-launch.ts'

export const resolveLaunchRecoveries = async (
  runContext: RunContext,
  { reading, settled }: Pick<Extract<LaunchResult, { kind: 'ended' }>, 'reading' | 'settled'>,
  stall: ObservedStall | undefined,
): Promise<void> => {
  const launch = lastLaunch(runContext.run) as Launch
  const { files } = runContext.context.ports
  const shown: WatchedLaunch = {
    launch,
    reading,
    conclusion: settled,
    stall,
    files,
    ...(await observeLaunchDenials(runContext, reading.denials)),
  }
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveOpenOf(tx, runContext.task.id, (condition) => launchOutcome(shown, condition))
  })
}
