/** Phase `supervise`: waits for the agent to end, and chooses the recovery if it ended badly. */
import { overrunText } from '../../../domain/budget.ts'
import { lastLaunch, spendWithLaunch, type Launch } from '../../../domain/run.ts'
import { needsNoAgent } from '../../../domain/task.ts'
import type { LaunchExit } from '../../../process/shim-protocol.ts'
import type { ObservedStall } from '../../../recovery/evidence.ts'
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
import type { RecoveryDecision } from '../../core/recovery-record.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { failOpenRecoveries } from '../../core/store-record.ts'
import { loginRenewedSince, nextHarness } from '../../harness/accounts.ts'
import { reportCheckoutChanges } from '../../landing/checkout-guard.ts'
import { endTurn } from '../agent-question.ts'
import { recover } from '../carry-out.ts'
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

/**
 * Whether its process was killed once more on the same files. Another restart would change nothing, and how a program was ended says
 * nothing about the work: an agent can die at its exit each time, after the last file.
 */
const leftAgain = async (
  { context, run, task }: RunContext,
  { kind, tree, changed = [] }: ObservedStall,
): Promise<boolean> => {
  if (kind !== 'agent_died' || run.loop !== null || changed.length === 0 || task.commands.length === 0) return false
  const past = await recoveriesOf(context.db, task.id)
  return past.some(({ action }) => (action as { restart?: { tree: string } }).restart?.tree === tree)
}

const checkWhatIsThere = async (
  runContext: RunContext,
  left: Required<Pick<Launch, 'leftAs'>> & Pick<Launch, 'heldTree'>,
): Promise<PhaseResult> => {
  const last = lastLaunch(runContext.run) as Launch
  await saveProgress(runContext, { launches: withLastLaunch(runContext.run.launches, { ...last, ...left }) })
  // As after a proper end: a question that it asked before goes first.
  return endTurn(runContext)
}

/**
 * Before an agent that fails each time costs another attempt or a question, its work is checked once: it may be complete. What passes waits
 * for a person, because a program that reports a failure is believed; what fails goes back with the output of the check.
 */
const checkBeforeTheEnd = async (
  runContext: RunContext,
  { diagnosis, step }: RecoveryDecision,
): Promise<PhaseResult | undefined> => {
  const { context, run, task } = runContext
  if (step.kind !== 'exhausted' || step.question !== undefined || step.then === 'pause_goal') return undefined
  if (diagnosis.rung !== 3 || run.loop !== null || needsNoAgent(task) || task.commands.length === 0) return undefined
  if (lastLaunch(run)?.ask !== undefined) return undefined
  const { tree, changes } = (await leftWork(runContext)) ?? { tree: '', changes: [] }
  // Without the last launch: after a crash between this and the next phase its own mark is there.
  const wasChecked = run.launches.slice(0, -1).some(({ heldTree }) => heldTree === tree)
  if (changes.length === 0 || wasChecked) return undefined
  await context.db.transaction((tx) => failOpenRecoveries(tx, task.id, `the run failed with: ${diagnosis.evidence}`))
  return checkWhatIsThere(runContext, { leftAs: diagnosis.evidence, heldTree: tree })
}

const recoverTurn = async (runContext: RunContext, { reading, settled, exit }: Ended): Promise<PhaseResult> => {
  const { context, driver, run, task } = runContext
  const stall = await observedStall(runContext, { reading, settled }, exit.cause)
  await resolveLaunchRecoveries(runContext, { reading, settled }, stall)
  if (settled.ok) return endTurn(runContext)
  const { denials, observeRefusal } = await observeFailedLaunch(runContext, reading.denials)
  const stalled = stallEvidence(stall, denials)
  if (stall !== undefined && stalled !== undefined && !reportsFailure(exit) && (await leftAgain(runContext, stall)))
    return checkWhatIsThere(runContext, { leftAs: stall.text })
  const evidence =
    stalled ??
    failureEvidence({
      harness: driver.name,
      error: settled.error,
      ...{ reading, denials, observeRefusal },
      endedAt: new Date(exit.endedAt),
      environment: context.environment,
      next: await nextHarness(context, task, run),
      renewedLogin: loginRenewedSince(context, run.harness, lastLaunch(run)),
    })
  return recover(runContext, await withDeadProxy(evidence, context.environment, context.machine?.reach), {
    instead: (decision) => checkBeforeTheEnd(runContext, decision),
  })
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
