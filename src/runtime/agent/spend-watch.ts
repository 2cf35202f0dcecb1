/** Compares the spend of a running agent with the limits of its run and its goal. */
import { addSpend, overrunOf, type Overrun, type Spend } from '../../domain/budget.ts'
import type { Launch } from '../../domain/run.ts'
import type { Reading } from '../../harness/driver.ts'
import type { LaunchExit } from '../../process/contract.ts'
import { getGoal } from '../../store/goal.ts'
import type { Session } from '../core/session.ts'

const tokensOf = (session: Session, launch: Launch, reading: Reading): number => {
  const all = reading.tokens.input - reading.tokens.cachedInput + reading.tokens.output
  // Some CLIs report the tokens of the whole resumed session. The part before this launch is in the run's spend already.
  const before = session.driver.tokenScope === 'session' && launch.resumeSession !== null ? session.run.spend.tokens : 0
  return Math.max(0, all - before)
}

export const spendOf = (session: Session, launch: Launch, reading: Reading, exit?: LaunchExit): Spend => {
  const began = launch.startedAt === null ? session.context.clock.now() : new Date(launch.startedAt)
  const seconds =
    exit === undefined ? (session.context.clock.now().getTime() - began.getTime()) / 1000 : exit.durationMs / 1000
  return { tokens: tokensOf(session, launch, reading), costUsd: reading.costUsd ?? 0, seconds: Math.max(0, seconds) }
}

const checkEveryMs = 1_000

export interface SpendWatch {
  /** After each line that was read. */
  heard(): void
  /** The limit that was reached; undefined = none. */
  overrun(): Overrun | undefined
  end(): void
}

/** Watches until `end` is called or a limit is reached; a limit calls `stop` once. `reading`: the output parsed so far. */
export const watchSpend = (session: Session, launch: Launch, reading: () => Reading, stop: () => void): SpendWatch => {
  let overrun: Overrun | undefined
  const check = (): void => {
    if (overrun !== undefined) return
    const spent = addSpend(session.run.spend, spendOf(session, launch, reading()))
    overrun = overrunOf(session.goal.limits, spent, session.goal.spend)
    if (overrun !== undefined) stop()
  }
  const end = session.context.clock.every(checkEveryMs, () => {
    // Other runs of the goal spend as well, so its row is read again.
    void getGoal(session.context.db, session.goal.id).then(
      (goal) => {
        if (goal !== undefined) session.goal = goal
        check()
      },
      () => check(), // the store is closing: the last known spend is compared
    )
  })
  return { heard: check, overrun: () => overrun, end }
}
