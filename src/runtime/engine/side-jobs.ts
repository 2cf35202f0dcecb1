/** The jobs of the leader that run next to its loop, because they take minutes or wait for others. There is only one of each at a time. */
import { channelNames } from '../../domain/notification.ts'
import { messageOf } from '../../errors.ts'
import { LeadershipLostError } from '../../store/leader.ts'
import type { Context } from '../core/context.ts'
import { processMergeQueue, requeueInterruptedMerges } from '../landing/merge-queue.ts'
import { updateOutdatedGoals } from '../landing/outdated-goals.ts'
import { checkTargets } from '../landing/target-check.ts'
import { createGoalSigner } from '../landing/sign-goals.ts'
import { restoreGoalBranches } from '../landing/ref-guard.ts'
import { claimReviews, type ClaimedReview } from '../landing/review-claim.ts'
import { reviewWork } from '../landing/review-work.ts'
import type { CancelRunning } from '../people/commands.ts'
import { isReviewOutdated } from './review-heads.ts'
import { createContextExportJob } from './export-context.ts'
import type { GoalExportJob } from './export-goals.ts'
import { createPressedButtonsJob } from './pressed-buttons.ts'
import { createTidyNotificationsJob, handOverDue, sendDue } from './send-notifications.ts'
import { createTraceJob } from './send-traces.ts'

/** A failed pass is logged and the next one tried: if the loop ended, nothing would have an owner. */
export const safely = async (
  context: Context,
  work: () => Promise<void>,
  failed?: (error: unknown) => void,
): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (context.stopping.aborted) return
    // Another engine leads now; the next pass finds that out.
    if (error instanceof LeadershipLostError) return
    failed?.(error)
    context.log.error({ error: error instanceof Error ? error.stack : messageOf(error) }, 'a pass of the engine failed')
  }
}

export interface SideJob {
  /** Begins the job unless it is running. */
  start(context: Context): void
  idle(): Promise<void>
}

export const createSideJob = (job: (context: Context) => Promise<void>): SideJob => {
  let work: Promise<void> | undefined
  return {
    start: (context) => {
      work ??= safely(context, () => job(context)).finally(() => (work = undefined))
    },
    idle: async () => work,
  }
}

/**
 * The merge queue runs next to the loop, because verifying a rebased commit takes minutes and must not delay other
 * work. Goal branches are guarded in the same job: in parallel to a merge, the guard could take the merge's newest
 * commit for a foreign one.
 */
export const createMerger = (): SideJob => {
  const signGoals = createGoalSigner()
  return createSideJob(async (context) => {
    // There is only one job at a time, so an entry in processing at its start was left by a store failure.
    await requeueInterruptedMerges(context)
    await restoreGoalBranches(context)
    await signGoals(context)
    await updateOutdatedGoals(context)
    await processMergeQueue(context)
    await signGoals(context)
    await checkTargets(context)
  })
}

/**
 * Reviews run next to the loop, because a reviewer takes minutes. Several run at a time, and a new one begins without waiting for those:
 * at most as many as agents of this engine may work.
 */
export const createReviewer = (engineId: string): SideJob => {
  const working = new Map<string, Promise<void>>()
  const begin = (context: Context, claimed: ClaimedReview): void => {
    const { id } = claimed.judgement
    const work = safely(context, () => reviewWork(context, claimed)).finally(() => {
      working.delete(id)
      context.wake()
    })
    working.set(id, work)
  }
  const claimer = createSideJob(async (context) => {
    const free = context.config().maxParallel - working.size
    if (free <= 0) return
    const judge = { engineId, working: [...working.keys()] }
    const isOutdated = (taskId: string): Promise<boolean> => isReviewOutdated(context, taskId)
    for (const claimed of await claimReviews(context, judge, free, isOutdated)) begin(context, claimed)
  })
  return {
    start: (context) => claimer.start(context),
    idle: async () => {
      await claimer.idle()
      await Promise.all(working.values())
    },
  }
}

/** A receiver of notifications may not respond, so no channel waits for another, and nothing else waits for any. */
export const createNotifier = (cancelRunning: CancelRunning): SideJob => {
  const channels = channelNames.map((name) => createSideJob((context) => sendDue(context, name)))
  const handOver = createSideJob(async (context) => {
    await handOverDue(context)
    for (const job of channels) job.start(context)
  })
  const others = [createTidyNotificationsJob(), createPressedButtonsJob(cancelRunning)].map(createSideJob)
  const jobs = [handOver, ...others]
  return {
    start: (context) => {
      for (const job of jobs) job.start(context)
    },
    idle: async () => {
      await Promise.all(jobs.map((job) => job.idle()))
      await Promise.all(channels.map((job) => job.idle()))
    },
  }
}

/** What other programs read: files in the owner's checkout, and traces, whose collector may not respond. */
export const createExporter = (exportGoals: GoalExportJob): SideJob => {
  const exportContext = createContextExportJob()
  const files = createSideJob(async (leading) => {
    await exportGoals(leading)
    await exportContext(leading)
  })
  const jobs = [files, createSideJob(createTraceJob())]
  return {
    start: (context) => {
      for (const job of jobs) job.start(context)
    },
    idle: async () => {
      await Promise.all(jobs.map((job) => job.idle()))
    },
  }
}
