/** What the proposals of agents came to, read from the stored events of a goal in their order. Pure. */
import { escalationKinds, type EscalationKind } from './escalation.ts'

/** The kinds of questions that are about a proposal. */
export const proposalKinds: readonly EscalationKind[] = escalationKinds.filter(
  (kind) => kind.startsWith('recovery_') || kind === 'invalid_proposal',
)

export interface MetricEvent {
  type: string
  at: Date
  taskId: string | null
  payload: Record<string, unknown>
}

/** The types of events that change the numbers. */
export const metricEventTypes = [
  'recovery_proposed',
  'recovery_approved',
  'recovery_executed',
  'recovery_failed',
  'recovery',
  'escalation.opened',
  'escalation.answered',
] as const

export interface RecoveryTally {
  categories: Map<string, number>
  /** The newest command of each task that runs without a person, with its outcome. */
  running: Map<string, 'approved' | 'succeeded'>
  succeeded: number
  failed: number
  /** Open questions about proposals by their ids. */
  open: Map<string, Date>
  escalations: number
  answerMs: number[]
}

export const noRecoveries = (): RecoveryTally => ({
  categories: new Map(),
  running: new Map(),
  succeeded: 0,
  failed: 0,
  open: new Map(),
  escalations: 0,
  answerMs: [],
})

const textIn = ({ payload }: MetricEvent, name: string): string => {
  const value = payload[name]
  return typeof value === 'string' ? value : ''
}

const keyOf = (event: MetricEvent): string => `${event.taskId ?? ''} ${textIn(event, 'command')}`

const countApproved = (tally: RecoveryTally, event: MetricEvent): void => {
  if (textIn(event, 'source') === 'human') tally.running.delete(keyOf(event))
  else tally.running.set(keyOf(event), 'approved')
}

const countExecuted = (tally: RecoveryTally, event: MetricEvent): void => {
  if (tally.running.get(keyOf(event)) !== 'approved') return
  tally.running.set(keyOf(event), 'succeeded')
  tally.succeeded += 1
}

/** A command that exited with 0 and had no effect is reported as executed first and as failed later: it failed. */
const countFailed = (tally: RecoveryTally, event: MetricEvent): void => {
  const before = tally.running.get(keyOf(event))
  if (before === undefined) return
  tally.running.delete(keyOf(event))
  if (before === 'succeeded') tally.succeeded -= 1
  tally.failed += 1
}

/** The effect was observed. What the command does in later clones, where it is repeated, is part of no number. */
const countObserved = (tally: RecoveryTally, event: MetricEvent): void => {
  if (textIn(event, 'action_taken') !== 'RUN_PROPOSED_COMMAND' || textIn(event, 'status') !== 'success') return
  for (const [key, outcome] of tally.running)
    if (outcome === 'succeeded' && key.startsWith(`${event.taskId ?? ''} `)) tally.running.delete(key)
}

const countAnswered = (tally: RecoveryTally, event: MetricEvent): void => {
  const asked = tally.open.get(textIn(event, 'escalation'))
  if (asked === undefined) return
  tally.open.delete(textIn(event, 'escalation'))
  tally.answerMs.push(event.at.getTime() - asked.getTime())
}

const countOpened = (tally: RecoveryTally, event: MetricEvent): void => {
  if (!proposalKinds.some((kind) => kind === textIn(event, 'kind'))) return
  tally.escalations += 1
  tally.open.set(textIn(event, 'escalation'), event.at)
}

const counters: Record<(typeof metricEventTypes)[number], (tally: RecoveryTally, event: MetricEvent) => void> = {
  recovery_proposed: (tally, event) => {
    const category = textIn(event, 'category')
    tally.categories.set(category, (tally.categories.get(category) ?? 0) + 1)
  },
  recovery_approved: countApproved,
  recovery_executed: countExecuted,
  recovery_failed: countFailed,
  recovery: countObserved,
  'escalation.opened': countOpened,
  'escalation.answered': countAnswered,
}

/** Counts the next event. */
export const countRecoveryEvent = (tally: RecoveryTally, event: MetricEvent): void =>
  counters[event.type as keyof typeof counters]?.(tally, event)

/** The numbers of the founding document. Null = nothing to divide by yet. */
export const recoveryMetrics = ({ categories, succeeded, failed, escalations, answerMs }: RecoveryTally) => {
  const proposals = [...categories.values()].reduce((sum, n) => sum + n, 0)
  const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
  return {
    recovery_proposals: proposals,
    auto_recoveries: { succeeded, failed },
    auto_recovery_success_rate: share(succeeded, succeeded + failed),
    escalations,
    escalation_frequency: share(escalations, proposals),
    time_to_resolution_ms: share(
      answerMs.reduce((sum, ms) => sum + ms, 0),
      answerMs.length,
    ),
    categories: [...categories]
      .map(([category, count]) => ({ category, count }))
      .toSorted((a, b) => b.count - a.count || (a.category < b.category ? -1 : 1)),
  }
}
