/**
 * In which order tasks are taken, and how many of a lane at once. Pure. Ageing needs no clock of its own: all that waits
 * grows older at the same pace, so "priority plus age" orders like a time that is fixed when the task is made.
 */
import type { Lane, Role } from './task.ts'

export const laneOfRole = (role: Role): Lane => (role === 'docser' ? 'docser' : 'feature')

/** How much waiting one point of priority is worth. */
export const secondsPerPoint = 600

/** Beyond it a priority counts no more, so that the longest wait for one's turn is bounded. */
export const priorityBound = 1_000

/** The smaller, the earlier it is taken. `createdSeconds` = when it was made, in seconds since 1970. */
export const rankOf = (priority: number, createdSeconds: number): number =>
  createdSeconds - Math.max(-priorityBound, Math.min(priorityBound, priority)) * secondsPerPoint

/** Slots that are kept for features while features wait, and the most that each other lane takes; -1 = no limit. */
export interface LaneLimits {
  featureMinSlots: number
  conflictRecoveryMaxSlots: number
  docserMaxSlots: number
}

export const standardLanes: LaneLimits = { featureMinSlots: 1, conflictRecoveryMaxSlots: 2, docserMaxSlots: 1 }

/** The most tasks of a lane at work at once; undefined = no limit. */
export const capOf = (lane: Lane, limits: LaneLimits): number | undefined => {
  const cap = { feature: -1, conflict_recovery: limits.conflictRecoveryMaxSlots, docser: limits.docserMaxSlots }[lane]
  return cap < 0 ? undefined : cap
}

/**
 * The slot of its lane that a task may take (0 in a lane without limit), or undefined. Other lanes leave the last idle
 * agents to features that wait, as long as fewer features are at work than are promised.
 */
export const laneSlot = (
  lane: Lane,
  limits: LaneLimits,
  now: { taken: readonly number[]; features: number; featuresWait: boolean; idle: number },
): number | undefined => {
  if (lane === 'feature') return 0
  const reserved = now.featuresWait ? Math.max(0, limits.featureMinSlots - now.features) : 0
  if (now.idle <= reserved) return undefined
  const cap = capOf(lane, limits)
  if (cap === undefined) return 0
  const free = Array.from({ length: cap }, (_value, index) => index + 1).filter((slot) => !now.taken.includes(slot))
  return free[0]
}
