/**
 * Follows a running agent to its end. It reads only the files of the launch folder, so it works in the same way for an agent that this
 * engine started and for one to which it re-attached.
 */
import type { Overrun, Spend } from '../../domain/budget.ts'
import { lastLaunch, type Launch } from '../../domain/run.ts'
import type { Reading, Settled } from '../../harness/driver.ts'
import type { LaunchExit, StopCause, Stream } from '../../process/contract.ts'
import { renewLease } from '../../store/run.ts'
import { watchLoops } from './loop-watch.ts'
import { spendOf, watchSpend } from './spend-watch.ts'
import { signsOf, stopLaunch } from './stop.ts'
import { bothSignals, letGo, type Session } from '../core/session.ts'
import { watchStalls } from './stall-watch.ts'
import { watchTurn } from './turn-watch.ts'

export type LaunchResult =
  | { kind: 'ended'; reading: Reading; settled: Settled; exit: LaunchExit; spend: Spend; overrun?: Overrun }
  | { kind: 'lost'; reason: string; spend: Spend }
  | { kind: 'let-go' }

/**
 * Ties the shim to the lease: when the lease is not renewed, the shim ends the agent before another engine may claim the task. The
 * heartbeat of the engine renews all leases; the first renewal is made here, for a run to which the engine has just re-attached.
 */
const keepAlive = (session: Session, dir: string): (() => void) => {
  const { context } = session
  const touch = (): void => void context.ports.processes.touchKeepAlive(dir)
  session.renewed = touch
  const at = context.clock.elapsed()
  renewLease(context.db, session.run, context.config().lease.ttlSeconds).then(
    (held) => {
      if (held) {
        session.renewedAt = at
        touch()
      } else if (!context.stopping.aborted) session.abort.abort('lease-lost')
    },
    (error: unknown) => context.log.warn({ run: session.run.id, error: String(error) }, 'a lease could not be renewed'),
  )
  return () => delete session.renewed
}

/** Called from timers, which await nothing: a stop that fails (a full disk) is logged, and the shim's own limit still ends the agent. */
const requestStop = (session: Session, cause: StopCause): void => {
  stopLaunch(session, cause).catch((error: unknown) => {
    session.context.log.warn({ run: session.run.id, cause, error: String(error) }, 'an agent could not be stopped')
  })
}

const concludeTurn = (session: Session, reading: Reading, exit: LaunchExit): Settled => {
  if (exit.spawnError !== undefined) {
    return { ok: false, fatal: true, error: { source: 'exit', type: 'bad_exit', text: exit.spawnError } }
  }
  return session.driver.settle(reading, {
    code: exit.code,
    signal: exit.signal,
    ...(exit.cause === undefined ? {} : { stopCause: exit.cause }),
  })
}

interface Watch {
  heard(item: { stream: Stream; nextOffset: number }, before: Reading, after: Reading): void
  overrun(): Overrun | undefined
  end(): Promise<void>
}

/** Everything that stops an agent before it ends by itself: a limit, a stall, a turn that its CLI does not end, a loop. */
const watchAgent = (session: Session, launch: Launch, dir: string, reading: () => Reading): Watch => {
  const { clock, config } = session.context
  const stop = (cause: StopCause): void => requestStop(session, cause)
  const spend = watchSpend(session, launch, reading, () => stop('budget'))
  // An agent that printed its final event is measured by the linger limit instead.
  const isPaused = (): boolean => reading().final !== undefined || spend.overrun() !== undefined
  const stalls = watchStalls(session, { dir, rests: isPaused }, stop)
  const turn = watchTurn(clock, () => config().stall.lingerSeconds, stop)
  const loops = watchLoops(session, dir, () => (isPaused() ? undefined : stop('doom_loop')))
  return {
    heard(item, before, after) {
      stalls.heard(item.stream, before, after)
      loops.heard(item, before, after)
      spend.heard()
      turn.heard(after)
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
  reading: Reading
  overrun?: Overrun
}

/** Reads to the end of the output, and requests a stop at a limit, when the CLI lingers, or when the agent is stuck. */
const follow = async (session: Session, launch: Launch, dir: string): Promise<Seen> => {
  let reading = session.driver.begin()
  const watch = watchAgent(session, launch, dir, () => reading)
  try {
    for await (const item of session.context.ports.processes.follow(dir, { signal: bothSignals(session) })) {
      if (!('line' in item)) continue
      const before = reading
      reading = session.driver.read(before, item.stream, item.line).reading
      watch.heard(item, before, reading)
    }
  } finally {
    await watch.end()
  }
  const overrun = watch.overrun()
  return overrun === undefined ? { reading } : { reading, overrun }
}

const lost = async (session: Session, launch: Launch, reading: Reading): Promise<LaunchResult> => {
  const killed = await session.context.ports.processes.sweep(session.run.id, signsOf(session))
  const reason = `the shim of launch ${launch.number} is gone without an exit status (${killed} of its processes were ended)`
  return { kind: 'lost', reason, spend: spendOf(session, launch, reading) }
}

/** Phase `supervise`: follows the agent, which may have ended meanwhile, and returns the result of its launch. */
export const superviseLaunch = async (session: Session): Promise<LaunchResult> => {
  const launch = lastLaunch(session.run) as Launch
  const dir = session.paths.launch(launch.number)
  const stopKeepAlive = keepAlive(session, dir)
  try {
    const seen = await follow(session, launch, dir)
    if (letGo(session)) return { kind: 'let-go' }
    const state = session.context.ports.processes.launchState(dir)
    if (state.state !== 'ended') return await lost(session, launch, seen.reading)
    const { exit } = state
    const settled = concludeTurn(session, seen.reading, exit)
    return { kind: 'ended', ...seen, exit, settled, spend: spendOf(session, launch, seen.reading, exit) }
  } finally {
    stopKeepAlive()
  }
}
