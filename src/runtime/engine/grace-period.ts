/**
 * Grace periods in which no owner is declared dead: after becoming leader, after a store outage, after a clock jump,
 * and after this process was suspended. A live owner needs one lease renewal to prove that it is alive. Three clocks
 * are compared: a monotonic one, the wall clock and the store's.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import { moveWaits } from '../../store/clock-change.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import type { Context } from '../core/context.ts'

export interface Clocks {
  monotonic: number
  /** As `monotonic`, with the time that the machine slept. */
  boot: number
  wall: number
  store: number
  /** Milliseconds that the query of the store's clock took: its time is only known to this precision. */
  queryMs: number
}

export interface ClockJump {
  /** What happened, for people. */
  evidence: string
  /** Milliseconds by which the clock of the store was set, negative = back; 0 = it was not set, though the machine may have slept. */
  storeSetMs: number
}

/** A difference between two comparisons that elapsed time does not explain; undefined = none. */
export const clockJump = (before: Clocks, now: Clocks, ttlSeconds: number): ClockJump | undefined => {
  const passed = now.monotonic - before.monotonic
  const slept = now.boot - before.boot - passed
  const tolerance = Math.max(2_000, renewIntervalMs(ttlSeconds) / 2)
  const storeTolerance = tolerance + before.queryMs + now.queryMs
  const seconds = (ms: number): string => `${Math.round(Math.abs(ms) / 1000)} s`
  const wall = now.wall - before.wall - passed - slept
  const store = now.store - before.store - passed - slept
  const storeSetMs = Math.abs(store) > storeTolerance ? store : 0
  const told = (evidence: string): ClockJump => ({ evidence, storeSetMs })
  const set = (whose: string, ms: number): ClockJump =>
    told(`the clock of ${whose} was set ${ms > 0 ? 'ahead' : 'back'} by ${seconds(ms)}`)
  if (storeSetMs !== 0) return set('the store', store)
  if (passed > ttlSeconds * 1000) return told(`this engine did nothing for ${seconds(passed)}`)
  if (slept > tolerance) return told(`this machine slept for ${seconds(slept)}`)
  return Math.abs(wall) > tolerance ? set('this machine', wall) : undefined
}

export interface GracePeriod {
  /** Starts a grace period of one renewal interval. */
  begin(): void
  isOver(): boolean
  /** Compares the clocks, at most once a second. If one jumped, starts a grace period and records an event. */
  compareClocks(): Promise<void>
  /**
   * Moves the waits in the store by as much as its clock was set since the last call that succeeded. Undefined = another engine leads,
   * and does it.
   */
  followClock(leading: Context | undefined): Promise<void>
}

const compareEveryMs = 1_000

const clocksNow = async ({ clock, db }: Context): Promise<Clocks> => {
  const mono = clock.elapsed()
  const boot = clock.sinceBoot()
  const wall = clock.now().getTime()
  const store = (await storeNow(db)).getTime()
  return { monotonic: mono, boot, wall, store, queryMs: clock.elapsed() - mono }
}

const graceMs = (context: Context): number => renewIntervalMs(context.config().lease.ttlSeconds)

/** In the events and the log. */
export const recordJump = async (context: Context, engine: string, evidence: string): Promise<void> => {
  context.log.warn({ evidence }, 'grace period: nothing is declared dead for a while')
  await appendEvent(context.db, {
    type: 'engine.clock_jumped',
    payload: { engine, evidence, graceSeconds: graceMs(context) / 1000 },
  })
}

export const createGracePeriod = (context: Context, engineId: string): GracePeriod => {
  const { clock } = context
  let until = 0
  let before: Clocks | undefined
  let unmovedMs = 0
  const begin = (): void => {
    until = Math.max(until, clock.elapsed() + graceMs(context))
  }
  return {
    begin,
    isOver: () => clock.elapsed() >= until,
    compareClocks: async () => {
      if (before !== undefined && clock.elapsed() - before.monotonic < compareEveryMs) return
      const now = await clocksNow(context)
      const jump = before === undefined ? undefined : clockJump(before, now, context.config().lease.ttlSeconds)
      before = now
      if (jump === undefined) return
      unmovedMs += jump.storeSetMs
      begin()
      await recordJump(context, engineId, jump.evidence)
    },
    followClock: async (leading) => {
      if (leading !== undefined && unmovedMs !== 0)
        await leading.db.transaction((tx) => moveWaits(tx, unmovedMs / 1000))
      unmovedMs = 0
    },
  }
}
