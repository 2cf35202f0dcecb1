/**
 * The periodic jobs of the leader. Each says after how many seconds it is due again, and the store keeps that time: a pass in which nothing
 * is due reads nothing, and a new leader continues where the last one stopped. What follows from a change of a task, a run or a merge is
 * no such job; it is done in the pass that the change wakes.
 */
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { addJobs, dueJobs, recordJob, secondsToNextJob } from '../../store/job.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { watchAnomalies } from './anomalies.ts'
import { withdrawPassedFaults } from './machine-faults.ts'
import { followReviewedBranches } from './review-heads.ts'
import { limitStorage } from './storage-limit.ts'
import { endStuckRuns } from './stuck-runs.ts'
import { endUnusedPathsWhenDue } from './unused-paths.ts'

export interface PeriodicJob {
  name: string
  /** Returns after how many seconds it is due again. */
  run: (context: Context) => Promise<number>
  /** Also due when an engine begins to lead. */
  atStart?: true
}

export const periodicJobs: readonly PeriodicJob[] = [
  { name: 'anomalies', run: watchAnomalies },
  { name: 'machine_faults', run: withdrawPassedFaults },
  { name: 'review_heads', run: followReviewedBranches },
  { name: 'storage', run: limitStorage },
  { name: 'stuck_runs', run: endStuckRuns },
  { name: 'unused_paths', run: endUnusedPathsWhenDue, atStart: true },
]

/** After an error that is the job's own. */
const retrySeconds = 60

const runOne = async (context: Context, job: PeriodicJob, engineId: string): Promise<void> => {
  const seconds = await job.run(context).catch((error: unknown) => {
    if (endsPass(context, error)) throw error
    if (!(error instanceof StaleError))
      context.log.error({ job: job.name, error: messageOf(error) }, 'a periodic job failed; it is tried again')
    return retrySeconds
  })
  await recordJob(context.db, job.name, { engineId, seconds })
}

/** Another engine may have led in between: the stored times are read at least so often. */
const longestSeconds = 60

/** Runs what is due. The first call of an engine makes the jobs known to the store. */
export const createJobs = (
  engineId: string,
  jobs: readonly PeriodicJob[] = periodicJobs,
): ((context: Context) => Promise<void>) => {
  let dueAt: number | undefined
  return async (context) => {
    const { clock, db, stopping } = context
    if (dueAt !== undefined && clock.elapsed() < dueAt) return
    const isFirst = dueAt === undefined
    if (isFirst)
      await addJobs(
        db,
        jobs.map(({ name }) => name),
      )
    const due = new Set(await dueJobs(db))
    for (const job of jobs.filter(({ name, atStart }) => due.has(name) || (isFirst && atStart === true))) {
      if (stopping.aborted) return
      await runOne(context, job, engineId)
    }
    const next = await secondsToNextJob(db)
    dueAt = clock.elapsed() + Math.max(0, Math.min(longestSeconds, next ?? longestSeconds)) * 1000
  }
}
