/** Phase `supervise`: waits for the agent to end, and chooses the recovery if it ended badly. */
import { defined } from '../../../domain/defined.ts'
import { overrunText } from '../../../domain/budget.ts'
import { lastLaunch, spendWithLaunch, type Launch } from '../../../domain/run.ts'
import { needsNoAgent } from '../../../domain/task.ts'
import type { LaunchExit } from '../../../process/shim-protocol.ts'
import type { ObservedStall } from '../../../recovery/evidence.ts'
import { limitOf } from '../../../recovery/limit.ts'
import { recoveriesOf } from '../../../store/recovery.ts'
import { requireLease } from '../../../store/run.ts'
import { leftWork } from '../../agent/collected.ts'
import { observeFailedLaunch } from '../../agent/denials.ts'
import { withDeadProxy } from '../../agent/dead-proxy.ts'
import { resolveLaunchRecoveries } from '../../agent/launch-effect.ts'
import { failureEvidence, stallEvidence } from '../../agent/launch-evidence.ts'
import { withLastLaunch } from '../../agent/start-launch.ts'
import { observedStall } from '../../agent/stalled.ts'
import { keepSnapshot } from '../../agent/stop-agent.ts'
import { superviseLaunch, type LaunchResult } from '../../agent/follow-launch.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { loginRenewedSince, nextHarness } from '../../harness/accounts.ts'
import { reportCheckoutChanges } from '../../landing/checkout-guard.ts'
import { endTurn } from '../agent-question.ts'
import { recover } from '../carry-out.ts'
import { isLeft } from '../check-left.ts'
import { endCancelled } from '../endings.ts'
import { endInterrupted } from '../interruptions.ts'
import type { PhaseResult, Phase } from '../phase.ts'

type Ended = Extract<LaunchResult, { kind: 'ended' }>

const countSpend = (runContext: RunContext, { spend }: Exclude<LaunchResult, { kind: 'let-go' }>) => {
  const launches = withLastLaunch(runContext.run.launches, { ...(lastLaunch(runContext.run) as Launch), spend })
  return { launches, spend: spendWithLaunch(runContext.run, spend) }
}

const endCutShort = async (runContext: RunContext, kept: string, reason: string): Promise<PhaseResult> => {
  await keepSnapshot(runContext, kept)
  await endInterrupted(runContext, reason)
  return 'ended'
}

/** Ends caused from outside, which are not failures of the turn; undefined = none of them. */
const endedFromOutside = async (runContext: RunContext, { overrun, exit }: Ended): Promise<PhaseResult | undefined> => {
  if (overrun !== undefined) return recover(runContext, { kind: 'budget', text: overrunText(overrun) })
  const causes: Partial<Record<NonNullable<LaunchExit['cause']>, () => Promise<PhaseResult>>> = {
    limit: () =>
      recover(runContext, {
        kind: 'budget',
        text: `the run's limit of ${runContext.goal.limits.runSeconds ?? '?'} seconds is reached`,
      }),
    // A person cancelled the run, and a crash interrupted the ending.
    cancelled: async () => {
      await keepSnapshot(runContext, 'cancelled')
      await endCancelled(runContext)
      return 'ended'
    },
    abandoned: () => endAbandoned(runContext),
    // Its turn is not over: it goes on with what a person wrote.
    message: () => endTurn(runContext),
    gate: () => endAbandoned(runContext),
  }
  return exit.cause === undefined ? undefined : causes[exit.cause]?.()
}

const endAbandoned = (runContext: RunContext): Promise<PhaseResult> =>
  endCutShort(
    runContext,
    'the agent was ended while no engine was running',
    'no engine was running for longer than the lease allows, so the shim ended the agent',
  )

/** What a shell makes of a signal: 128 and its number. */
const isSignal = (code: number): boolean => code > 128 && code <= 128 + 64

/** A program that reports its own failure is believed: what it left may be half of the work, and pass the checks all the same. */
const reportsFailure = ({ code }: LaunchExit): boolean => code !== null && code !== 0 && !isSignal(code)

/** Whether its process died on the files that an earlier restart left, so that another one would change nothing. */
const diedAgain = async ({ context, task }: RunContext, { kind, tree }: ObservedStall): Promise<boolean> => {
  if (kind !== 'agent_died') return false
  const past = await recoveriesOf(context.db, task.id)
  return past.some(({ action }) => (action as { restart?: { tree: string } }).restart?.tree === tree)
}

/** What the ladder may have checked (`LeftFacts`); a turn that was only asked for a wording says nothing about the work. */
const uncheckedWork = async (runContext: RunContext): Promise<string | undefined> => {
  const { run, task } = runContext
  if (run.loop !== null || needsNoAgent(task) || task.commands.length === 0) return undefined
  if (lastLaunch(run)?.ask !== undefined) return undefined
  const left = await leftWork(runContext)
  return left === undefined || left.changes.length === 0 ? undefined : left.tree
}

const recoverTurn = async (runContext: RunContext, { reading, settled, exit }: Ended): Promise<PhaseResult> => {
  const { context, driver, run, task } = runContext
  const stall = await observedStall(runContext, { reading, settled }, exit.cause)
  await resolveLaunchRecoveries(runContext, { reading, settled }, stall)
  if (settled.ok || isLeft(runContext)) return endTurn(runContext)
  const { denials, observeRefusal } = await observeFailedLaunch(runContext, reading.denials)
  const isLimit = stall === undefined && limitOf(settled.error) !== undefined
  const left = isLimit ? undefined : await uncheckedWork(runContext)
  const again = stall !== undefined && !reportsFailure(exit) && (await diedAgain(runContext, stall))
  const evidence =
    stallEvidence(stall && { ...stall, ...defined({ left, again: again || undefined }) }, denials) ??
    failureEvidence({
      harness: driver.name,
      error: settled.error,
      ...{ reading, denials, observeRefusal },
      endedAt: new Date(exit.endedAt),
      environment: context.environment,
      next: await nextHarness(context, task, run),
      renewedLogin: loginRenewedSince(context, run.harness, lastLaunch(run)),
      left,
    })
  const result = await recover(runContext, await withDeadProxy(evidence, context.environment, context.machine?.reach))
  // As after a proper end: a question that it asked before goes first.
  return isLeft(runContext) ? endTurn(runContext) : result
}

export const supervise: Phase = async (runContext) => {
  runContext.context.at('supervising')
  const result = await superviseLaunch(runContext)
  if (result.kind === 'let-go') return 'ended'
  // The next step restores refs and is not a write to the store, so the lease is checked here: an engine that was
  // suspended past its lease must not restore anything.
  await runContext.context.db.transaction((tx) => requireLease(tx, runContext.run))
  await reportCheckoutChanges(runContext)
  const counted = countSpend(runContext, result)
  if (result.kind === 'lost') {
    await keepSnapshot(runContext, 'the shim was lost')
    await saveProgress(runContext, counted)
    await endInterrupted(runContext, result.reason)
    return 'ended'
  }
  runContext.context.at('agent-ended')
  await saveProgress(runContext, { ...counted, sessionId: result.reading.sessionId ?? runContext.run.sessionId })
  return (await endedFromOutside(runContext, result)) ?? recoverTurn(runContext, result)
}
