/**
 * The periodic jobs of the leader. Each says after how many seconds it is due again, and the store keeps that time: a pass in which nothing
 * is due reads nothing, and a new leader continues where the last one stopped. What follows from a change of a task, a run or a merge is
 * no such job; it is done in the pass that the change wakes.
 */
import { messageOf } from '../../errors.ts'
import { StaleError, mustSucceed } from '../../store/db.ts'
import { addJobs, dueJobs, recordJob, secondsToNextJob } from '../../store/job.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { watchAnomalies } from './anomalies.ts'
import { followReviewedBranches } from './review-heads.ts'
import { limitStorage } from './storage-limit.ts'
import { endStuckRuns } from './stuck-runs.ts'
import { expireLearnedPaths } from '../../store/learned-path.ts'
import { expirePathGrants, secondsToExpiry } from '../../store/path-grant.ts'
import { exportLearnedPaths } from '../core/export-learned.ts'
import { grantLimit } from '../core/granted-paths.ts'
import { answerEscalation, getEscalation } from '../../store/escalation.ts'
import { lockGoal } from '../../store/goal.ts'
import { askedFaults, type AskedFault } from '../../store/asked-fault.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { isStillAtFault } from '../../recovery/probe.ts'
import { lookAgain } from '../checks/probes.ts'
import { reopenGoal } from '../people/commands.ts'

/**
 * A job: withdraws a question about a fault of this machine (a port, a disk, a registry) once a probe no longer finds it. The checks then
 * run again on the work that is there, without a call of the agent. A fault that keeps coming back is left to the person.
 */
const lookSeconds = 10
const mostWithdrawals = 3

const hasPassed = async ({ machine }: Context, { fault }: AskedFault): Promise<boolean> => {
  const reading = machine === undefined ? undefined : await lookAgain(machine, fault)
  return reading !== undefined && !isStillAtFault(fault, reading)
}

const withdraw = (context: Context, { id, goalId, taskId }: AskedFault): Promise<void> =>
  context.db.transaction(async (tx) => {
    await lockGoal(tx, goalId)
    const [question, task] = [await getEscalation(tx, id), await getTask(tx, taskId)]
    // A person was faster, by an answer or by taking the task over.
    if (question?.state !== 'pending' || task?.status !== 'blocked(awaiting_human)' || task.takenOver !== null) return
    mustSucceed(await answerEscalation(tx, question, 'overtaken'))
    const payload = { reason: 'machine_fault_passed' }
    mustSucceed(await moveTask(tx, task, 'retry_due', { payload, resetBudget: true }))
    await reopenGoal(tx, goalId)
  })

const withdrawPassedFaults = async (context: Context): Promise<number> => {
  const asked = (await askedFaults(context.db, context.host)).filter(({ withdrawn }) => withdrawn < mostWithdrawals)
  // At the same time, because a host that does not answer takes seconds.
  const passed = await Promise.all(asked.map((each) => hasPassed(context, each)))
  const over = asked.filter((_, at) => passed[at])
  for (const each of over) await withdraw(context, each)
  // The loop is not woken by what its own engine stores.
  if (over.length > 0) context.wake()
  return lookSeconds
}

// A job of the leader: ends the granted and learned paths that no run has used for some time.

/**
 * Longest time between two readings of the due time. A shorter `grantDays` and a clock that was set forward count after this time at
 * the latest.
 */
const longestWaitSeconds = 3600

const endUnusedPaths = async (context: Context): Promise<void> => {
  const limit = grantLimit(context)
  await context.db.transaction(async (tx) => {
    await expirePathGrants(tx, limit)
    await expireLearnedPaths(tx, limit)
  })
  await exportLearnedPaths(context)
}

/** Ends what is due, and returns after how many seconds the next path is, or the longest wait. */
export const endUnusedPathsWhenDue = async (context: Context): Promise<number> => {
  const seconds = await secondsToExpiry(context.db, grantLimit(context))
  if (seconds === undefined || seconds > 0) await exportLearnedPaths(context)
  else await endUnusedPaths(context)
  return seconds === undefined || seconds <= 0 ? longestWaitSeconds : Math.min(longestWaitSeconds, seconds)
}

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
