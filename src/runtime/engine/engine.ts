/**
 * The engine: one loop per repository that judges, merges, reaps and dispatches, and the executors that it started.
 * When it stops, the agents keep running under their shims; when it starts, it re-attaches to every run at the point
 * that its files show.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import { engineRoles, type EngineRole } from '../../domain/engine.ts'
import type { Run } from '../../domain/run.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import { isStoreTrouble, mustSucceed, StaleError } from '../../store/db.ts'
import { getEngine, moveEngine, registerEngine, type NewEngine } from '../../store/engine.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { cancelGraceSeconds, finishCancels } from '../people/commands.ts'
import { LeadershipLostError } from '../../store/leader.ts'
import { requestRunStop, getRun, listRuns, runsOfEngine } from '../../store/run.ts'
import { readDue, type DueWork } from '../../store/due.ts'
import { getTask } from '../../store/task.ts'
import { sendHeartbeat, startHeartbeat } from './heartbeat.ts'
import type { Context } from '../core/context.ts'
import { runCycle } from './cycle.ts'
import type { TargetPolls } from '../landing/land-goal.ts'
import { releaseEndedRuns } from './retention.ts'
import {
  createExporter,
  createMerger,
  createNotifier,
  createReviewer,
  createSideJob,
  safely,
  type SideJob,
} from './side-jobs.ts'
import { createJobs } from './jobs.ts'
import { endGoals } from './end-goals.ts'
import { startSchedules } from './start-schedules.ts'
import { createGoalExportJob, exportLast, type GoalExportJob } from './export-goals.ts'
import { createForgeJob } from './forge-job.ts'
import { createExecutors, dispatch, runContextFor, type Executors } from './dispatch.ts'
import { agentIdsOf, refuseSharedFolder, identifyEngine } from './engine-identity.ts'
import { createGracePeriod, type GracePeriod } from './grace-period.ts'
import { reapAll } from './reaper.ts'
import { msToNextPass, passEveryMs } from './next-pass.ts'
import { judgeRuns } from '../landing/judge.ts'
import { createLeadership, type Leadership } from './leadership.ts'
import { isRepositoryGone } from '../core/gone-repository.ts'
import { heedPerson } from '../agent/heed-person.ts'
import { detectReplacedRepository } from '../landing/replaced-repository.ts'
import type { RunContext } from '../core/run-context.ts'
import { removeOrphanBranches } from '../goal/orphan-branches.ts'

export interface Engine {
  /** Cancels the run of a task, here or on the engine that executes it, and resolves when it has ended. */
  cancelRunning(taskId: string): Promise<void>
  /** Resolves when the loop has ended and no executor writes any more. */
  stopped: Promise<void>
  running(): number
  /** Takes no new work from now on; resolves when what has begun has ended. */
  drain(): Promise<void>
  draining(): boolean
  id: string
}

const reattachRun = async (context: Context, executors: Executors, run: Run): Promise<void> => {
  const task = await getTask(context.db, run.taskId)
  const goal = await getGoal(context.db, run.goalId)
  if (task === undefined || goal === undefined) return
  await appendEvent(context.db, {
    type: 'run.reattached',
    goalId: goal.id,
    taskId: task.id,
    runId: run.id,
    payload: { phase: run.phase },
  })
  const runContext = runContextFor(context, { goal, task, run })
  runContext.isReattached = true
  if (goal.state === 'cancelled' || run.stopAsked !== null) runContext.abort.abort('cancelled')
  executors.start(runContext)
}

/** Re-attaches to every run that this engine left running. The files and refs of each run show how far it got. */
const reattach = async (context: Context, executors: Executors, engineId: string): Promise<number> => {
  const runs = await runsOfEngine(context.db, engineId)
  for (const { run } of runs) await reattachRun(context, executors, run)
  return runs.length
}

/** Checks this engine's own runs: heeds what a person asked of them, and re-attaches to those that lost their executor. */
const checkOwnRuns = async (context: Context, executors: Executors, engineId: string): Promise<void> => {
  for (const { run, expired } of await runsOfEngine(context.db, engineId)) {
    const work = executors.working.get(run.taskId)
    if (work?.session.run.id === run.id) {
      heedPerson(work.session, run)
    } else if (work === undefined && expired && !executors.unsure.has(run.id))
      await reattachRun(context, executors, run)
  }
}

type SideJobName = 'merger' | 'reviewer' | 'notifier' | 'periodic' | 'forge' | 'ender' | 'scheduler' | 'exporter'

interface Loop extends Record<SideJobName, SideJob> {
  engineId: string
  /** Absent = this engine only executes runs. */
  leadership?: Leadership
  gracePeriod: GracePeriod
  executors: Executors
  polls: TargetPolls
  exportGoals: GoalExportJob
  /** When the last pass asked what is due, by the store's clock; undefined = it did not lead, or did not come so far. */
  askedAt: Date | undefined
}

const whatIsDue = (context: Context, engineId: string): Promise<DueWork> => {
  const { lease, requeue } = context.config()
  return readDue(context.db, {
    ...{ renewSeconds: renewIntervalMs(lease.ttlSeconds) / 1000, watchSeconds: requeue.blockedSeconds },
    ...{ cancelSeconds: cancelGraceSeconds, engineId },
  })
}

/**
 * The leader's part of a pass. The reaper comes first, so that tasks of dead owners are free before anything else is
 * decided.
 */
const leaderPass = async (context: Context, parts: Loop): Promise<void> => {
  const { engineId, gracePeriod, merger, reviewer, notifier, polls, periodic, forge, ender, scheduler } = parts
  const liveness = context.machine?.liveness ?? (() => 'elsewhere' as const)
  notifier.start(context)
  const due = await whatIsDue(context, engineId)
  context.log.debug({ ...due }, 'what is due in this pass of the leader')
  parts.askedAt = due.askedAt
  if (due.owners && gracePeriod.isOver()) await reapAll(context, { engineId, liveness })
  // While the repository is missing (an unmounted disk), goals and merges would fail without a fault of their own.
  if (await detectReplacedRepository(context)) {
    const wereUnjudged = await judgeRuns(context)
    if (wereUnjudged || due.judgements) reviewer.start(context)
    merger.start(context)
    await runCycle(context, polls, due)
  }
  if (due.cancels) await finishCancels(context, cancelGraceSeconds)
  if (due.leftovers) ender.start(context)
  if (due.schedules) scheduler.start(context)
  periodic.start(context)
  forge.start(context)
}

const asLeader = async (context: Context, { leadership }: Loop, work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof StaleError)) throw error
    // Another engine became the leader, or a row changed after it was read; the next pass finds out which.
    context.log.info({ reason: error.message }, 'a pass of the leader ended early, because the store had changed')
    if (error instanceof LeadershipLostError) leadership?.markLost()
  }
}

/** One pass of the engine: jobs of the leader if it is one, then its own runs, then new claims. */
const pass = async (context: Context, parts: Loop): Promise<void> => {
  const { executors, engineId, gracePeriod, leadership, exporter } = parts
  parts.askedAt = undefined
  await gracePeriod.compareClocks()
  // Its files are gone as well, and that is no change of a setting.
  const isGone = await isRepositoryGone(context)
  if (!isGone) await context.refreshSettings?.()
  const leading = await leadership?.context()
  if (leading === undefined) await gracePeriod.followClock(undefined)
  else
    await asLeader(context, parts, async () => {
      await gracePeriod.followClock(leading)
      await leaderPass(leading, parts)
    })
  await checkOwnRuns(context, executors, engineId)
  if (!context.stopping.aborted && !executors.draining && !isGone) await dispatch(context, executors, engineId)
  if (leading !== undefined) exporter.start(leading)
}

/** A wake-up signal for the loop. One that was sent while the loop was busy is kept. */
export interface WakeUp {
  wake(): void
  wait(ms: number, clock: Context['clock'], signal: AbortSignal): Promise<void>
}

export const createWakeUp = (): WakeUp => {
  let woken = false
  let listener: (() => void) | undefined
  return {
    wake: () => {
      woken = true
      listener?.()
    },
    wait: async (ms, clock, signal) => {
      if (!woken && !signal.aborted) {
        const early = new AbortController()
        listener = () => early.abort()
        await clock.wait(ms, AbortSignal.any([early.signal, signal]))
        listener = undefined
      }
      woken = false
    },
  }
}

const loop = async (context: Context, parts: Loop, wakeUp: WakeUp): Promise<void> => {
  const { executors, gracePeriod, merger, reviewer, notifier, periodic, forge, ender, scheduler, exporter } = parts
  // While the store was unavailable no owner could renew its lease.
  const failed = (error: unknown): void => (isStoreTrouble(error) ? gracePeriod.begin() : undefined)
  while (!context.stopping.aborted) {
    await safely(context, () => pass(context, parts), failed)
    if (context.stopping.aborted) break
    const ms = await msToNextPass(context, parts.askedAt).catch(() => passEveryMs) // the store may be closing; the next pass reports it
    await wakeUp.wait(ms, context.clock, context.stopping)
  }
  await Promise.allSettled([...executors.working.values()].map((work) => work.done))
  for (const job of [merger, reviewer, notifier, periodic, forge, ender, scheduler, exporter]) await job.idle()
}

/** Stands for this process where the machine cannot identify it (tests, simulation). */
const unknownProcess: ProcessIdentity = { host: '', bootId: '', pid: 0, startTime: '' }

/** Asks the engine that executes the run to end it, and waits for that. */
const stopElsewhere = async (context: Context, taskId: string): Promise<void> => {
  const [run] = await listRuns(context.db, { taskId, state: 'running' })
  if (run === undefined || !(await context.db.transaction((tx) => requestRunStop(tx, run)))) return
  context.wake()
  for (const began = context.clock.elapsed(); context.clock.elapsed() - began < stopTimeoutMs;) {
    await context.clock.wait(100, context.stopping)
    if ((await getRun(context.db, run.id))?.state !== 'running') return
  }
  throw new AppError(
    'STALE',
    `run ${run.id} is executed by another engine (agent ${run.agentId}), which has not ended it within ${stopTimeoutMs / 1000} s; check it with "unstuck status", then try again`,
  )
}

/** How long a person's command waits for another engine, in milliseconds. */
const stopTimeoutMs = 20_000

/** Takes no new work from now on; resolves when nothing that has begun is left. */
const drain = async (context: Context, executors: Executors, engineId: string): Promise<void> => {
  executors.draining = true
  await context.db.transaction(async (tx) => {
    const engine = await getEngine(tx, engineId)
    if (engine?.state === 'online') await moveEngine(tx, engine, 'drained', { running: executors.working.size })
  })
  while (executors.working.size > 0 && !context.stopping.aborted)
    await Promise.race([
      Promise.allSettled([...executors.working.values()].map((work) => work.done)),
      context.clock.wait(passEveryMs, context.stopping),
    ])
}

/** Marks this engine as offline, so that the others need not wait for its leases to expire. */
const leave = async (context: Context, engineId: string): Promise<void> => {
  try {
    await context.db.transaction(async (tx) => {
      const engine = await getEngine(tx, engineId)
      if (engine !== undefined && engine.state !== 'offline') mustSucceed(await moveEngine(tx, engine, 'left'))
    })
  } catch (error) {
    context.log.warn({ error: messageOf(error) }, 'this engine could not be marked as offline in the store')
  }
}

const partsOf = (context: Context, { id: engineId, roles, harnesses }: NewEngine): Loop => {
  const executors = createExecutors(context)
  executors.harnesses = harnesses
  const gracePeriod = createGracePeriod(context, engineId)
  const notifier = createNotifier((taskId) => cancelRunning(context, executors, taskId))
  const exportGoals = createGoalExportJob()
  const exports = { exportGoals, exporter: createExporter(exportGoals) }
  const jobs = {
    merger: createMerger(),
    reviewer: createReviewer(engineId),
    notifier,
    // Next to the loop, because one of them may wait for a git remote.
    periodic: createSideJob(createJobs(engineId)),
    forge: createSideJob(createForgeJob((taskId) => cancelRunning(context, executors, taskId))),
    // Removing large trees takes seconds.
    ender: createSideJob(endGoals),
    // A remote may have to answer first.
    scheduler: createSideJob(startSchedules),
    ...exports,
  }
  const parts = { engineId, gracePeriod, executors, polls: new Map(), askedAt: undefined, ...jobs }
  return roles.includes('control') ? { ...parts, leadership: createLeadership(context, engineId, gracePeriod) } : parts
}

/** Sends one heartbeat, then one per interval until the returned function is called. */
const beginHeartbeat = async (context: Context, { engineId, executors }: Loop, register: () => Promise<void>) => {
  const sessions = (): RunContext[] => [...executors.working.values()].map((work) => work.session)
  const heartbeat = { engineId, sessions, waiting: () => executors.waiting, onDeclaredOffline: register }
  await sendHeartbeat(context, heartbeat)
  return startHeartbeat(context, heartbeat)
}

const recordStarted = (
  context: Context,
  started: { engine: string; agents: number; reattached: number },
): Promise<void> =>
  appendEvent(context.db, {
    type: 'engine.started',
    payload: { ...started, renewMs: renewIntervalMs(context.config().lease.ttlSeconds) },
  })

/** Runs the loop until the engine is stopped, then marks it as offline. */
const work = async (context: Context, parts: Loop, wakeUp: WakeUp, stopHeartbeat: () => void): Promise<void> => {
  await loop(context, parts, wakeUp)
  await exportLast(context, parts.exportGoals, parts.leadership)
  stopHeartbeat()
  context.ports.processes.keepSpare(false)
  await leave(context, parts.engineId)
}

const cancelRunning = async (context: Context, executors: Executors, taskId: string): Promise<void> => {
  const own = executors.working.get(taskId)
  if (own === undefined) return stopElsewhere(context, taskId)
  own.session.abort.abort('cancelled')
  await own.done
}

/** Starts the engine on an open store. Returns when it has re-attached to its runs; the loop keeps running. */
export const startEngine = async (
  context: Context,
  wakeUp: WakeUp,
  roles: readonly EngineRole[] = engineRoles,
): Promise<Engine> => {
  const self = identifyEngine(context, roles, context.machine?.self ?? unknownProcess)
  const slots = agentIdsOf(self, context.config().maxParallel)
  const register = (): Promise<void> => context.db.transaction((tx) => registerEngine(tx, self, slots))
  await refuseSharedFolder(context)
  if (context.remote === undefined) await removeOrphanBranches(context)
  await register()
  const parts = partsOf(context, self)
  const { executors } = parts
  await parts.leadership?.context()
  const reattached = await reattach(context, executors, self.id)
  void releaseEndedRuns(context)
  const stopHeartbeat = await beginHeartbeat(context, parts, register)
  await recordStarted(context, { engine: self.id, agents: slots.length, reattached })
  context.ports.processes.keepSpare(roles.includes('executor'))
  return {
    id: self.id,
    stopped: work(context, parts, wakeUp, stopHeartbeat),
    running: () => executors.working.size,
    draining: () => executors.draining,
    drain: () => drain(context, executors, self.id),
    cancelRunning: (taskId) => cancelRunning(context, executors, taskId),
  }
}
