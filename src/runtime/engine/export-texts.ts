/** The texts of a goal's exports, in the shapes of the founding document of infrastructure recovery. Pure. */
import { join } from 'node:path'
import type { Choice, ChoiceKind, Escalation } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Spend } from '../../domain/budget.ts'
import { reviewPurpose } from '../../domain/judgement.ts'
import { isSameTurn, spendOfLaunches, type Launch } from '../../domain/run.ts'
import { recoveryMetrics, type RecoveryTally } from '../../domain/recovery-metrics.ts'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { StoredEvent } from '../../store/event.ts'
import type { ExportedRun, GoalProgress } from '../../store/goal-export.ts'
import { defined } from '../../domain/defined.ts'

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

const spendFields = ({ tokens, costUsd, seconds }: Spend) => ({
  cost_usd: costUsd,
  usage: { tokens, agent_seconds: seconds },
})

/** The line of `usage.jsonl` for a run that ended and is no loop. */
const runLine = (run: ExportedRun, at: Date): string => {
  const endedAt = run.endedAt ?? at
  return lineOf({
    timestamp: endedAt.toISOString(),
    kind: 'run',
    iteration: run.number,
    role: run.role,
    duration_ms: endedAt.getTime() - run.startedAt.getTime(),
    runner: run.harness,
    model: run.model,
    ...spendFields(run.spend),
    run_id: run.id,
    status: run.state,
    session_id: run.sessionId,
  })
}

/** The line for the turn of a loop to which this launch belongs; '' = it belongs to none. */
const turnLine = (run: ExportedRun, launch: Launch | undefined, { at, sessionId }: TurnEnd): string => {
  if (launch?.turn === undefined) return ''
  const launches = run.launches.filter((other) => isSameTurn(other, launch))
  const spend = spendOfLaunches(launches)
  return lineOf({
    timestamp: at.toISOString(),
    kind: 'turn',
    ...launch.turn,
    duration_ms: Math.round(spend.seconds * 1000),
    runner: launch.harness ?? run.harness,
    model: run.model,
    ...spendFields(spend),
    run_id: run.id,
    session_id: sessionId ?? launches.findLast(({ resumeSession }) => resumeSession !== null)?.resumeSession ?? null,
  })
}

interface TurnEnd {
  at: Date
  /** Known for the last turn only; an earlier one shows its session where it was resumed. */
  sessionId: string | null
}

/** Less is what the order of additions leaves. */
const leastCostUsd = 1e-6

/** What a loop spent outside of its turns, such as on questions to a model; '' = nothing. */
const outsideLine = ({ id, launches, spend, number }: ExportedRun, at: Date): string => {
  const turns = spendOfLaunches(launches.filter(({ turn }) => turn !== undefined))
  const left = {
    tokens: spend.tokens - turns.tokens,
    costUsd: spend.costUsd - turns.costUsd,
    seconds: spend.seconds - turns.seconds,
  }
  if (left.tokens <= 0 && left.costUsd < leastCostUsd) return ''
  return lineOf({
    timestamp: at.toISOString(),
    kind: 'outside_turns',
    iteration: number,
    ...spendFields(left),
    run_id: id,
  })
}

/** The lines of `usage.jsonl` when a run has ended: its own, or those of its last turn. */
export const runEndLines = (run: ExportedRun, at: Date): string =>
  run.launches.every(({ turn }) => turn === undefined)
    ? runLine(run, at)
    : turnLine(
        run,
        run.launches.findLast(({ turn }) => turn !== undefined),
        { at, sessionId: run.sessionId },
      ) + outsideLine(run, at)

/** The line of the turn that ended before this launch began the next one. */
export const endedTurnLine = (run: ExportedRun, nextLaunch: number, at: Date): string =>
  turnLine(
    run,
    run.launches.findLast(({ number, turn }) => number < nextLaunch && turn !== undefined),
    { at, sessionId: null },
  )

/** Whether the event is the end of a question to a reviewer. */
export const isReview = ({ type, payload }: Pick<StoredEvent, 'type' | 'payload'>): boolean =>
  (type === 'ask.answered' || type === 'ask.failed') && payload['purpose'] === reviewPurpose

/** What a reviewer of the work of this run used, which is not part of the run. */
export const reviewLine = (
  { id, number }: Pick<ExportedRun, 'id' | 'number'>,
  { at, payload }: StoredEvent,
): string => {
  const [tokens, costUsd, ms] = [payload['tokens'], payload['costUsd'], payload['ms']].map(Number)
  return lineOf({
    timestamp: at.toISOString(),
    kind: 'review',
    iteration: number,
    role: 'judge',
    duration_ms: ms,
    runner: payload['harness'],
    model: payload['model'] ?? null,
    ...spendFields({ tokens: tokens ?? 0, costUsd: costUsd ?? 0, seconds: (ms ?? 0) / 1000 }),
    run_id: id,
  })
}

/** The line of `usage.jsonl` with what the proposals of a goal have come to so far. */
export const metricsLine = (goalId: string, at: Date, tally: RecoveryTally): string =>
  lineOf({ timestamp: at.toISOString(), kind: 'recovery_metrics', loop_id: goalId, ...recoveryMetrics(tally) })

const commandOf = (choices: readonly Choice[], accepts: (kind: ChoiceKind) => boolean): string | undefined =>
  choices.find(({ kind }) => accepts(kind))?.command

const rejectKinds: readonly ChoiceKind[] = ['cancel', 'reject_recovery']
const manualKinds: readonly ChoiceKind[] = ['take_over', 'edit', 'edit_recovery', 'resolve_recovery']

/** `approve` continues the work, `reject` ends or skips it, and `manual` lets a person do it. */
const actionsOf = (choices: readonly Choice[]): Record<string, string | undefined> => ({
  approve: commandOf(choices, (kind) => ![...rejectKinds, ...manualKinds].includes(kind)),
  reject: commandOf(choices, (kind) => rejectKinds.includes(kind)),
  manual: commandOf(choices, (kind) => manualKinds.includes(kind)),
})

export interface ExportedQuestion {
  question: Escalation
  iteration: number
  /** The proposal that it is about; absent for other questions. */
  proposal?: Pick<RecoveryProposal, 'body' | 'iteration' | 'approvedStep'>
  /** Why the owner's lists did not let its command run. */
  reason?: string
  /** The owner's checkout. */
  root: string
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

interface ProposedBody {
  recovery?: { command?: string; working_dir?: string }
  fallback?: { command?: string }
}

/** The line for a person's own terminal, with the command that the question is about. */
const manualLine = (
  root: string,
  { body, approvedStep }: NonNullable<ExportedQuestion['proposal']>,
): string | undefined => {
  const { recovery = {}, fallback = {} }: ProposedBody = body ?? {}
  const { command } = approvedStep === 'fallback' ? fallback : recovery
  return command === undefined ? undefined : `cd ${quoted(join(root, recovery.working_dir ?? '.'))} && ${command}`
}

/** `escalation.json` of a question. */
export const escalationText = ({ question, iteration, proposal, reason, root }: ExportedQuestion): string => {
  const body = proposal?.body ?? null
  const manual = proposal === undefined ? undefined : manualLine(root, proposal)
  const because = question.happened === '' ? question.question : question.happened
  return fileText({
    timestamp: question.createdAt.toISOString(),
    loop_id: question.goalId,
    iteration: proposal?.iteration ?? iteration,
    type: question.kind,
    status: question.state,
    ...(body === null ? {} : { recovery_proposal: body }),
    reason: reason ?? because,
    actions: { ...actionsOf(question.choices), ...defined({ manual }) },
  })
}

/** The proposal that a question is about. */
export const proposalIn = ({ choices }: Escalation): string | undefined =>
  choices.flatMap((choice) => ('proposal' in choice ? [choice.proposal] : []))[0]

/** The question that a person has to see: the newest pending one, else the one that was decided last. */
export const shownQuestion = (questions: readonly Escalation[]): Escalation | undefined =>
  questions.findLast(({ state }) => state === 'pending') ??
  questions.toSorted((a, b) => Number(a.decidedAt) - Number(b.decidedAt)).at(-1)
