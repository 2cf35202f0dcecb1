/**
 * In which order tasks are claimed, and how many of a lane run at once. Pure. Ageing needs no clock: all queued tasks age
 * at the same pace, so "priority plus age" gives the same order as a rank that is fixed when the task is created.
 */
import type { Lane, Role } from './task.ts'

export const laneOfRole = (role: Role): Lane => (role === 'docser' ? 'docser' : 'feature')

/** Seconds of waiting that one point of priority is worth. */
export const secondsPerPoint = 600

/** Priorities are clamped to this, so that no task waits for its turn without bound. */
export const priorityBound = 1_000

/** The task with the smallest rank is claimed first. `createdSeconds` = its creation, in seconds since 1970. */
export const rankOf = (priority: number, createdSeconds: number): number =>
  createdSeconds - Math.max(-priorityBound, Math.min(priorityBound, priority)) * secondsPerPoint

/** Agents that are reserved for features while features wait, and the most that run in each other lane; -1 = no limit. */
export interface LaneLimits {
  featureMinSlots: number
  conflictRecoveryMaxSlots: number
  docserMaxSlots: number
}

export const defaultLanes: LaneLimits = { featureMinSlots: 1, conflictRecoveryMaxSlots: 2, docserMaxSlots: 1 }

/** The most tasks of a lane that run at once; undefined = no limit. */
export const capOf = (lane: Lane, limits: LaneLimits): number | undefined => {
  const cap = { feature: -1, conflict_recovery: limits.conflictRecoveryMaxSlots, docser: limits.docserMaxSlots }[lane]
  return cap < 0 ? undefined : cap
}

/** The first slot of a lane that no lease has; 0 in a lane without limit, undefined when all are taken. */
export const freeSlot = (lane: Lane, limits: LaneLimits, taken: readonly number[]): number | undefined => {
  const cap = capOf(lane, limits)
  if (cap === undefined) return 0
  return Array.from({ length: cap }, (_value, index) => index + 1).find((slot) => !taken.includes(slot))
}

export interface LaneUse {
  /** Slots of the lane that leases have. */
  taken: readonly number[]
  /** Feature tasks that run. */
  features: number
  /** A feature task is queued that the engine could start. */
  featuresWait: boolean
  /** Idle agents of the engine. */
  idle: number
}

/** How many idle agents the other lanes leave to features: as many as are promised and not in use, while features wait. */
export const reservedSlots = (
  { featureMinSlots }: LaneLimits,
  { features, featuresWait }: Pick<LaneUse, 'features' | 'featuresWait'>,
): number => (featuresWait ? Math.max(0, featureMinSlots - features) : 0)

/** The slot of its lane that a task may take (0 in a lane without limit); undefined = none, for the limit or the reserve. */
export const laneSlot = (lane: Lane, limits: LaneLimits, use: LaneUse): number | undefined => {
  if (lane === 'feature') return 0
  return use.idle <= reservedSlots(limits, use) ? undefined : freeSlot(lane, limits, use.taken)
}
