/**
 * Follows a running agent to its end. Everything is learnt from the launch folder's files, so it works the same for a
 * launch of this engine and for one that an earlier engine started and this one re-attached to.
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
 * Keeps the shim alive with the lease and not beyond it: one whose lease is not renewed ends its agent before another engine
 * may take the task. The renewals are the engine's (beat.ts); the first is made here, for a run that was taken up again.
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
const askToStop = (session: Session, cause: StopCause): void => {
  stopLaunch(session, cause).catch((error: unknown) => {
    session.context.log.warn({ run: session.run.id, cause, error: String(error) }, 'an agent could not be stopped')
  })
}

const settle = (session: Session, reading: Reading, exit: LaunchExit): Settled => {
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

/** What can end it before it ends itself: a ceiling, a stall, a turn that its CLI does not end, a loop. */
const watchAgent = (session: Session, launch: Launch, dir: string, reading: () => Reading): Watch => {
  const { clock, config } = session.context
  const stop = (cause: StopCause): void => askToStop(session, cause)
  const spend = watchSpend(session, launch, reading, () => stop('budget'))
  // One that has said its last word lingers, and that is another clock.
  const rests = (): boolean => reading().final !== undefined || spend.overrun() !== undefined
  const stalls = watchStalls(session, { dir, rests }, stop)
  const turn = watchTurn(clock, () => config().stall.lingerSeconds, stop)
  const loops = watchLoops(session, dir, () => (rests() ? undefined : stop('doom_loop')))
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

/** Reads to the end of the output; asks for a stop at a ceiling, when the CLI lingers, or when it is stuck. */
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
  const reason = `the shim of launch ${launch.number} is gone and left no exit status (${killed} process(es) of it were ended)`
  return { kind: 'lost', reason, spend: spendOf(session, launch, reading) }
}

/** Phase `supervise`: from a running (or meanwhile ended) agent to what its launch amounts to. */
export const superviseLaunch = async (session: Session): Promise<LaunchResult> => {
  const launch = lastLaunch(session.run) as Launch
  const dir = session.paths.launch(launch.number)
  const stopBeat = keepAlive(session, dir)
  try {
    const seen = await follow(session, launch, dir)
    if (letGo(session)) return { kind: 'let-go' }
    const state = session.context.ports.processes.launchState(dir)
    if (state.state !== 'ended') return await lost(session, launch, seen.reading)
    const { exit } = state
    const settled = settle(session, seen.reading, exit)
    return { kind: 'ended', ...seen, exit, settled, spend: spendOf(session, launch, seen.reading, exit) }
  } finally {
    stopBeat()
  }
}
