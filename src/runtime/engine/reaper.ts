/**
 * The reaper, first in each pass of the leader: takes back what dead owners hold. An owner counts as dead only on two
 * independent signals, one from the store and one about the owner itself; a single signal may only mean that it is
 * slow. Each step checks again inside its transaction and records an event with its evidence.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import { releaseAgent } from '../../store/agent.ts'
import { getEngine, moveEngine } from '../../store/engine.ts'
import { appendEvent } from '../../store/event.ts'
import { mustSucceed, StaleError, type Queryable } from '../../store/db.ts'
import { LeadershipLostError } from '../../store/leader.ts'
import { dropDanglingLease, getRun, lockExpiredLease } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { readVitals, type EngineVitals, type LeaseVitals, type Vitals } from '../../store/vitals.ts'
import type { Context } from '../core/context.ts'
import { interruptRun } from '../run/interruptions.ts'

export type Reap =
  | { kind: 'engine'; engineId: string; evidence: string }
  | { kind: 'lease'; runId: string; epoch: number; agentId: string; evidence: string }
  | { kind: 'dangling'; runId: string; agentId: string; evidence: string }
  | { kind: 'unleased'; runId: string; evidence: string }
  | { kind: 'orphan'; taskId: string; evidence: string }

export interface LivenessProbe {
  /** This engine, whose own runs are not reaped: it re-attaches to them itself. */
  engineId: string
  /** Whether a process is alive; a process on another host cannot be checked from here. */
  liveness: (identity: ProcessIdentity) => 'alive' | 'dead' | 'elsewhere'
}

const seconds = (value: number): string => `${Math.round(value)} s`

/** Signals, in addition to the lease, that the engine behind an agent is dead. */
const signalsAgainstEngine = (signals: EngineVitals, probe: LivenessProbe): string[] => {
  if (signals.engineId === null || signals.engine === null) return ['no engine owns its agent']
  const found: string[] = []
  if (signals.engineState === 'offline') found.push('its engine is offline')
  if (signals.silent !== null && signals.ttlSeconds !== null && signals.silent > signals.ttlSeconds)
    found.push(`its engine sent no heartbeat for ${seconds(signals.silent)}`)
  if (probe.liveness(signals.engine) === 'dead') found.push("its engine's process is gone")
  return found
}

const reapsOfLease = (lease: LeaseVitals, probe: LivenessProbe): Reap[] => {
  const { runId, agentId, epoch } = lease
  if (!lease.used) return [{ kind: 'dangling', runId, agentId, evidence: 'its run or task is not running' }]
  if (lease.expired <= 0 || lease.engineId === probe.engineId) return []
  const second = signalsAgainstEngine(lease, probe)
  if (lease.shim !== null && probe.liveness(lease.shim) === 'dead') second.push('the shim of its agent is gone')
  if (second.length === 0) return []
  const evidence = [`the lease expired ${seconds(lease.expired)} ago`, ...second].join('; ')
  return [{ kind: 'lease', runId, epoch, agentId, evidence }]
}

const reapsOfEngine = (engine: Vitals['engines'][number], probe: LivenessProbe): Reap[] => {
  if (engine.engineId === probe.engineId || engine.engine === null) return []
  const second = [
    ...(probe.liveness(engine.engine) === 'dead' ? ['its process is gone'] : []),
    ...(engine.mute ? ['its connections to the store are closed or idle'] : []),
    ...(engine.leases > 0 && engine.expiredLeases === engine.leases
      ? [`all of its ${engine.leases} lease(s) expired`]
      : []),
  ]
  if (second.length === 0) return []
  const evidence = [`no heartbeat for ${seconds(engine.silent ?? 0)}`, ...second].join('; ')
  return [{ kind: 'engine', engineId: engine.engineId, evidence }]
}

/** What has to be reaped. Engines come first, because their death is a signal for the leases they hold. Pure. */
export const reapsOf = (vitals: Vitals, probe: LivenessProbe): Reap[] => [
  ...vitals.engines.flatMap((engine) => reapsOfEngine(engine, probe)),
  ...vitals.leases.flatMap((lease) => reapsOfLease(lease, probe)),
  ...vitals.unleased.map(
    // Without its lease no executor can write anything about the run, so it would stay as it is for ever.
    (run): Reap => ({
      kind: 'unleased',
      runId: run.runId,
      evidence: `the run has no lease; it started ${seconds(run.seconds)} ago`,
    }),
  ),
  ...vitals.orphans.map((task): Reap => ({
    kind: 'orphan',
    taskId: task.taskId,
    evidence: `none of the task's runs is running; it did not change for ${seconds(task.seconds)}`,
  })),
]

const reapLease = async (context: Context, tx: Queryable, reap: Extract<Reap, { kind: 'lease' }>): Promise<void> => {
  if (!(await lockExpiredLease(tx, reap.runId, reap.epoch))) return
  const run = await getRun(tx, reap.runId)
  if (run?.state !== 'running') return
  const { agentId: agent, evidence } = reap
  await appendEvent(tx, {
    type: 'lease.expired',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { agent, evidence },
  })
  await interruptRun(context, tx, run, `its lease was revoked: ${evidence}`)
}

const reapUnleased = async (context: Context, tx: Queryable, runId: string, evidence: string): Promise<void> => {
  const run = await getRun(tx, runId)
  if (run?.state !== 'running') return
  await appendEvent(tx, {
    type: 'run.unleased',
    goalId: run.goalId,
    taskId: run.taskId,
    runId,
    payload: { agent: run.agentId, evidence },
  })
  await interruptRun(context, tx, run, evidence)
}

const reapDangling = async (tx: Queryable, reap: Extract<Reap, { kind: 'dangling' }>): Promise<void> => {
  const agent = await dropDanglingLease(tx, reap.runId)
  if (agent === undefined) return
  const run = await getRun(tx, reap.runId)
  await appendEvent(tx, {
    type: 'lease.dangling',
    goalId: run?.goalId ?? null,
    taskId: run?.taskId ?? null,
    runId: reap.runId,
    payload: { agent, evidence: reap.evidence },
  })
  await releaseAgent(tx, agent)
}

const reapOrphan = async (tx: Queryable, taskId: string, evidence: string): Promise<void> => {
  const task = await getTask(tx, taskId)
  if (task?.status !== 'running') return
  await appendEvent(tx, { type: 'task.orphaned', goalId: task.goalId, taskId, payload: { evidence } })
  await moveTask(tx, task, 'interrupted', { payload: { reason: `orphaned: ${evidence}` } })
}

const carryOut = async (context: Context, tx: Queryable, reap: Reap): Promise<void> => {
  switch (reap.kind) {
    case 'engine': {
      const engine = await getEngine(tx, reap.engineId)
      if (engine !== undefined && engine.state !== 'offline')
        mustSucceed(await moveEngine(tx, engine, 'died', { evidence: reap.evidence }))
      return
    }
    case 'lease':
      return reapLease(context, tx, reap)
    case 'dangling':
      return reapDangling(tx, reap)
    case 'unleased':
      return reapUnleased(context, tx, reap.runId, reap.evidence)
    case 'orphan':
      return reapOrphan(tx, reap.taskId, reap.evidence)
  }
}

/** Reaps everything that is proven dead. */
export const reapAll = async (context: Context, probe: LivenessProbe): Promise<void> => {
  const renewSeconds = renewIntervalMs(context.config().lease.ttlSeconds) / 1000
  const reaps = reapsOf(await readVitals(context.db, renewSeconds), probe)
  for (const reap of reaps) {
    try {
      await context.db.transaction((tx) => carryOut(context, tx, reap))
      context.log.warn({ ...reap }, 'reaped')
    } catch (error) {
      // The owner renewed its lease in between, so it is left alone. A lost leadership ends the whole pass.
      if (!(error instanceof StaleError) || error instanceof LeadershipLostError) throw error
    }
  }
}
