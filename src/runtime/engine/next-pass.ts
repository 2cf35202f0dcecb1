/** When the loop of an engine makes its next pass, if nothing wakes it before. */
import { secondsToNextRetry } from '../../store/due-tasks.ts'
import type { Context } from '../core/context.ts'

/** Milliseconds between two passes without a wake-up; every change of state wakes the loop at once. */
export const passEveryMs = 3_000
const shortestMs = 10

/**
 * `askedAt`: the time of the store at which the leader asked what is due; undefined = this engine did not lead, and a pass of its own
 * would move no task. What was due at that time is looked at again in the next ordinary pass, or a task that cannot be moved now (the
 * repository is missing) would have the loop run without a rest. What became due since then was not seen, and what is due in less
 * than a millisecond is not seen either: both cost the shortest wait.
 */
export const msToNextPass = async ({ db }: Pick<Context, 'db'>, askedAt: Date | undefined): Promise<number> => {
  const seconds = askedAt === undefined ? undefined : await secondsToNextRetry(db, askedAt)
  return seconds === undefined ? passEveryMs : Math.max(shortestMs, Math.min(passEveryMs, Math.ceil(seconds * 1000)))
}
