/**
 * Follows a running agent to its end. It reads only the files of the launch folder, so it works in the same way for an agent that this
 * engine started and for one to which it re-attached.
 */
import type { Overrun, Spend } from '../../domain/budget.ts'
import { lastLaunch, type Launch } from '../../domain/run.ts'
import type { Transcript, Conclusion } from '../../harness/driver.ts'
import type { LaunchExit, StopCause, OutputStream } from '../../process/shim-protocol.ts'
import { renewLease } from '../../store/run.ts'
import { watchLoops } from './loop-watch.ts'
import { spendOf, watchSpend } from './spend-watch.ts'
import { runSigns, stopLaunch } from './stop-agent.ts'
import { stopSignal, isReleased, workTreeOf, type RunContext } from '../core/run-context.ts'
import { withRefusedPaths } from './denials.ts'
import { watchStalls } from './stall-watch.ts'
import { watchTurn } from './turn-watch.ts'
import { defined } from '../../domain/defined.ts'

export type LaunchResult =
  | { kind: 'ended'; reading: Transcript; settled: Conclusion; exit: LaunchExit; spend: Spend; overrun?: Overrun }
  | { kind: 'lost'; reason: string; spend: Spend }
  | { kind: 'let-go' }

/**
 * Ties the shim to the lease: when the lease is not renewed, the shim ends the agent before another engine may claim the task. The
 * heartbeat of the engine renews all leases; the first renewal is made here, for a run to which the engine has just re-attached.
 */
export const keepAlive = (
  runContext: Pick<RunContext, 'context' | 'run' | 'abort' | 'renewedAt' | 'onRenewed'>,
  dir: string,
): (() => void) => {
  const { context } = runContext
  const touch = (): void => void context.ports.processes.touchKeepAlive(dir)
  runContext.onRenewed = touch
  const at = context.clock.elapsed()
  renewLease(context.db, runContext.run, context.config().lease.ttlSeconds).then(
    (held) => {
      if (held) {
        runContext.renewedAt = at
        touch()
      } else if (!context.stopping.aborted) runContext.abort.abort('lease-lost')
    },
    (error: unknown) =>
      context.log.warn({ run: runContext.run.id, error: String(error) }, 'a lease could not be renewed'),
  )
  return () => delete runContext.onRenewed
}

/** Called from timers, which await nothing: a stop that fails (a full disk) is logged, and the shim's own limit still ends the agent. */
const requestStop = (runContext: RunContext, cause: StopCause): void => {
  stopLaunch(runContext, cause).catch((error: unknown) => {
    runContext.context.log.warn(
      { run: runContext.run.id, cause, error: String(error) },
      'an agent could not be stopped',
    )
  })
}

const concludeTurn = (runContext: RunContext, reading: Transcript, exit: LaunchExit): Conclusion => {
  if (exit.spawnError !== undefined) {
    return { ok: false, fatal: true, error: { source: 'exit', type: 'bad_exit', text: exit.spawnError } }
  }
  return runContext.driver.conclude(reading, {
    code: exit.code,
    signal: exit.signal,
    ...defined({ stopCause: exit.cause }),
  })
}

interface Watch {
  heard(item: { stream: OutputStream; nextOffset: number }, before: Transcript, after: Transcript): void
  overrun(): Overrun | undefined
  end(): Promise<void>
}

/** Everything that stops an agent before it ends by itself: a limit, a stall, a turn that its CLI does not end, a loop. */
const watchAgent = (runContext: RunContext, launch: Launch, dir: string, reading: () => Transcript): Watch => {
  const { clock, config } = runContext.context
  const stop = (cause: StopCause): void => requestStop(runContext, cause)
  const spend = watchSpend(runContext, launch, reading, () => stop('budget'))
  // An agent that printed its final event is measured by the linger limit instead.
  const isPaused = (): boolean => reading().final !== undefined || spend.overrun() !== undefined
  const stalls = watchStalls(runContext, { dir, isPaused }, stop)
  const turn = watchTurn(clock, () => config().stall.lingerSeconds, stop)
  const loops = watchLoops(runContext, dir, () => (isPaused() ? undefined : stop('doom_loop')))
  return {
    heard(item, before, after) {
      stalls.onLine(item.stream, before, after)
      loops.onLine(item, before, after)
      spend.onLine()
      turn.onLine(after)
    },
    overrun: spend.overrun,
    async end() {
      spend.end()
      stalls.end()
      turn.end()
      await loops.end()
    },
  }
}

interface Seen {
  reading: Transcript
  overrun?: Overrun
}

/** Reads to the end of the output, and requests a stop at a limit, when the CLI lingers, or when the agent is stuck. */
const follow = async (runContext: RunContext, launch: Launch, dir: string): Promise<Seen> => {
  let reading = runContext.driver.emptyTranscript()
  const watch = watchAgent(runContext, launch, dir, () => reading)
  try {
    for await (const item of runContext.context.ports.processes.follow(dir, { signal: stopSignal(runContext) })) {
      if (!('line' in item)) continue
      const before = reading
      reading = runContext.driver.read(before, item.stream, item.line).transcript
      watch.heard(item, before, reading)
    }
  } finally {
    await watch.end()
  }
  const overrun = watch.overrun()
  return overrun === undefined ? { reading } : { reading, overrun }
}

const lost = async (runContext: RunContext, launch: Launch, reading: Transcript): Promise<LaunchResult> => {
  const killed = await runContext.context.ports.processes.sweep(runContext.run.id, runSigns(runContext))
  const reason = `the shim of launch ${launch.number} is gone without an exit status (${killed} of its processes were ended)`
  return { kind: 'lost', reason, spend: spendOf(runContext, launch, reading) }
}

/** Phase `supervise`: follows the agent, which may have ended meanwhile, and returns the result of its launch. */
export const superviseLaunch = async (runContext: RunContext): Promise<LaunchResult> => {
  const launch = lastLaunch(runContext.run) as Launch
  const dir = runContext.paths.launch(launch.number)
  const stopKeepAlive = keepAlive(runContext, dir)
  try {
    const seen = await follow(runContext, launch, dir)
    if (isReleased(runContext)) return { kind: 'let-go' }
    const state = runContext.context.ports.processes.launchState(dir)
    if (state.state !== 'ended') return await lost(runContext, launch, seen.reading)
    const { exit } = state
    const { context, driver } = runContext
    const reading = withRefusedPaths(context, driver, workTreeOf(runContext), seen.reading)
    const settled = concludeTurn(runContext, reading, exit)
    return { kind: 'ended', ...seen, reading, exit, settled, spend: spendOf(runContext, launch, reading, exit) }
  } finally {
    stopKeepAlive()
  }
}
