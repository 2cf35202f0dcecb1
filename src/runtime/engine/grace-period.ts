/**
 * Grace periods in which no owner is declared dead: after becoming leader, after a store outage, after a clock jump,
 * and after this process was suspended. A live owner needs one lease renewal to prove that it is alive. Three clocks
 * are compared: a monotonic one, the wall clock and the store's.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import type { Context } from '../core/context.ts'

export interface Clocks {
  monotonic: number
  wall: number
  store: number
  /** Milliseconds that the query of the store's clock took: its time is only known to this precision. */
  queryMs: number
}

/** A difference between two comparisons that elapsed time does not explain; undefined = none. */
export const clockJump = (before: Clocks, now: Clocks, ttlSeconds: number): string | undefined => {
  const passed = now.monotonic - before.monotonic
  const tolerance = Math.max(2_000, renewIntervalMs(ttlSeconds) / 2)
  const seconds = (ms: number): string => `${Math.round(Math.abs(ms) / 1000)} s`
  if (passed > ttlSeconds * 1000) return `this engine did nothing for ${seconds(passed)}`
  const wall = now.wall - before.wall - passed
  const store = now.store - before.store - passed
  const storeMoved = Math.abs(store) > tolerance + before.queryMs + now.queryMs
  if (wall > tolerance && storeMoved && Math.abs(wall - store) < tolerance)
    return `this machine slept for ${seconds(wall)}, or its clock was set`
  if (storeMoved) return `the clock of the store jumped ${store > 0 ? 'ahead' : 'back'} by ${seconds(store)}`
  if (Math.abs(wall) > tolerance)
    return `the clock of this machine jumped ${wall > 0 ? 'ahead' : 'back'} by ${seconds(wall)}, or it slept`
  return undefined
}

export interface GracePeriod {
  /** Starts a grace period of one renewal interval. */
  begin(): void
  isOver(): boolean
  /** Compares the clocks, at most once a second. If one jumped, starts a grace period and records an event. */
  compareClocks(): Promise<void>
}

const compareEveryMs = 1_000

const clocksNow = async ({ clock, db }: Context): Promise<Clocks> => {
  const mono = clock.elapsed()
  const wall = clock.now().getTime()
  const store = (await storeNow(db)).getTime()
  return { monotonic: mono, wall, store, queryMs: clock.elapsed() - mono }
}

const graceMs = (context: Context): number => renewIntervalMs(context.config().lease.ttlSeconds)

const recordJump = async (context: Context, engine: string, evidence: string): Promise<void> => {
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
  const begin = (): void => {
    until = Math.max(until, clock.elapsed() + graceMs(context))
  }
  return {
    begin,
    isOver: () => clock.elapsed() >= until,
    compareClocks: async () => {
      if (before !== undefined && clock.elapsed() - before.monotonic < compareEveryMs) return
      const now = await clocksNow(context)
      const evidence = before === undefined ? undefined : clockJump(before, now, context.config().lease.ttlSeconds)
      before = now
      if (evidence === undefined) return
      begin()
      await recordJump(context, engineId, evidence)
    },
  }
}
