/** Phase `launch`: starts the agent, unless new work must not start now. */
import { overrunOf, overrunText } from '../../../domain/budget.ts'
import { mayStartWork } from '../../../domain/goal.ts'
import { limitedSpend } from '../../../domain/run.ts'
import { getGoal } from '../../../store/goal.ts'
import { changeModes } from '../../agent/change-modes.ts'
import { mayHaveRun, startLaunch } from '../../agent/start-launch.ts'
import { repairBeforeLaunch } from '../../agent/repair-workspace.ts'
import { stopProcesses, keepSnapshot } from '../../agent/stop-agent.ts'
import { layReports } from '../../agent/turn-reports.ts'
import type { RunContext } from '../../core/run-context.ts'
import { fencedRecoveries } from '../../core/store-record.ts'
import { detectCapabilities } from '../../harness/detected-capabilities.ts'
import { accountLimitOf } from '../../harness/accounts.ts'
import { recover } from '../carry-out.ts'
import { endCancelled, endAccountLimited, endPaused } from '../endings.ts'
import type { PhaseResult, Phase } from '../phase.ts'
import { planGoal } from '../plan-goal.ts'
import { replanGoal } from '../replan-goal.ts'

/** Ends what an earlier launch left running and keeps its work, before the run ends. */
const endEarlier = async (runContext: RunContext, reason: string): Promise<void> => {
  await stopProcesses(runContext, 'shutdown')
  await keepSnapshot(runContext, reason)
}

/**
 * A launch starts new work, which is not allowed while the goal is paused, the account is at its limit, or a budget is
 * used up.
 */
const refuseStart = async (runContext: RunContext): Promise<PhaseResult | undefined> => {
  const { context, goal, run } = runContext
  if (!mayStartWork(goal)) {
    await endEarlier(runContext, `the goal is ${goal.state}`)
    await (goal.state === 'cancelled' ? endCancelled(runContext) : endPaused(runContext))
    return 'ended'
  }
  const limit = await accountLimitOf(context, context.db, run.harness)
  if (limit !== undefined) {
    await endEarlier(runContext, `its account is at its limit: ${limit.account}`)
    await endAccountLimited(runContext, limit)
    return 'ended'
  }
  const spent = limitedSpend(run, goal.spend)
  const overrun = overrunOf(goal.limits, spent.run, spent.goal)
  if (overrun !== undefined) {
    await stopProcesses(runContext, 'shutdown')
    return recover(runContext, { kind: 'budget', text: overrunText(overrun) })
  }
  const locked = await changeModes(fencedRecoveries(context, run), context.ports.files, run.id)
  if (locked === undefined) return undefined
  await stopProcesses(runContext, 'shutdown')
  return recover(runContext, { kind: 'directory', directory: locked })
}

/** A turn of a loop begins with the reports as they were kept. A launch that is repeated within the turn keeps its own. */
const layTurn = (runContext: RunContext): void => {
  const { launches, loop } = runContext.run
  const [last, before] = [launches.at(-1), launches.at(-2)]
  const isFirst = before?.turn?.role !== last?.turn?.role || before?.turn?.iteration !== last?.turn?.iteration
  if (loop !== null && isFirst) layReports(runContext, loop.role)
}

export const launch: Phase = async (runContext) => {
  const goal = await getGoal(runContext.context.db, runContext.goal.id)
  if (goal !== undefined) runContext.goal = goal
  if (!mayHaveRun(runContext)) {
    const next = await refuseStart(runContext)
    if (next !== undefined) return next
    const { plan } = runContext.task
    if (plan === 'replan') return replanGoal(runContext)
    if (plan !== null) return planGoal(runContext, plan)
    await repairBeforeLaunch(runContext)
    layTurn(runContext)
  }
  await startLaunch(runContext, await detectCapabilities(runContext))
  return 'on'
}
