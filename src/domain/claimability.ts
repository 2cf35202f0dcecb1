/**
 * Why a task waits, decided in one place. `claimability` answers for people what the claim's SQL (src/store/claim.ts and
 * `refreshReady` in src/store/goal.ts) answers for agents; test/store/claimability.test.ts compares the two on random
 * stores. A rule that is added to one of them without the other makes a view name the wrong reason. Pure.
 */
import type { AccountLimit } from './account.ts'
import type { Agent } from './agent.ts'
import { overlapOf } from './area.ts'
import { capOf, freeSlot, reservedSlots, type LaneLimits } from './dispatch.ts'
import type { EngineInfo } from './engine.ts'
import type { HourTokens } from './hour-tokens.ts'
import { mayStartWork, type Goal, type GoalState } from './goal.ts'
import { needsNoAgent, type Lane, type Retry, type Role, type Task, type TaskStatus } from './task.ts'

/** Enough of a task to name it to a person. `number` and `title` are null for a task that the store no longer has. */
export interface TaskName {
  id: string
  goalId: string
  number: number | null
  title: string | null
}

/** A lease with the slot of its lane; null = its lane had no limit when the lease was taken. */
export interface LaneLease extends TaskName {
  lane: Lane
  slot: number | null
}

/** What all queued tasks of a store compete for. */
export interface QueueFacts {
  /** `silent` = its heartbeat is overdue. */
  engines: readonly (EngineInfo & { silent: boolean })[]
  agents: readonly Agent[]
  /** Accounts at their limit. They are matched by the harness names of the engine that met the limit. */
  limits: readonly AccountLimit[]
  /** The setting `harness.failover`: harnesses that stand in for one whose account is at its limit, first choice first. */
  failover: readonly string[]
  lanes: LaneLimits
  /** Tasks that hold their areas: they run, or their work waits to be merged. */
  areaHolders: readonly Task[]
  leases: readonly LaneLease[]
  /** Feature tasks that are ready and queued, as far as the reserve for features depends on them. */
  waitingFeatures: readonly Pick<Task, 'harness' | 'model'>[]
  /** Set while the runs of the last hour have used as many tokens as the setting `limits.hourTokens` allows. */
  hourTokens: HourTokens | null
}

export interface ClaimFacts {
  goal: Pick<Goal, 'state' | 'landing'>
  /** The tasks that this one depends on, as far as the store has them. */
  dependencies: readonly Task[]
  /** Absent = only the task and its goal are judged, not whether an agent could take it. */
  queue?: QueueFacts
}

export type ClaimBlocker =
  | { cause: 'not_queued'; status: TaskStatus }
  | { cause: 'cooldown'; until: Date; retry: Retry }
  | { cause: 'paused' }
  /** The goal is in another state in which no work of it starts. */
  | { cause: 'goal'; state: GoalState }
  | { cause: 'dependency'; tasks: TaskName[] }
  | { cause: 'branch_broken' }
  | { cause: 'branch_outdated' }
  /** No engine that executes tasks is running. */
  | { cause: 'no_engine' }
  /** The task works in the folder of this engine, which is not running. */
  | { cause: 'engine_away'; engineId: string }
  | { cause: 'no_harness'; installed: string[] }
  | { cause: 'draining' }
  /** Every engine that could take the task is short of memory, disk or processor time. */
  | { cause: 'admission'; shortages: { host: string; waiting: string }[] }
  /** The ceiling of tokens per hour is reached. */
  | ({ cause: 'hour_tokens' } & HourTokens)
  | { cause: 'account_limit'; until: Date }
  | { cause: 'area'; area: string; holder: Task }
  | { cause: 'lane_limit'; limit: number; taken: LaneLease[] }
  | { cause: 'no_role' }
  | { cause: 'busy'; agents: number }
  /** All idle agents are kept for feature tasks that are queued. */
  | { cause: 'reserved'; idle: number }

export const claimBlockerCauses = [
  ...(['not_queued', 'cooldown', 'paused', 'goal', 'dependency', 'branch_broken', 'branch_outdated'] as const),
  ...(['no_engine', 'engine_away', 'no_harness', 'draining', 'admission', 'hour_tokens', 'account_limit'] as const),
  ...(['area', 'lane_limit', 'no_role', 'busy', 'reserved'] as const),
] as const satisfies readonly ClaimBlocker['cause'][]

export type Claimability = { free: true } | ({ free: false } & ClaimBlocker)

type QueueEngine = QueueFacts['engines'][number]

const missingOf = ({ dependsOn, goalId }: Task, dependencies: readonly Task[]): TaskName[] =>
  dependsOn.flatMap((id) => {
    const task = dependencies.find((other) => other.id === id)
    if (task?.status === 'done') return []
    return [{ id, goalId: task?.goalId ?? goalId, number: task?.number ?? null, title: task?.title ?? null }]
  })

/** What keeps the task out of the queue or its goal from starting work: `ready` in the store. */
const ownBlocker = (task: Task, { goal, dependencies }: ClaimFacts): ClaimBlocker | undefined => {
  if (task.status !== 'queued')
    return task.retry === null
      ? { cause: 'not_queued', status: task.status }
      : { cause: 'cooldown', until: task.retry.at, retry: task.retry }
  // Before the dependencies: they do not move either while the goal is paused, and a person can change that.
  if (goal.state === 'paused') return { cause: 'paused' }
  const missing = missingOf(task, dependencies)
  if (missing.length > 0) return { cause: 'dependency', tasks: missing }
  if (!mayStartWork(goal)) return { cause: 'goal', state: goal.state }
  if (goal.landing.broken !== null) return { cause: 'branch_broken' }
  return goal.landing.outdated ? { cause: 'branch_outdated' } : undefined
}

/** The first harness of `failover` that can be launched: it takes the tasks whose own harness is at its account's limit. */
export const standInOf = (failover: readonly string[], launchable: readonly string[]): string | undefined =>
  failover.find((name) => launchable.includes(name))

const limitsOf = (harness: string, { limits }: QueueFacts): AccountLimit[] =>
  limits.filter(({ harnesses }) => harnesses.includes(harness))

/** Whether an engine that has the harness can launch it now, or another one in its place. */
const canLaunch = (
  { harness, model }: Pick<Task, 'harness' | 'model'>,
  { harnesses }: QueueEngine,
  queue: QueueFacts,
): boolean => {
  if (queue.hourTokens !== null || !harnesses.includes(harness)) return false
  const launchable = harnesses.filter((name) => limitsOf(name, queue).length === 0)
  // Another harness does not know the model that the task names.
  return launchable.includes(harness) || (model === null && standInOf(queue.failover, launchable) !== undefined)
}

const accepts = (agentRole: string, role: Role): boolean =>
  agentRole === role || (agentRole === 'worker' && ['worker', 'tester', 'docser', 'judge'].includes(role))

const idleOf = ({ id }: QueueEngine, { agents }: QueueFacts): Agent[] =>
  agents.filter(({ engineId, state }) => engineId === id && state === 'idle')

/** Idle agents of an engine that other lanes must leave to the features it could start. */
const reservedOf = (engine: QueueEngine, queue: QueueFacts): number =>
  reservedSlots(queue.lanes, {
    features: queue.leases.filter(({ lane }) => lane === 'feature').length,
    featuresWait: queue.waitingFeatures.some((feature) => canLaunch(feature, engine, queue)),
  })

/** One condition of the claim. An engine that fits goes on to the next; when none is left, that condition is the reason. */
interface Condition {
  fits: (engine: QueueEngine) => boolean
  blocker: (rejected: readonly QueueEngine[]) => ClaimBlocker
}

/** While the ceiling of tokens per hour is reached, only work that needs no agent is taken. */
const withoutAgent = (task: Task, reached: HourTokens): Condition => ({
  fits: () => needsNoAgent(task),
  blocker: () => ({ cause: 'hour_tokens', ...reached }),
})

/** Which engines may be asked at all. Work that exists already is collected without an agent, so it needs no harness. */
const engineConditions = (task: Task, queue: QueueFacts): Condition[] => [
  {
    fits: ({ state, silent, roles }) => state !== 'offline' && !silent && roles.includes('executor'),
    blocker: () => ({ cause: 'no_engine' }),
  },
  {
    fits: ({ id }) => task.engineId === null || task.engineId === id,
    blocker: () => ({ cause: 'engine_away', engineId: task.engineId ?? '' }),
  },
  {
    fits: ({ harnesses }) => needsNoAgent(task) || harnesses.includes(task.harness),
    blocker: (engines) => ({ cause: 'no_harness', installed: engines.flatMap(({ harnesses }) => harnesses) }),
  },
  { fits: ({ state }) => state === 'online', blocker: () => ({ cause: 'draining' }) },
  {
    fits: ({ waiting }) => waiting === null,
    blocker: (engines) => ({
      cause: 'admission',
      shortages: engines.map(({ host, waiting }) => ({ host, waiting: waiting ?? '' })),
    }),
  },
  ...(queue.hourTokens === null ? [] : [withoutAgent(task, queue.hourTokens)]),
  {
    fits: (engine) => needsNoAgent(task) || canLaunch(task, engine, queue),
    blocker: () => {
      const first = limitsOf(task.harness, queue).reduce((one, other) => (other.until < one.until ? other : one))
      return { cause: 'account_limit', until: first.until }
    },
  },
]

const areaBlocker = (task: Task, { areaHolders }: QueueFacts): ClaimBlocker | undefined => {
  for (const holder of areaHolders.filter(({ id }) => id !== task.id)) {
    const area = overlapOf(task.areas, holder.areas)
    if (area !== undefined) return { cause: 'area', area, holder }
  }
  return undefined
}

const laneBlocker = ({ lane }: Task, { lanes, leases }: QueueFacts): ClaimBlocker | undefined => {
  const taken = leases.filter((lease) => lease.lane === lane && lease.slot !== null)
  const slots = taken.flatMap(({ slot }) => slot ?? [])
  return freeSlot(lane, lanes, slots) === undefined
    ? { cause: 'lane_limit', limit: capOf(lane, lanes) ?? 0, taken }
    : undefined
}

/** Which of the remaining engines has an agent for the task now. */
const agentConditions = (task: Task, queue: QueueFacts): Condition[] => {
  const agentsOf = ({ id }: QueueEngine): Agent[] =>
    queue.agents.filter(
      ({ engineId, state, role }) => engineId === id && state !== 'offline' && accepts(role, task.role),
    )
  return [
    { fits: (engine) => agentsOf(engine).length > 0, blocker: () => ({ cause: 'no_role' }) },
    {
      fits: (engine) => agentsOf(engine).some(({ state }) => state === 'idle'),
      blocker: (engines) => ({ cause: 'busy', agents: engines.flatMap(agentsOf).length }),
    },
    {
      fits: (engine) => task.lane === 'feature' || idleOf(engine, queue).length > reservedOf(engine, queue),
      blocker: (engines) => ({
        cause: 'reserved',
        idle: engines.reduce((sum, engine) => sum + idleOf(engine, queue).length, 0),
      }),
    },
  ]
}

/** Drops the engines that do not fit, condition by condition; gives the first condition that leaves none. */
const narrow = (
  engines: readonly QueueEngine[],
  conditions: readonly Condition[],
): readonly QueueEngine[] | ClaimBlocker => {
  let left = engines
  for (const { fits, blocker } of conditions) {
    const fitting = left.filter(fits)
    if (fitting.length === 0) return blocker(left)
    left = fitting
  }
  return left
}

const isBlocker = (found: readonly QueueEngine[] | ClaimBlocker): found is ClaimBlocker => 'cause' in found

const queueBlocker = (task: Task, queue: QueueFacts): ClaimBlocker | undefined => {
  const engines = narrow(queue.engines, engineConditions(task, queue))
  if (isBlocker(engines)) return engines
  const blocker = areaBlocker(task, queue) ?? laneBlocker(task, queue)
  if (blocker !== undefined) return blocker
  const able = narrow(engines, agentConditions(task, queue))
  return isBlocker(able) ? able : undefined
}

/** Whether an agent may take the task now, else the first thing that keeps it waiting and until when, where that is known. */
export const claimability = (task: Task, facts: ClaimFacts): Claimability => {
  const blocker = ownBlocker(task, facts) ?? (facts.queue === undefined ? undefined : queueBlocker(task, facts.queue))
  return blocker === undefined ? { free: true } : { free: false, ...blocker }
}
