/**
 * A run on a repository by URL: its base is brought here before the clone is made, and its commit goes to the remote before
 * the run counts as a success, so that whichever engine merges finds it there. While the remote is away the run
 * waits in its phase, under its lease: what an agent made is not made again because of a network.
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

/** Brings the base commit into the mirror. An outage is thrown: no agent has run yet, so the task can wait outside. */
export const bringBase = async (session: Session, base: string): Promise<void> => {
  const { context, goal } = session
  if (!(await isHere(session, base))) {
    const target = goal.targetBranch === null ? [] : [`refs/heads/${goal.targetBranch}`]
    await linkOf(context).see([goalRef(goal.id), ...target])
    if (!(await isHere(session, base)))
      throw new AppError(
        'REPOSITORY_STATE',
        `commit ${base}, the base of goal ${goal.id}, is on no branch of ${linkOf(context).url} any more; push it there again, or cancel the goal`,
      )
  }
  await context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (condition) =>
      condition.type === 'remote_answers' ? { holds: true, detail: 'the base commit is here' } : undefined,
    )
  })
}

/** Long waits are cut, so that the lease is renewed meanwhile. */
const longestPauseMs = 20_000

const pause = async (session: Session, ms: number): Promise<void> => {
  await session.context.clock.wait(Math.min(longestPauseMs, Math.max(ms, 100)), bothSignals(session))
}

/** Asks the store first: a holder whose lease is gone pushes nothing. What may slip in between is a ref of this run's own. */
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

/** Phase `commit`, second half: the intent is saved, the push repeated until it is there, refused, or not ours any more. */
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
