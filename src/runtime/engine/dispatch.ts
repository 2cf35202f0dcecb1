/**
 * Claims tasks for the idle agents of this engine and starts their executors. If the connection breaks during a claim, its
 * run id shows whether it was committed. A machine that is short of disk, memory or processor time claims nothing.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { idleAgents } from '../../store/agent.ts'
import { claimTask, isTaskReady, type Claim, type ClaimRequest } from '../../store/claim.ts'
import { recordHeartbeat } from '../../store/engine.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { hourTokensNow } from '../../store/queue.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { freeHarnesses, standInsFor } from '../harness/accounts.ts'
import { shortageKind, shortageOf } from './admission.ts'
import { releaseRun } from './retention.ts'
import type { Context } from '../core/context.ts'
import { harnessNamed, harnessesHere } from '../harness/harness-choice.ts'
import { executeRun } from '../run/execute-run.ts'
import { createRunContext, type RunContext } from '../core/run-context.ts'
import { narrowedSettings } from '../../domain/config-change.ts'

// The context of a run: within a launch its settings can only become narrower; the next launch begins with those of its moment.

/** Computed again only when one of the two has changed: both are asked for at every use. */
const narrowing = <T extends object>(now: () => T, ...under: string[]): { view: () => T; renew: () => void } => {
  let begun = now()
  let last = { from: begun, to: begun, view: begun }
  return {
    view: () => {
      const to = now()
      if (last.from !== begun || last.to !== to) last = { from: begun, to, view: narrowedSettings(begun, to, ...under) }
      return last.view
    },
    renew: () => (begun = now()),
  }
}

export const launchSettings = (context: Context): Context => {
  // Only an engine has settings that change; elsewhere there is nothing to hold.
  if (context.refreshSettings === undefined) return context
  const config = narrowing(context.config)
  const pathPolicy = narrowing(context.pathPolicy, 'policy-recovery')
  const contract = context.contract && narrowing(context.contract, 'verify.contract')
  return {
    ...context,
    config: config.view,
    pathPolicy: pathPolicy.view,
    ...(contract && { contract: contract.view }),
    renewSettings: async () => {
      await context.refreshSettings?.()
      for (const part of [config, pathPolicy, contract]) part?.renew()
    },
  }
}

interface Work {
  session: RunContext
  done: Promise<void>
}

/** Everything that the executor of a run needs, with the driver of its harness, which a role of a loop may have chosen. */
export const runContextFor = (engine: Context, parts: { goal: Goal; task: Task; run: Run }): RunContext => {
  const context = launchSettings(engine)
  const config = context.config()
  const { harness, driver } = harnessNamed(config, parts.run.harness)
  return createRunContext(context, { ...parts, driver, harness })
}

/** The runs that this engine executes, and the last state of the engine that it wrote to the store. */
export const createExecutors = (context: Context) => {
  const working = new Map<string, Work>()
  /** Runs of claims that were, or may have been, committed and have no executor yet. */
  const unsure = new Set<string>()
  const state = { harnesses: [] as string[], waiting: null as string | null, draining: false }
  const start = (runContext: RunContext): void => {
    const done = executeRun(runContext).finally(() => {
      // A later run of the same task may already be registered, if this executor gave up its lease.
      if (working.get(runContext.task.id)?.session === runContext) working.delete(runContext.task.id)
      context.wake()
      context.turns?.done()
      void releaseRun(context, runContext.run.id)
    })
    working.set(runContext.task.id, { session: runContext, done })
  }
  context.turns?.join({
    ...{ working: () => working.size, limit: () => context.config().maxParallel, wake: context.wake },
  })
  return Object.assign(state, { working, unsure, start })
}
export type Executors = ReturnType<typeof createExecutors>

/** Starts executors for claims that were committed, including those whose result never arrived. */
const startUnsure = async (context: Context, executors: Executors): Promise<void> => {
  for (const runId of executors.unsure) {
    const run = await getRun(context.db, runId)
    const task = run === undefined ? undefined : await getTask(context.db, run.taskId)
    const goal = run === undefined ? undefined : await getGoal(context.db, run.goalId)
    executors.unsure.delete(runId)
    if (run?.state === 'running' && task !== undefined && goal !== undefined)
      executors.start(runContextFor(context, { goal, task, run }))
  }
}

const claimFor = async (
  context: Context,
  executors: Executors,
  agentId: string,
  launchable: Pick<ClaimRequest, 'harnesses' | 'standIns'>,
): Promise<Claim | undefined> => {
  const runId = context.newId('r')
  executors.unsure.add(runId)
  const { lease, lanes } = context.config()
  const request = { agentId, runId, ttlSeconds: lease.ttlSeconds, lanes, ...launchable }
  const claim = await context.db.transaction((tx) => claimTask(tx, request))
  // Without a claim the transaction wrote nothing. A claimed run stays in `unsure` until its executor starts.
  if (claim === undefined) executors.unsure.delete(runId)
  return claim
}

/** What this machine lacks for one more agent, or which others it has to let go first; null = nothing. */
const shortageNow = async (context: Context): Promise<string | null> => {
  const machine = context.machine?.now(context.stateDir)
  const shortage = machine === undefined ? undefined : shortageOf(machine, context.config().admission)
  if (context.turns === undefined || shortage !== undefined) return shortage ?? null
  if (await isTaskReady(context.db)) return context.turns.ask() ?? null
  context.turns.withdraw()
  return null
}

/** Measures the machine. A shortage is recorded once when it begins and once when it ends. True = a task may be claimed. */
const admit = async (context: Context, executors: Executors, engineId: string): Promise<boolean> => {
  const waiting = await shortageNow(context)
  if (waiting === executors.waiting) return waiting === null
  const [before, after] = [shortageKind(executors.waiting), shortageKind(waiting)]
  executors.waiting = waiting
  await recordHeartbeat(context.db, engineId, { harnesses: executors.harnesses, waiting })
  if (before !== after) {
    if (waiting === null) await appendEvent(context.db, { type: 'dispatcher.admitted', payload: { engine: engineId } })
    else await appendEvent(context.db, { type: 'dispatcher.waiting', payload: { engine: engineId, reason: waiting } })
  }
  return waiting === null
}

/** Read before each claim: a run that ended a moment ago may have reached a limit. A person's work needs no harness and is still claimed. */
const launchableNow = async (context: Context, harnesses: string[]): Promise<string[]> =>
  (await hourTokensNow(context.db, context.config().limits.hourTokens)) === undefined
    ? freeHarnesses(context, harnesses)
    : []

/** False = nothing was claimed. */
const claimNext = async (
  context: Context,
  executors: Executors,
  { agentId, engineId, harnesses }: { agentId: string; engineId: string; harnesses: string[] },
): Promise<boolean> => {
  try {
    if (!(await admit(context, executors, engineId)) || !(await isTaskReady(context.db))) return false
    const free = await launchableNow(context, harnesses)
    const launchable = { harnesses: free, standIns: standInsFor(context, harnesses, free) }
    const claim = await claimFor(context, executors, agentId, launchable)
    if (claim === undefined) return false
    context.at('claimed')
    await startUnsure(context, executors)
    return true
  } finally {
    context.turns?.done()
  }
}

/** Claims for every idle agent while tasks are free and the machine has room. */
export const dispatch = async (context: Context, executors: Executors, engineId: string): Promise<void> => {
  await startUnsure(context, executors)
  const agents = await idleAgents(context.db, engineId)
  if (agents.length === 0) return
  const harnesses = harnessesHere(context)
  if (harnesses.join() !== executors.harnesses.join()) {
    executors.harnesses = harnesses
    // Not with the next heartbeat: the views read the list from the store and would name a wrong reason until then.
    await recordHeartbeat(context.db, engineId, { harnesses, waiting: executors.waiting })
  }
  for (const agentId of agents) {
    if (executors.draining || context.stopping.aborted) return
    if (!(await claimNext(context, executors, { agentId, engineId, harnesses }))) return
  }
}
