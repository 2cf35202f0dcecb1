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
import { endInterruptedQuestions } from '../agent/ask-record.ts'
import { stopProcesses, keepSnapshot, stopLaunch } from '../agent/stop-agent.ts'
import { reservePorts } from '../core/reserved-ports.ts'
import { isRepositoryGone, repositoryBack } from '../core/gone-repository.ts'
import { isOutage } from '../core/remote-link.ts'
import { isRealFolder } from '../core/files.ts'
import { isReleased, workTreeOf, type RunContext } from '../core/run-context.ts'
import { dropUnusedRunRef, publishesRunRefs } from '../landing/run-refs.ts'
import { recover } from './carry-out.ts'
import { endCancelled, logUnexpectedError } from './endings.ts'
import type { PhaseResult, Phase } from './phase.ts'
import { collect } from './phases/collect.ts'
import { commit } from './phases/commit.ts'
import { finish } from './phases/finish.ts'
import { launch } from './phases/launch.ts'
import { policy } from './phases/policy.ts'
import { prepare } from './phases/prepare.ts'
import { supervise } from './phases/supervise.ts'
import { verify } from './phases/verify.ts'

const phases: Record<RunPhase, Phase> = { prepare, launch, supervise, collect, verify, policy, commit, finish }

/** Whatever failed then failed for that reason. */
const isWorkspaceGone = (runContext: RunContext): boolean =>
  runContext.run.launches.some(({ startedAt }) => startedAt !== null) &&
  !isRealFolder(runContext.context.ports.files, workTreeOf(runContext))

/**
 * Ends a run after an error of the engine: an operational error is evidence for a recovery, any other error is a bug
 * and logged as such.
 */
const endWithError = async (runContext: RunContext, error: unknown): Promise<void> => {
  if (error instanceof StaleError) {
    runContext.context.log.warn({ run: runContext.run.id }, `${error.message}; this executor stops`)
    return
  }
  if (!(error instanceof AppError)) logUnexpectedError(runContext.context, runContext, error)
  const text = error instanceof AppError ? error.message : `internal error: ${messageOf(error)}`
  await stopProcesses(runContext, 'shutdown')
  const evidence = isWorkspaceGone(runContext)
    ? ({ kind: 'workspaceGone' } as const)
    : ({ kind: isOutage(error) ? 'remote' : 'workspace', text } as const)
  await recover(runContext, evidence, { source: 'engine' })
}

const afterAbort = async (runContext: RunContext): Promise<void> => {
  if (runContext.context.stopping.aborted) return
  // Another engine may own the task by now: anything this agent still does is wasted, and costs money.
  if (runContext.abort.signal.reason !== 'cancelled') return stopLaunch(runContext, 'abandoned')
  await stopProcesses(runContext, 'cancelled')
  // A second snapshot: the agent may have written between the first one and its end.
  await keepSnapshot(runContext, 'cancelled')
  await endCancelled(runContext)
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
const reattach = async (runContext: RunContext, pauseMs: number): Promise<boolean> => {
  const { context } = runContext
  while (!context.stopping.aborted) {
    await context.clock.wait(pauseMs, context.stopping)
    try {
      const run = await getRun(context.db, runContext.run.id)
      const task = await getTask(context.db, runContext.task.id)
      const goal = await getGoal(context.db, runContext.goal.id)
      if (run?.state !== 'running' || run.epoch !== runContext.run.epoch) return false
      Object.assign(runContext, { run, task, goal })
      delete runContext.collected
      context.log.info({ run: run.id, phase: run.phase }, 'the run continues at its stored phase')
      return true
    } catch (error) {
      // Only the read failed. Keep trying: without this executor the run would have no owner.
      context.log.warn({ run: runContext.run.id, error: messageOf(error) }, 'a run could not be read')
    }
  }
  return false
}

const runPhases = async (runContext: RunContext): Promise<void> => {
  await endInterruptedQuestions(runContext)
  let next: PhaseResult = 'on'
  while (next === 'on' && !isReleased(runContext)) next = await phases[runContext.run.phase](runContext)
  if (isReleased(runContext)) await afterAbort(runContext)
}

/** Runs all phases; an error of the run itself leads to an ending. Rejects only for store errors. */
const runToEnding = async (runContext: RunContext): Promise<void> => {
  try {
    await runPhases(runContext)
  } catch (error) {
    if (runContext.context.stopping.aborted) return
    const isLeft = runContext.run.phase !== 'prepare' && (await isRepositoryGone(runContext.context))
    if (isStoreTrouble(error) || isLeft) throw error
    await (isReleased(runContext) ? afterAbort(runContext) : endWithError(runContext, error))
  }
}

const waitForRepository = async ({ context, run }: RunContext): Promise<void> => {
  context.log.warn({ run: run.id }, 'the folder of the repository is gone, and the run waits for it')
  await repositoryBack(context)
}

/** Retries an ending that failed: a `running` run without an executor would be stuck until the engine is restarted. */
const runWithRetry = async (runContext: RunContext): Promise<void> => {
  const { context } = runContext
  for (let failures = 0; failures <= mostFailures;) {
    try {
      return await runToEnding(runContext)
    } catch (error) {
      if (context.stopping.aborted) return
      const isGone = await isRepositoryGone(context)
      const outage = isGone || isStoreTrouble(error)
      if (isGone) await waitForRepository(runContext)
      else if (outage)
        context.log.warn({ run: runContext.run.id, error: messageOf(error) }, 'the store failed during a run')
      else logUnexpectedError(context, runContext, error)
      failures += outage ? 0 : 1
      if (!(await reattach(runContext, backoff(failures, { firstMs: outageMs, maxMs: longestPauseMs })))) return
    }
  }
}

const publishingPhases: readonly RunPhase[] = ['commit', 'finish']

/** An executor that lost its lease while it published its commit has left a ref that no merge will use. */
const dropUselessRef = async (runContext: RunContext): Promise<void> => {
  const { context, run, goal } = runContext
  if (context.stopping.aborted || run.state === 'success') return
  if (!publishesRunRefs(context, goal) || !publishingPhases.includes(run.phase)) return
  try {
    await dropUnusedRunRef(context, run.id)
  } catch (error) {
    // The leader drops it before the goal becomes ready.
    context.log.warn({ run: run.id, error: messageOf(error) }, 'the store failed after a run')
  }
}

/** Runs a session to its ending, or stops when the engine stops or another engine owns the run. Never rejects. */
export const executeRun = async (runContext: RunContext): Promise<void> => {
  runContext.ports = await reservePorts(runContext.context, runContext.run.id)
  await runWithRetry(runContext)
  await dropUselessRef(runContext)
}
