/**
 * Runs a session from claim to ending, phase by phase. Each phase is stored before its work, so a restarted engine
 * continues with the same phase. Every phase can be repeated, or first checks what the files and refs show.
 */
import { backoff } from '../../domain/backoff.ts'
import type { RunPhase } from '../../domain/run.ts'
import { AppError, messageOf } from '../../errors.ts'
import { isStoreTrouble, StaleError } from '../../store/db.ts'
import { getGoal } from '../../store/goal.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { endPrograms, keepSnapshot, stopLaunch } from '../agent/stop.ts'
import { lendPorts } from '../core/lent-ports.ts'
import { isOutage } from '../core/remote-link.ts'
import { letGo, type Session } from '../core/session.ts'
import { dropUnused, isHandedOver } from '../landing/hand-overs.ts'
import { recover } from './carry-out.ts'
import { endCancelled, unexpected } from './endings.ts'
import type { Next, Phase } from './phase.ts'
import { collect } from './phases/collect.ts'
import { commit } from './phases/commit.ts'
import { finish } from './phases/finish.ts'
import { launch } from './phases/launch.ts'
import { policy } from './phases/policy.ts'
import { prepare } from './phases/prepare.ts'
import { supervise } from './phases/supervise.ts'
import { verify } from './phases/verify.ts'

const phases: Record<RunPhase, Phase> = { prepare, launch, supervise, collect, verify, policy, commit, finish }

/**
 * Ends a run after an error of the engine: an operational error is evidence for a recovery, any other error is a bug
 * and logged as such.
 */
const endWithError = async (session: Session, error: unknown): Promise<void> => {
  if (error instanceof StaleError) {
    session.context.log.warn({ run: session.run.id }, `${error.message}; this executor stops`)
    return
  }
  if (!(error instanceof AppError)) unexpected(session.context, session, error)
  const text = error instanceof AppError ? `${error.code}: ${error.message}` : `internal error: ${messageOf(error)}`
  await endPrograms(session, 'shutdown')
  const kind = isOutage(error) ? 'remote' : 'workspace'
  await recover(session, { kind, text }, { source: 'engine' })
}

const afterAbort = async (session: Session): Promise<void> => {
  if (session.context.stopping.aborted) return
  // Another engine may own the task by now: anything this agent still does is wasted, and costs money.
  if (session.abort.signal.reason !== 'cancelled') return stopLaunch(session, 'abandoned')
  await endPrograms(session, 'cancelled')
  // A second snapshot: the agent may have written between the first one and its end.
  await keepSnapshot(session, 'cancelled')
  await endCancelled(session)
}

/** Milliseconds between two tries while the store is unavailable. */
const outageMs = 500
const longestPauseMs = 60_000
/**
 * How often ending a run may fail, store outages not counted, before the run is left to the next start of the engine.
 */
const mostFailures = 10

/**
 * After a store failure the last write is unknown, so the run is read again and continues at its stored phase, as
 * after a restart of the engine. False = it has ended or another engine owns it.
 */
const reattach = async (session: Session, pauseMs: number): Promise<boolean> => {
  const { context } = session
  while (!context.stopping.aborted) {
    await context.clock.wait(pauseMs, context.stopping)
    try {
      const run = await getRun(context.db, session.run.id)
      const task = await getTask(context.db, session.task.id)
      const goal = await getGoal(context.db, session.goal.id)
      if (run?.state !== 'running' || run.epoch !== session.run.epoch) return false
      Object.assign(session, { run, task, goal })
      delete session.collected
      context.log.info({ run: run.id, phase: run.phase }, 'the run continues at its stored phase')
      return true
    } catch (error) {
      // Only the read failed. Keep trying: without this executor the run would have no owner.
      context.log.warn({ run: session.run.id, error: messageOf(error) }, 'a run could not be read')
    }
  }
  return false
}

const runPhases = async (session: Session): Promise<void> => {
  let next: Next = 'on'
  while (next === 'on' && !letGo(session)) next = await phases[session.run.phase](session)
  if (letGo(session)) await afterAbort(session)
}

/** Runs all phases; an error of the run itself leads to an ending. Rejects only for store errors. */
const runToEnding = async (session: Session): Promise<void> => {
  try {
    await runPhases(session)
  } catch (error) {
    if (session.context.stopping.aborted) return
    if (isStoreTrouble(error)) throw error
    await (letGo(session) ? afterAbort(session) : endWithError(session, error))
  }
}

/** Retries an ending that failed: a `running` run without an executor would be stuck until the engine is restarted. */
const runWithRetry = async (session: Session): Promise<void> => {
  const { context } = session
  for (let failures = 0; failures <= mostFailures;) {
    try {
      return await runToEnding(session)
    } catch (error) {
      if (context.stopping.aborted) return
      const outage = isStoreTrouble(error)
      if (outage) context.log.warn({ run: session.run.id, error: messageOf(error) }, 'the store failed during a run')
      else unexpected(context, session, error)
      failures += outage ? 0 : 1
      if (!(await reattach(session, backoff(failures, { firstMs: outageMs, maxMs: longestPauseMs })))) return
    }
  }
}

const publishingPhases: readonly RunPhase[] = ['commit', 'finish']

/** An executor that lost its lease while it published its commit has left a ref that no merge will use. */
const dropUselessRef = async (session: Session): Promise<void> => {
  const { context, run, goal } = session
  if (context.stopping.aborted || run.state === 'success') return
  if (!isHandedOver(context, goal) || !publishingPhases.includes(run.phase)) return
  try {
    await dropUnused(context, run.id)
  } catch (error) {
    // The leader drops it before the goal becomes ready.
    context.log.warn({ run: run.id, error: messageOf(error) }, 'the store failed after a run')
  }
}

/** Runs a session to its ending, or stops when the engine stops or another engine owns the run. Never rejects. */
export const executeRun = async (session: Session): Promise<void> => {
  session.ports = await lendPorts(session.context, session.run.id)
  await runWithRetry(session)
  await dropUselessRef(session)
}
