/**
 * The healing layer, first in each pass of the leader: what is left of dead owners is taken back. Anything is judged dead on
 * two independent signals alone, the first a fact of the store, the second about whoever it belongs to. Each heal looks again
 * inside its transaction, and has an event with its evidence.
 */
import { renewMs } from '../../domain/lease.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import { releaseAgent } from '../../store/agent.ts'
import { getEngine, moveEngine } from '../../store/engine.ts'
import { appendEvent } from '../../store/event.ts'
import { must, StaleError, type Queryable } from '../../store/db.ts'
import { LeadLostError } from '../../store/leader.ts'
import { dropDangling, getRun, lockExpired } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { readVitals, type EngineSigns, type LeaseSigns, type Vitals } from '../../store/vitals.ts'
import type { Context } from '../core/context.ts'
import { interruptRun } from '../run/endings.ts'

export type Heal =
  | { kind: 'engine'; engineId: string; evidence: string }
  | { kind: 'lease'; runId: string; epoch: number; agentId: string; evidence: string }
  | { kind: 'dangling'; runId: string; agentId: string; evidence: string }
  | { kind: 'unleased'; runId: string; evidence: string }
  | { kind: 'orphan'; taskId: string; evidence: string }

export interface Witness {
  /** This engine: it looks after its own runs itself. */
  engineId: string
  /** Of a process; what runs on another host cannot be told from here. */
  liveness: (identity: ProcessIdentity) => 'alive' | 'dead' | 'elsewhere'
}

const seconds = (value: number): string => `${Math.round(value)} s`

/** What speaks for the death of the engine behind an agent, beside the lease. */
const againstEngine = (signs: EngineSigns, witness: Witness): string[] => {
  if (signs.engineId === null || signs.engine === null) return ['no engine has its agent']
  const found: string[] = []
  if (signs.engineState === 'offline') found.push('its engine is offline')
  if (signs.silent !== null && signs.ttlSeconds !== null && signs.silent > signs.ttlSeconds)
    found.push(`its engine gave no sign of life for ${seconds(signs.silent)}`)
  if (witness.liveness(signs.engine) === 'dead') found.push("its engine's process is gone")
  return found
}

const leaseHeal = (lease: LeaseSigns, witness: Witness): Heal[] => {
  const { runId, agentId, epoch } = lease
  if (!lease.used) return [{ kind: 'dangling', runId, agentId, evidence: 'its run or task is not running' }]
  if (lease.expired <= 0 || lease.engineId === witness.engineId) return []
  const second = againstEngine(lease, witness)
  if (lease.shim !== null && witness.liveness(lease.shim) === 'dead') second.push('the shim of its agent is gone')
  if (second.length === 0) return []
  const evidence = [`the lease ended ${seconds(lease.expired)} ago`, ...second].join('; ')
  return [{ kind: 'lease', runId, epoch, agentId, evidence }]
}

const engineHeal = (engine: Vitals['engines'][number], witness: Witness): Heal[] => {
  if (engine.engineId === witness.engineId || engine.engine === null) return []
  const second = [
    ...(witness.liveness(engine.engine) === 'dead' ? ['its process is gone'] : []),
    ...(engine.mute ? ['its connections to the store are gone or silent'] : []),
    ...(engine.leases > 0 && engine.expiredLeases === engine.leases ? [`all its ${engine.leases} lease(s) ended`] : []),
  ]
  if (second.length === 0) return []
  const evidence = [`no sign of life for ${seconds(engine.silent ?? 0)}`, ...second].join('; ')
  return [{ kind: 'engine', engineId: engine.engineId, evidence }]
}

/** What is to be healed, engines first: their death is a signal about what they held. Pure. */
export const healsOf = (vitals: Vitals, witness: Witness): Heal[] => [
  ...vitals.engines.flatMap((engine) => engineHeal(engine, witness)),
  ...vitals.leases.flatMap((lease) => leaseHeal(lease, witness)),
  ...vitals.unleased.map(
    // Without its lease no executor can write a word about it, so that it could only stay as it is.
    (run): Heal => ({
      kind: 'unleased',
      runId: run.runId,
      evidence: `it has no lease; it began ${seconds(run.seconds)} ago`,
    }),
  ),
  ...vitals.orphans.map((task): Heal => ({
    kind: 'orphan',
    taskId: task.taskId,
    evidence: `none of its runs is running; it did not change for ${seconds(task.seconds)}`,
  })),
]

const healLease = async (context: Context, tx: Queryable, heal: Extract<Heal, { kind: 'lease' }>): Promise<void> => {
  if (!(await lockExpired(tx, heal.runId, heal.epoch))) return
  const run = await getRun(tx, heal.runId)
  if (run?.state !== 'running') return
  const { agentId: agent, evidence } = heal
  await appendEvent(tx, {
    type: 'lease.expired',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { agent, evidence },
  })
  await interruptRun(context, tx, run, `its lease was taken back: ${evidence}`)
}

const healUnleased = async (context: Context, tx: Queryable, runId: string, evidence: string): Promise<void> => {
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

const healDangling = async (tx: Queryable, heal: Extract<Heal, { kind: 'dangling' }>): Promise<void> => {
  const agent = await dropDangling(tx, heal.runId)
  if (agent === undefined) return
  const run = await getRun(tx, heal.runId)
  await appendEvent(tx, {
    type: 'lease.dangling',
    goalId: run?.goalId ?? null,
    taskId: run?.taskId ?? null,
    runId: heal.runId,
    payload: { agent, evidence: heal.evidence },
  })
  await releaseAgent(tx, agent)
}

const healOrphan = async (tx: Queryable, taskId: string, evidence: string): Promise<void> => {
  const task = await getTask(tx, taskId)
  if (task?.place !== 'running') return
  await appendEvent(tx, { type: 'task.orphaned', goalId: task.goalId, taskId, payload: { evidence } })
  await moveTask(tx, task, 'interrupted', { payload: { reason: `orphaned: ${evidence}` } })
}

const carryOut = async (context: Context, tx: Queryable, heal: Heal): Promise<void> => {
  switch (heal.kind) {
    case 'engine': {
      const engine = await getEngine(tx, heal.engineId)
      if (engine !== undefined && engine.state !== 'offline')
        must(await moveEngine(tx, engine, 'died', { evidence: heal.evidence }))
      return
    }
    case 'lease':
      return healLease(context, tx, heal)
    case 'dangling':
      return healDangling(tx, heal)
    case 'unleased':
      return healUnleased(context, tx, heal.runId, heal.evidence)
    case 'orphan':
      return healOrphan(tx, heal.taskId, heal.evidence)
  }
}

/** Heals what can be proven dead. */
export const healAll = async (context: Context, witness: Witness): Promise<void> => {
  const renewSeconds = renewMs(context.config().lease.ttlSeconds) / 1000
  const heals = healsOf(await readVitals(context.db, renewSeconds), witness)
  for (const heal of heals) {
    try {
      await context.db.transaction((tx) => carryOut(context, tx, heal))
      context.log.warn({ ...heal }, 'healed')
    } catch (error) {
      // Whoever it was about gave a sign of life in between. A lead that is lost ends all of it.
      if (!(error instanceof StaleError) || error instanceof LeadLostError) throw error
    }
  }
}
