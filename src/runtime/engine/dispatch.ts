/**
 * Claims for the idle agents of this engine and starts their executors. A claim whose answer was lost is looked up by its
 * run; a machine that is short of disk, memory or time takes no new work.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { idleAgents } from '../../store/agent.ts'
import { claimTask, type Claim, type ClaimRequest } from '../../store/claim.ts'
import { beatEngine } from '../../store/engine.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { freeHarnesses, standInsFor } from '../harness/accounts.ts'
import { kindOf, shortage } from './admission.ts'
import { freeRun } from './housekeeping.ts'
import type { Context } from '../core/context.ts'
import { harnessNamed, harnessesHere } from '../harness/harness-choice.ts'
import { executeRun } from '../run/driver.ts'
import { createSession, type Session } from '../core/session.ts'

interface Work {
  session: Session
  done: Promise<void>
}

export const sessionFor = (context: Context, parts: { goal: Goal; task: Task; run: Run }): Session => {
  const config = context.config()
  const { harness, driver } = harnessNamed(config, parts.task.harness)
  return createSession(context, { ...parts, driver, harness })
}

export const createExecutors = (context: Context) => {
  const working = new Map<string, Work>()
  /** Runs that were claimed, or may have been, and have no executor yet. */
  const unsure = new Set<string>()
  const state = { harnesses: [] as string[], waiting: null as string | null, draining: false }
  const start = (session: Session): void => {
    const done = executeRun(session).finally(() => {
      // A later run of the same task may have taken the place of one that was let go.
      if (working.get(session.task.id)?.session === session) working.delete(session.task.id)
      context.wake()
      void freeRun(context, session.run.id)
    })
    working.set(session.task.id, { session, done })
  }
  return Object.assign(state, { working, unsure, start })
}
export type Executors = ReturnType<typeof createExecutors>

/** A claim whose answer was lost may have been made: then its run is there and waits for its executor. */
const startUnsure = async (context: Context, executors: Executors): Promise<void> => {
  for (const runId of executors.unsure) {
    const run = await getRun(context.db, runId)
    const task = run === undefined ? undefined : await getTask(context.db, run.taskId)
    const goal = run === undefined ? undefined : await getGoal(context.db, run.goalId)
    executors.unsure.delete(runId)
    if (run?.state === 'running' && task !== undefined && goal !== undefined)
      executors.start(sessionFor(context, { goal, task, run }))
  }
}

const claimFor = async (
  context: Context,
  executors: Executors,
  agentId: string,
  may: Pick<ClaimRequest, 'harnesses' | 'standIns'>,
): Promise<Claim | undefined> => {
  const runId = context.newId('r')
  executors.unsure.add(runId)
  const { lease, lanes } = context.config()
  const request = { agentId, runId, ttlSeconds: lease.ttlSeconds, lanes, ...may }
  const claim = await context.db.transaction((tx) => claimTask(tx, request))
  // Without a task the transaction wrote nothing; with one, `unsure` keeps it until its executor runs.
  if (claim === undefined) executors.unsure.delete(runId)
  return claim
}

/** Looks at the machine; what it is short of is told once, and again when it is over. True = new work may begin. */
const admit = async (context: Context, executors: Executors, engineId: string): Promise<boolean> => {
  const machine = context.machine?.now(context.stateDir)
  const waiting = machine === undefined ? null : (shortage(machine, context.config().admission) ?? null)
  if (waiting === executors.waiting) return waiting === null
  const [before, after] = [kindOf(executors.waiting), kindOf(waiting)]
  executors.waiting = waiting
  await beatEngine(context.db, engineId, { harnesses: executors.harnesses, waiting })
  if (before !== after) {
    if (waiting === null) await appendEvent(context.db, { type: 'dispatcher.admitted', payload: { engine: engineId } })
    else await appendEvent(context.db, { type: 'dispatcher.waiting', payload: { engine: engineId, reason: waiting } })
  }
  return waiting === null
}

/** Claims for every idle agent while there is work and the machine can take it. */
export const dispatch = async (context: Context, executors: Executors, engineId: string): Promise<void> => {
  await startUnsure(context, executors)
  const agents = await idleAgents(context.db, engineId)
  if (agents.length === 0) return
  const harnesses = harnessesHere(context)
  if (harnesses.join() !== executors.harnesses.join()) {
    executors.harnesses = harnesses
    // At once and not with the next heartbeat: people read there why a task is not taken.
    await beatEngine(context.db, engineId, { harnesses, waiting: executors.waiting })
  }
  for (const agentId of agents) {
    if (executors.draining || context.stopping.aborted) return
    if (!(await admit(context, executors, engineId))) return
    // Each time anew: a run that began meanwhile may have met its limit already.
    const free = await freeHarnesses(context, harnesses)
    const may = { harnesses: free, standIns: standInsFor(context, harnesses, free) }
    const claim = await claimFor(context, executors, agentId, may)
    if (claim === undefined) return
    context.at('claimed')
    await startUnsure(context, executors)
  }
}
