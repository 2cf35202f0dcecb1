/**
 * The remote side of a run on a repository given by URL. The base is fetched before the clone is made, and the commit
 * is pushed before the run counts as a success, so that any engine can merge it. While the remote is unreachable the
 * run waits in its phase, under its lease: an agent's work is never repeated because of the network.
 */
import { backoff } from '../../domain/backoff.ts'
import { AppError } from '../../errors.ts'
import { must, StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { holdLease, renewLease, saveRun } from '../../store/run.ts'
import type { PushOutcome } from '../../workspace/transport.ts'
import { recover } from './carry-out.ts'
import type { Next } from './phase.ts'
import { goalRef } from '../core/context.ts'
import { isOutage, isRefusal, linkOf, refusalLimit, runRef } from '../core/remote-link.ts'
import { bothSignals, letGo, save, type Session } from '../core/session.ts'
import { settleOpen } from '../core/store-record.ts'

const isHere = ({ context }: Session, commit: string): Promise<boolean> =>
  context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })

/**
 * Fetches the base commit into the mirror. An outage is thrown: no agent has run yet, so the task can wait in the
 * queue.
 */
export const bringBase = async (session: Session, base: string): Promise<void> => {
  const { context, goal } = session
  if (!(await isHere(session, base))) {
    const target = goal.targetBranch === null ? [] : [`refs/heads/${goal.targetBranch}`]
    await linkOf(context).see([goalRef(goal.id), ...target])
    if (!(await isHere(session, base)))
      throw new AppError(
        'REPOSITORY_STATE',
        `commit ${base}, the base of goal ${goal.id}, is not on any branch of ${linkOf(context).url}; push it there again, or cancel the goal`,
      )
  }
  await context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (condition) =>
      condition.type === 'remote_answers' ? { holds: true, detail: 'the base commit is here' } : undefined,
    )
  })
}

/** Milliseconds. Long waits are split so that the lease is renewed in between. */
const longestPauseMs = 20_000

const pause = async (session: Session, ms: number): Promise<void> => {
  await session.context.clock.wait(Math.min(longestPauseMs, Math.max(ms, 100)), bothSignals(session))
}

/**
 * Renews the lease first: an engine that lost it must not push. If the lease is lost in between, only this run's own
 * ref is pushed, which does no harm.
 */
const pushOnce = async (session: Session, commit: string): Promise<PushOutcome | 'away'> => {
  const { context, run } = session
  if (!(await renewLease(context.db, run, context.config().lease.ttlSeconds))) throw new StaleError(`run ${run.id}`)
  context.at('run-push')
  try {
    const pushed = await linkOf(context).push([{ ref: runRef(run.id), to: commit, expected: null }])
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
export const publishRun = async (session: Session, commit: string): Promise<Next> => {
  const { context, run } = session
  const link = linkOf(context)
  await save(session, { commit })
  await context.ports.git.bringObjects(context.repository, context.shadow, { from: run.baseCommit, to: commit })
  for (let refusals = 0; ;) {
    if (letGo(session)) return 'on'
    const pushed = await pushOnce(session, commit)
    if (pushed === 'away') await pause(session, link.restMs())
    else if (pushed.kind === 'done') {
      await context.db.transaction(async (tx) => {
        session.run = must(await saveRun(tx, session.run, { phase: 'finish' }))
        await appendEvent(tx, { type: 'remote.pushed', ...about(session), payload: { ref: runRef(run.id), commit } })
      })
      return 'on'
    } else {
      refusals += 1
      const payload = { ref: runRef(run.id), commit, detail: pushed.detail, attempt: refusals, limit: refusalLimit }
      await appendEvent(context.db, { type: 'remote.refused', ...about(session), payload })
      if (refusals >= refusalLimit) return recover(session, { kind: 'refused', text: `${link.url}: ${pushed.detail}` })
      await pause(session, backoff(refusals - 1, { firstMs: 1_000, maxMs: longestPauseMs }))
    }
  }
}

const about = ({ goal, task, run }: Session) => ({
  goalId: goal.id,
  taskId: task.id,
  runId: run.id,
})
