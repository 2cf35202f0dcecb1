/**
 * One run from claim to ending, phase by phase. The phase is written before its work, so that a restarted engine enters
 * at the same one: every phase is replay-safe or looks first at what the files and refs say.
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

/** Ends a run whose preparation or engine work failed: operational errors are evidence, anything else is a bug and said so. */
const endWithError = async (session: Session, error: unknown): Promise<void> => {
  if (error instanceof StaleError) {
    session.context.log.warn({ run: session.run.id }, `${error.message}; this executor lets go`)
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
  // Another owner may already be working on the task: anything this agent still did would be wasted, and cost money.
  if (session.abort.signal.reason !== 'cancelled') return stopLaunch(session, 'abandoned')
  await endPrograms(session, 'cancelled')
  // Once more: between the snapshot before the stop and its end the agent may have written.
  await keepSnapshot(session, 'cancelled')
  await endCancelled(session)
}

/** Between two looks while the store is away. */
const outageMs = 500
const longestPauseMs = 60_000
/** Failures of a run's own ending, outages not among them, before it is left to the next start of the engine. */
const mostFailures = 10

/**
 * After a store failure it is unknown what was written last, so the run is read again and re-entered at its phase, as
 * after a restart of the engine. False = it has ended or belongs to another engine now.
 */
const takeUpAgain = async (session: Session, pauseMs: number): Promise<boolean> => {
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
      context.log.info({ run: run.id, phase: run.phase }, 'the run is taken up again at its phase')
      return true
    } catch (error) {
      // Only looking failed: whatever the reason, without this executor the run would have no owner.
      context.log.warn({ run: session.run.id, error: messageOf(error) }, 'a run could not be read')
    }
  }
  return false
}

const ride = async (session: Session): Promise<void> => {
  let next: Next = 'on'
  while (next === 'on' && !letGo(session)) next = await phases[session.run.phase](session)
  if (letGo(session)) await afterAbort(session)
}

/** To the run's ending; an error of its own is one of the endings. Rejects with trouble of the store alone. */
const rideToEnd = async (session: Session): Promise<void> => {
  try {
    await ride(session)
  } catch (error) {
    if (session.context.stopping.aborted) return
    if (isStoreTrouble(error)) throw error
    await (letGo(session) ? afterAbort(session) : endWithError(session, error))
  }
}

/** An ending that fails is tried again: a run that is `running` without an executor would be stuck until the engine is restarted. */
const rideOut = async (session: Session): Promise<void> => {
  const { context } = session
  for (let failures = 0; failures <= mostFailures;) {
    try {
      return await rideToEnd(session)
    } catch (error) {
      if (context.stopping.aborted) return
      const outage = isStoreTrouble(error)
      if (outage) context.log.warn({ run: session.run.id, error: messageOf(error) }, 'the store failed during a run')
      else unexpected(context, session, error)
      failures += outage ? 0 : 1
      if (!(await takeUpAgain(session, backoff(failures, { firstMs: outageMs, maxMs: longestPauseMs })))) return
    }
  }
}

const handsOver: readonly RunPhase[] = ['commit', 'finish']

/** An executor that lost its lease while handing over its commit has left a ref that no merge will ever use. */
const dropVainHandOver = async (session: Session): Promise<void> => {
  const { context, run, goal } = session
  if (context.stopping.aborted || run.state === 'success') return
  if (!isHandedOver(context, goal) || !handsOver.includes(run.phase)) return
  try {
    await dropUnused(context, run.id)
  } catch (error) {
    // The leader looks for it once more before the goal is ready.
    context.log.warn({ run: run.id, error: messageOf(error) }, 'the store failed after a run')
  }
}

/** Runs a session to its ending, or lets go of it when the engine stops or another engine has taken over. Never rejects. */
export const executeRun = async (session: Session): Promise<void> => {
  session.ports = await lendPorts(session.context, session.run.id)
  await rideOut(session)
  await dropVainHandOver(session)
}
