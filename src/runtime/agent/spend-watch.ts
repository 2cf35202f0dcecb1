/** Compares the spend of a running agent with the limits of its run and its goal. */
import { addSpend, overrunOf, type Overrun, type Spend } from '../../domain/budget.ts'
import { limitedSpend, spendOfLaunches, type Launch } from '../../domain/run.ts'
import type { Transcript } from '../../harness/driver.ts'
import type { LaunchExit } from '../../process/shim-protocol.ts'
import { getGoal } from '../../store/goal.ts'
import type { RunContext } from '../core/run-context.ts'

const tokensOf = (runContext: RunContext, launch: Launch, reading: Transcript): number => {
  const all = reading.tokens.input - reading.tokens.cachedInput + reading.tokens.output
  // Some CLIs report the tokens of the whole resumed session. The part before this launch is in the spend of the earlier launches.
  const earlier = runContext.run.launches.filter(({ number }) => number < launch.number)
  const before =
    runContext.driver.tokenScope === 'session' && launch.resumeSession !== null ? spendOfLaunches(earlier).tokens : 0
  return Math.max(0, all - before)
}

export const spendOf = (runContext: RunContext, launch: Launch, reading: Transcript, exit?: LaunchExit): Spend => {
  const began = launch.startedAt === null ? runContext.context.clock.now() : new Date(launch.startedAt)
  const seconds =
    exit === undefined ? (runContext.context.clock.now().getTime() - began.getTime()) / 1000 : exit.durationMs / 1000
  return { tokens: tokensOf(runContext, launch, reading), costUsd: reading.costUsd ?? 0, seconds: Math.max(0, seconds) }
}

const checkEveryMs = 1_000

export interface SpendWatch {
  /** After each line that was read. */
  onLine(): void
  /** The limit that was reached; undefined = none. */
  overrun(): Overrun | undefined
  end(): void
}

/** Watches until `end` is called or a limit is reached; a limit calls `stop` once. `reading`: the output parsed so far. */
export const watchSpend = (
  runContext: RunContext,
  launch: Launch,
  reading: () => Transcript,
  stop: () => void,
): SpendWatch => {
  let overrun: Overrun | undefined
  const check = (): void => {
    if (overrun !== undefined) return
    const { run, goal } = limitedSpend(runContext.run, runContext.goal.spend)
    const spent = addSpend(run, spendOf(runContext, launch, reading()))
    overrun = overrunOf(runContext.goal.limits, spent, goal)
    if (overrun !== undefined) stop()
  }
  const end = runContext.context.clock.every(checkEveryMs, () => {
    // Other runs of the goal spend as well, so its row is read again.
    void getGoal(runContext.context.db, runContext.goal.id).then(
      (goal) => {
        if (goal !== undefined) runContext.goal = goal
        check()
      },
      () => check(), // the store is closing: the last known spend is compared
    )
  })
  return { onLine: check, overrun: () => overrun, end }
}
