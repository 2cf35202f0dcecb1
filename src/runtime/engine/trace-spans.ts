/**
 * The spans of what has ended, made of what the store recorded about it. Nothing is measured here, so a span is the same whichever engine
 * makes it, also after a crash. No text of a person or of an agent becomes a part of one, and commands are redacted.
 */
import type { Escalation } from '../../domain/escalation.ts'
import { families } from '../../domain/family.ts'
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Launch, Run } from '../../domain/run.ts'
import type { TraceSpan } from '../../domain/trace-span.ts'
import type { Task } from '../../domain/task.ts'
import type { StoredEvent } from '../../store/event.ts'
import type { Recovery } from '../../store/recovery.ts'

const goalKey = (id: string): string => `goal ${id}`
const taskKey = (id: string): string => `task ${id}`
const runKey = (id: string): string => `run ${id}`

/** The clocks of two hosts may differ a little; no span ends before it begins. */
const later = (one: Date, other: Date): Date => (one < other ? other : one)

type Ended = Pick<StoredEvent, 'at' | 'type'>

/** From the event, because the thing may have moved on since: `goal.failed` → `failed`. */
const stateIn = ({ type }: Ended): string => type.slice(type.indexOf('.') + 1)

const problemIf = (failed: boolean, code: string): string | null => (failed ? code : null)

const spendOf = ({ tokens, costUsd }: Run['spend']): TraceSpan['attributes'] => ({
  'unstuck.tokens': tokens,
  'unstuck.cost_usd': costUsd,
})

export const goalSpan = (goal: Goal, ended: Ended): TraceSpan => ({
  ...{ goalId: goal.id, key: goalKey(goal.id), parent: null, name: 'goal' },
  ...{ startedAt: goal.createdAt, endedAt: later(ended.at, goal.createdAt) },
  problem: problemIf(ended.type === 'goal.failed', 'failed'),
  attributes: { 'unstuck.goal.id': goal.id, 'unstuck.state': stateIn(ended), ...spendOf(goal.spend) },
})

export const taskSpan = (task: Task, ended: Ended): TraceSpan => ({
  ...{ goalId: task.goalId, key: taskKey(task.id), parent: goalKey(task.goalId), name: 'task' },
  ...{ startedAt: task.createdAt, endedAt: later(ended.at, task.createdAt), problem: null },
  attributes: {
    ...{ 'unstuck.task.id': task.id, 'unstuck.task.number': task.number, 'unstuck.task.kind': task.kind },
    ...{ 'unstuck.task.role': task.role, 'unstuck.state': stateIn(ended) },
  },
})

/** A recovery of a task or a goal, such as a wait, outlives its run. */
const parentOfRecovery = ({ scope, runId, taskId }: Recovery): string =>
  scope === 'launch' || scope === 'run' ? runKey(runId) : taskKey(taskId)

export const recoverySpan = (recovery: Recovery, ended: Ended): TraceSpan => ({
  ...{ goalId: recovery.goalId, key: `recovery ${recovery.id}`, parent: parentOfRecovery(recovery), name: 'recovery' },
  ...{ startedAt: recovery.startedAt, endedAt: later(recovery.decidedAt ?? ended.at, recovery.startedAt) },
  problem: problemIf(recovery.status === 'failed', recovery.label),
  attributes: {
    ...{ 'unstuck.recovery.id': recovery.id, 'unstuck.recovery.playbook': recovery.playbook },
    ...{ 'unstuck.recovery.class': recovery.label, 'unstuck.recovery.family': families[recovery.rung] ?? 'none' },
    ...{ 'unstuck.recovery.rung': recovery.rung, 'unstuck.recovery.attempt': recovery.attempt },
    ...{ 'unstuck.recovery.action': recovery.action.name, 'unstuck.recovery.outcome': recovery.status },
  },
})

export const mergeSpan = (entry: MergeEntry, ended: Ended): TraceSpan => ({
  ...{ goalId: entry.goalId, key: `merge ${entry.id}`, parent: taskKey(entry.taskId), name: 'merge' },
  ...{ startedAt: entry.createdAt, endedAt: later(ended.at, entry.createdAt) },
  problem: problemIf(ended.type === 'merge.failed', 'failed'),
  attributes: { 'unstuck.state': stateIn(ended), 'unstuck.merge.attempts': entry.attempts },
})

export const questionSpan = (
  { id, goalId, taskId, kind, createdAt, decidedAt }: Escalation,
  ended: Ended,
): TraceSpan => ({
  ...{ goalId, key: `question ${id}`, parent: taskId === null ? goalKey(goalId) : taskKey(taskId), name: 'question' },
  ...{ startedAt: createdAt, endedAt: later(decidedAt ?? ended.at, createdAt), problem: null },
  attributes: { 'unstuck.question.id': id, 'unstuck.question.kind': kind, 'unstuck.state': stateIn(ended) },
})

/** A span, and the event after which it is known. */
export interface EndedSpan {
  span: TraceSpan
  eventId: number
}

export interface RunHistory {
  run: Run
  /** Its changes of phase, and its end. */
  events: readonly StoredEvent[]
  recoveries: readonly Recovery[]
  /** Without secrets. */
  clean: (text: string) => string
}

/** The events that a run's spans are made of. */
export const runEventTypes = ['run.phase', 'run.succeeded', 'run.failed', 'run.cancelled'] as const

const isEndOfRun = ({ type }: StoredEvent): boolean => type !== 'run.phase'

const leavesPhase = ({ payload }: StoredEvent, phase: string): boolean => payload['from'] === phase

/** Why the run failed, if it ended with that; else the class of a recovery that began in between. */
const problemBetween = ({ run, recoveries }: RunHistory, startedAt: Date, endedAt: Date, end: StoredEvent) =>
  end.type === 'run.failed' && endedAt >= end.at
    ? (run.errorMeta?.failureCode ?? 'failed')
    : (recoveries.find((recovery) => recovery.startedAt >= startedAt && recovery.startedAt <= endedAt)?.label ?? null)

const childOf = ({ id, goalId }: Run, kind: 'launch' | 'check', number: number) => ({
  ...{ goalId, key: `${kind} ${id} ${number}`, parent: runKey(id), name: kind },
})

const endsLaunch = (event: StoredEvent): boolean =>
  isEndOfRun(event) ||
  leavesPhase(event, 'supervise') ||
  (leavesPhase(event, 'launch') && event.payload['to'] !== 'supervise')

/** A launch that could not start leaves no phase: it has ended when the next one begins. */
const endOfLaunch = ({ run, events }: RunHistory, { number }: Launch, startedAt: Date) => {
  const following = run.launches.find((other) => other.number > number)?.startedAt ?? null
  const next = following === null ? undefined : new Date(following)
  const end = events.find(
    (event) => event.at >= startedAt && (endsLaunch(event) || (next !== undefined && event.at >= next)),
  )
  return end === undefined ? undefined : { end, endedAt: next !== undefined && next < end.at ? next : end.at }
}

const launchSpan = (history: RunHistory, launch: Launch): EndedSpan | undefined => {
  const { run } = history
  if (launch.startedAt === null) return undefined
  const startedAt = later(new Date(launch.startedAt), run.startedAt)
  const found = endOfLaunch(history, launch, startedAt)
  if (found === undefined) return undefined
  const { end, endedAt } = found
  const span = {
    ...{ ...childOf(run, 'launch', launch.number), startedAt, endedAt: later(endedAt, startedAt) },
    problem: problemBetween(history, startedAt, endedAt, end),
    attributes: {
      ...{ 'unstuck.launch.number': launch.number, 'unstuck.harness': launch.harness ?? run.harness },
      ...(launch.turn === undefined ? {} : { 'unstuck.loop.role': launch.turn.role }),
      ...(launch.spend === null ? {} : spendOf(launch.spend)),
    },
  }
  return { span, eventId: end.id }
}

/** Only the last pass of the checks is in the verdict. */
const verdictOf = ({ run, clean }: RunHistory): TraceSpan['attributes'] => ({
  'unstuck.check.commands': (run.verdict?.checks ?? []).map(({ command }) => clean(command)),
  'unstuck.check.exit_codes': (run.verdict?.checks ?? []).map(({ exitCode }) => String(exitCode ?? 'none')),
  'unstuck.check.outcome': run.verdict?.outcome ?? 'not verified',
})

const failedCheck = ({ run, clean }: RunHistory, end: StoredEvent): TraceSpan['attributes'] => {
  const command = end.type === 'run.failed' ? run.errorMeta?.failedCommand : undefined
  return command === undefined ? {} : { 'unstuck.check.failed_command': clean(command) }
}

/** One span per pass of the checks: from the begin of the phase to the next one. */
const checkSpans = (history: RunHistory): EndedSpan[] => {
  const { run, events } = history
  const passes = events.flatMap((begin, at) => {
    const end = events[at + 1]
    return begin.payload['to'] === 'verify' && end !== undefined ? [{ begin, end }] : []
  })
  return passes.map(({ begin, end }, index) => {
    const passed = end.payload['to'] === 'policy' && index === passes.length - 1
    const span = {
      ...{ ...childOf(run, 'check', index + 1), startedAt: begin.at, endedAt: later(end.at, begin.at) },
      problem: problemBetween(history, begin.at, end.at, end),
      attributes: {
        'unstuck.check.pass': index + 1,
        ...(passed ? verdictOf(history) : failedCheck(history, end)),
      },
    }
    return { span, eventId: end.id }
  })
}

const wholeRun = ({ run, events }: RunHistory): EndedSpan[] => {
  const end = events.find(isEndOfRun)
  if (end === undefined) return []
  const { id, goalId, taskId, number, harness, errorMeta, launches, spend, startedAt } = run
  const code = errorMeta?.failureCode
  const span = {
    ...{ goalId, key: runKey(id), parent: taskKey(taskId), name: 'run' },
    ...{ startedAt, endedAt: later(run.endedAt ?? end.at, startedAt) },
    problem: problemIf(end.type === 'run.failed', code ?? 'failed'),
    attributes: {
      ...{ 'unstuck.run.id': id, 'unstuck.run.number': number, 'unstuck.harness': harness },
      ...{ 'unstuck.state': stateIn(end), 'unstuck.run.launches': launches.length },
      ...(code === undefined ? {} : { 'unstuck.failure': code }),
      ...spendOf(spend),
    },
  }
  return [{ span, eventId: end.id }]
}

/** The spans of a run as far as they have ended: its launches, its checks and the run itself. */
export const runSpans = (history: RunHistory): EndedSpan[] => [
  ...history.run.launches.flatMap((launch) => launchSpan(history, launch) ?? []),
  ...checkSpans(history),
  ...wholeRun(history),
]
