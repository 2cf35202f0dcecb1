/** The texts of a goal's exports, in the shapes of the founding document of infrastructure recovery. Pure. */
import type { Choice, ChoiceKind, Escalation } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { StoredEvent } from '../../store/event.ts'
import type { EndedRun, GoalProgress } from '../../store/goal-export.ts'

const fileText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`

/** `state.json` */
export const stateText = (
  goal: Pick<Goal, 'id' | 'state' | 'reason'>,
  { iteration, updatedAt }: GoalProgress,
): string =>
  fileText({
    status: goal.state,
    current_loop_id: goal.id,
    loop_id: goal.id,
    iteration,
    active: goal.state === 'planning' || goal.state === 'active',
    reason: goal.reason,
    updated_at: updatedAt.toISOString(),
  })

/** The fields of each recovery event, which stand at the top level of its line. */
const recoveryFields: Record<string, readonly string[]> = {
  recovery_proposed: ['category', 'command', 'confidence'],
  recovery_approved: ['source', 'command'],
  recovery_executed: ['command', 'exit_code', 'duration_ms'],
  recovery_failed: ['command', 'exit_code', 'error'],
  recovery_escalated: ['reason', 'awaiting'],
  recovery_resolved: ['by', 'method', 'note'],
}

/** A line of `events.jsonl`. */
export const eventLine = ({ id, at, type, goalId, taskId, runId, payload }: StoredEvent): string => {
  const head = { timestamp: at.toISOString(), loop_id: goalId, event: type }
  const fields = recoveryFields[type]
  if (fields !== undefined)
    return lineOf({ ...head, ...Object.fromEntries(fields.map((name) => [name, payload[name]])) })
  return lineOf({ ...head, id, task_id: taskId, run_id: runId, data: payload })
}

/** The line of `usage.jsonl` for a run that ended. */
export const usageLine = (run: EndedRun, at: Date): string => {
  const endedAt = run.endedAt ?? at
  return lineOf({
    timestamp: endedAt.toISOString(),
    kind: 'run',
    iteration: run.number,
    role: run.role,
    duration_ms: endedAt.getTime() - run.startedAt.getTime(),
    runner: run.harness,
    model: run.model,
    cost_usd: run.spend.costUsd,
    usage: { tokens: run.spend.tokens, agent_seconds: run.spend.seconds },
    run_id: run.id,
    status: run.state,
    session_id: run.sessionId,
  })
}

const commandOf = (choices: readonly Choice[], accepts: (kind: ChoiceKind) => boolean): string | undefined =>
  choices.find(({ kind }) => accepts(kind))?.command

const manualKinds: readonly ChoiceKind[] = ['take_over', 'edit']

/** `approve` continues the work, `reject` ends it, and `manual` lets a person do it. */
const actionsOf = (choices: readonly Choice[]): Record<string, string | undefined> => ({
  approve: commandOf(choices, (kind) => kind !== 'cancel' && !manualKinds.includes(kind)),
  reject: commandOf(choices, (kind) => kind === 'cancel'),
  manual: commandOf(choices, (kind) => manualKinds.includes(kind)),
})

/** `escalation.json` of a question. */
export const escalationText = (question: Escalation, iteration: number): string =>
  fileText({
    timestamp: question.createdAt.toISOString(),
    loop_id: question.goalId,
    iteration,
    type: question.kind,
    status: question.state,
    reason: question.happened === '' ? question.question : question.happened,
    actions: actionsOf(question.choices),
  })

/** The question that a person has to see: the newest pending one, else the one that was decided last. */
export const shownQuestion = (questions: readonly Escalation[]): Escalation | undefined =>
  questions.findLast(({ state }) => state === 'pending') ??
  questions.toSorted((a, b) => Number(a.decidedAt) - Number(b.decidedAt)).at(-1)
