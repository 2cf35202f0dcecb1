/** The checks decide about what an agent left that did not end its turn. */
import { defined } from '../../domain/defined.ts'
import { lastLaunch, type Launch } from '../../domain/run.ts'
import { withLastLaunch } from '../agent/start-launch.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { failOpenRecoveries, recordIntent } from '../core/store-record.ts'
import type { PhaseResult } from './phase.ts'

/** Whether its end was recorded and its checks decide now. */
export const isLeft = ({ run }: RunContext): boolean => lastLaunch(run)?.leftAs !== undefined

/** Stores only the intent, in the launch; phase `supervise` goes on as after a proper end. */
export const checkLeft = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'check_work'>>,
): Promise<PhaseResult> => {
  const { context, run, task } = runContext
  const { tree, held } = chosen.step.action
  const leftAs = chosen.diagnosis.evidence
  const left = { ...(lastLaunch(run) as Launch), leftAs, ...defined({ heldTree: held && tree }) }
  await context.db.transaction(async (tx) => {
    if (held === true) await failOpenRecoveries(tx, task.id, `the run failed with: ${leftAs}`)
    await recordIntent(context, tx, run, chosen)
    await saveProgress(runContext, { launches: withLastLaunch(run.launches, left) }, tx)
  })
  context.at('recovery-intended')
  return 'on'
}
