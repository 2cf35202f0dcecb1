/**
 * The remote side of a run on a repository given by URL. The base is fetched before the clone is made, and the commit
 * is pushed before the run counts as a success, so that any engine can merge it. While the remote is unreachable the
 * run waits in its phase, under its lease: an agent's work is never repeated because of the network.
 */
import { backoff } from '../../domain/backoff.ts'
import { AppError } from '../../errors.ts'
import { mustSucceed, StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { requireLease, renewLease, saveRun } from '../../store/run.ts'
import type { PushOutcome } from '../../workspace/transport.ts'
import { recover } from './carry-out.ts'
import type { PhaseResult } from './phase.ts'
import { goalRef } from '../core/context.ts'
import { isOutage, isRefusal, remoteLinkOf, refusalLimit, runRef } from '../core/remote-link.ts'
import { stopSignal, isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { resolveOpenOf } from '../core/store-record.ts'

const isHere = ({ context }: RunContext, commit: string): Promise<boolean> =>
  context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })

/**
 * Fetches the base commit into the mirror. An outage is thrown: no agent has run yet, so the task can wait in the
 * queue.
 */
export const bringBase = async (runContext: RunContext, base: string): Promise<void> => {
  const { context, goal } = runContext
  if (!(await isHere(runContext, base))) {
    const target = goal.targetBranch === null ? [] : [`refs/heads/${goal.targetBranch}`]
    await remoteLinkOf(context).fetchRefs([goalRef(goal), ...target])
    if (!(await isHere(runContext, base)))
      throw new AppError(
        'REPOSITORY_STATE',
        `commit ${base}, the base of goal ${goal.id}, is not on any branch of ${remoteLinkOf(context).url}; push it there again, or cancel the goal`,
      )
  }
  await context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveOpenOf(tx, runContext.task.id, (condition) =>
      condition.type === 'remote_answers' ? { satisfied: true, detail: 'the base commit is here' } : undefined,
    )
  })
}

/** Milliseconds. Long waits are split so that the lease is renewed in between. */
const longestPauseMs = 20_000

const pause = async (runContext: RunContext, ms: number): Promise<void> => {
  await runContext.context.clock.wait(Math.min(longestPauseMs, Math.max(ms, 100)), stopSignal(runContext))
}

/**
 * Renews the lease first: an engine that lost it must not push. If the lease is lost in between, only this run's own
 * ref is pushed, which does no harm.
 */
const pushOnce = async (runContext: RunContext, commit: string): Promise<PushOutcome | 'away'> => {
  const { context, run } = runContext
  if (!(await renewLease(context.db, run, context.config().lease.ttlSeconds))) throw new StaleError(`run ${run.id}`)
  context.at('run-push')
  try {
    const pushed = await remoteLinkOf(context).push([{ ref: runRef(run.id), to: commit, expected: null }])
    context.at('run-pushed')
    return pushed
  } catch (error) {
    if (isOutage(error)) return 'away'
    if (isRefusal(error)) return { kind: 'refused', detail: error.message }
    throw error
  }
}

/**
 * Second half of phase `commit`: stores the commit, then pushes until it is on the remote, is refused, or the run
 * belongs to another engine.
 */
export const publishRun = async (runContext: RunContext, commit: string): Promise<PhaseResult> => {
  const { context, run } = runContext
  const link = remoteLinkOf(context)
  await saveProgress(runContext, { commit })
  await context.ports.git.bringObjects(context.repository, context.shadow, { from: run.baseCommit, to: commit })
  for (let refusals = 0; ;) {
    if (isReleased(runContext)) return 'on'
    const pushed = await pushOnce(runContext, commit)
    if (pushed === 'away') await pause(runContext, link.waitMs())
    else if (pushed.kind === 'done') {
      await context.db.transaction(async (tx) => {
        runContext.run = mustSucceed(await saveRun(tx, runContext.run, { phase: 'finish' }))
        await appendEvent(tx, { type: 'remote.pushed', ...about(runContext), payload: { ref: runRef(run.id), commit } })
      })
      return 'on'
    } else {
      refusals += 1
      const payload = { ref: runRef(run.id), commit, detail: pushed.detail, attempt: refusals, limit: refusalLimit }
      await appendEvent(context.db, { type: 'remote.refused', ...about(runContext), payload })
      if (refusals >= refusalLimit)
        return recover(runContext, { kind: 'refused', text: `${link.url}: ${pushed.detail}` })
      await pause(runContext, backoff(refusals - 1, { firstMs: 1_000, maxMs: longestPauseMs }))
    }
  }
}

const about = ({ goal, task, run }: RunContext) => ({
  goalId: goal.id,
  taskId: task.id,
  runId: run.id,
})
