/**
 * Follows a running agent to its end. Everything is learnt from the launch folder's files, so it works the same for a
 * launch of this engine and for one that an earlier engine started and this one re-attached to.
 */
import { addSpend, overrunOf, type Overrun, type Spend } from '../domain/budget.ts'
import { lastLaunch, type Launch } from '../domain/run.ts'
import type { Reading, Settled } from '../harness/driver.ts'
import { insistsOnKey } from '../harness/reading.ts'
import type { LaunchExit, StopCause } from '../process/contract.ts'
import { getGoal } from '../store/goal.ts'
import { renewLease } from '../store/run.ts'
import { watchLoops } from './loop-watch.ts'
import { bothSignals, letGo, workTreeOf, type Session } from './session.ts'
import { watchStalls } from './stall-watch.ts'

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

/** Keeps what the workspace holds before the engine ends a process in it. A snapshot that fails is reported and stops nothing. */
export const keepSnapshot = async (session: Session, reason: string): Promise<void> => {
  const { context, run } = session
  if (run.baseCommit === null) return
  try {
    await context.ports.git.snapshot(context.shadow, {
      runId: run.id,
      workTree: workTreeOf(session),
      base: run.baseCommit,
      reason,
      at: context.clock.now().toISOString(),
    })
  } catch (error) {
    context.log.warn({ run: run.id, error: String(error) }, 'a snapshot could not be made')
  }
}

/** Snapshot first, then SIGTERM to the shim; the first cause wins. */
export const stopLaunch = async (session: Session, cause: StopCause): Promise<void> => {
  const { processes } = session.context.ports
  const dir = session.paths.launch(lastLaunch(session.run)?.number ?? 1)
  const state = processes.launchState(dir)
  if (state.state !== 'running' && state.state !== 'at-gate') return
  await keepSnapshot(session, `before a stop: ${cause}`)
  processes.requestStop(state.shim, cause)
}

/** Asked for from timers, where nobody waits: a stop that fails (a full disk) is told, and the shim's own limit is left. */
const askToStop = (session: Session, cause: StopCause): void => {
  stopLaunch(session, cause).catch((error: unknown) => {
    session.context.log.warn({ run: session.run.id, cause, error: String(error) }, 'an agent could not be stopped')
  })
}

const tokensOf = (session: Session, launch: Launch, reading: Reading): number => {
  const all = reading.tokens.input - reading.tokens.cachedInput + reading.tokens.output
  // Some CLIs count a whole resumed session: the part before this launch is in the run's spend already.
  const before = session.driver.tokenScope === 'session' && launch.resumeSession !== null ? session.run.spend.tokens : 0
  return Math.max(0, all - before)
}

const spendOf = (session: Session, launch: Launch, reading: Reading, exit?: LaunchExit): Spend => {
  const began = launch.startedAt === null ? session.context.clock.now() : new Date(launch.startedAt)
  const seconds =
    exit === undefined ? (session.context.clock.now().getTime() - began.getTime()) / 1000 : exit.durationMs / 1000
  return { tokens: tokensOf(session, launch, reading), costUsd: reading.costUsd ?? 0, seconds: Math.max(0, seconds) }
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
  reading: Reading
  overrun?: Overrun
}

/** Reads to the end of the output; asks for a stop at a ceiling, when the CLI lingers, or when it is stuck. */
const watch = async (session: Session, launch: Launch, dir: string): Promise<Watch> => {
  const seen: Watch = { reading: session.driver.begin() }
  const { clock, ports, config } = session.context
  let endLinger: (() => void) | undefined
  let refused = false
  const check = (): void => {
    if (seen.overrun !== undefined) return
    const overrun = overrunOf(
      session.goal.limits,
      addSpend(session.run.spend, spendOf(session, launch, seen.reading)),
      session.goal.spend,
    )
    if (overrun === undefined) return
    seen.overrun = overrun
    askToStop(session, 'budget')
  }
  const endLooks = clock.every(1_000, () => {
    // Other runs of the goal spend as well.
    void getGoal(session.context.db, session.goal.id).then(
      (goal) => {
        if (goal !== undefined) session.goal = goal
        check()
      },
      () => check(), // the store is closing: the last known spend decides
    )
  })
  // One that has said its last word lingers, and that is another clock.
  const rests = (): boolean => seen.reading.final !== undefined || seen.overrun !== undefined
  const stalls = watchStalls(session, { dir, rests }, (stall) => askToStop(session, stall))
  const loops = watchLoops(session, dir, () => (rests() ? undefined : askToStop(session, 'doom_loop')))
  try {
    for await (const item of ports.processes.follow(dir, { signal: bothSignals(session) })) {
      if (!('line' in item)) continue
      const before = seen.reading
      seen.reading = session.driver.read(before, item.stream, item.line).reading
      stalls.heard(item.stream, before, seen.reading)
      loops.heard(item, before, seen.reading)
      check()
      if (!refused && insistsOnKey(seen.reading)) {
        refused = true
        askToStop(session, 'correction')
      }
      if (seen.reading.final !== undefined)
        endLinger ??= clock.after(config().stall.lingerSeconds * 1000, () => askToStop(session, 'lingering'))
      else if (endLinger !== undefined) {
        // What looked like the end was none: a CLI went on after compacting its conversation.
        endLinger()
        endLinger = undefined
      }
    }
  } finally {
    endLooks()
    stalls.end()
    endLinger?.()
    await loops.end()
  }
  return seen
}

/** Phase `supervise`: from a running (or meanwhile ended) agent to what its launch amounts to. */
export const superviseLaunch = async (session: Session): Promise<LaunchResult> => {
  const launch = lastLaunch(session.run) as Launch
  const { processes } = session.context.ports
  const dir = session.paths.launch(launch.number)
  const stopBeat = keepAlive(session, dir)
  try {
    const seen = await watch(session, launch, dir)
    if (letGo(session)) return { kind: 'let-go' }
    const state = processes.launchState(dir)
    if (state.state !== 'ended') {
      const killed = await processes.sweep(session.run.id)
      const reason = `the shim of launch ${launch.number} is gone and left no exit status (${killed} process(es) of it were ended)`
      return { kind: 'lost', reason, spend: spendOf(session, launch, seen.reading) }
    }
    return {
      kind: 'ended',
      reading: seen.reading,
      exit: state.exit,
      settled: settle(session, seen.reading, state.exit),
      spend: spendOf(session, launch, seen.reading, state.exit),
      ...(seen.overrun === undefined ? {} : { overrun: seen.overrun }),
    }
  } finally {
    stopBeat()
  }
}
