/**
 * All statements on recovery proposals and their executions, with the six events of a recovery. Their payloads are a format that
 * other programs read, so they have exactly these fields, and `repetition` where a command ran again in a later clone.
 */
import { transitionOf } from '../domain/flow.ts'
import {
  proposalFlow,
  type ProposalTrigger,
  type RecoveryExecution,
  type RecoveryProposal,
} from '../domain/recovery-proposal.ts'
import { firstRow, fromRow, json, mustSucceed, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

export type NewProposal = Pick<
  RecoveryProposal,
  | 'id'
  | 'goalId'
  | 'taskId'
  | 'runId'
  | 'iteration'
  | 'digest'
  | 'source'
  | 'body'
  | 'offsetStated'
  | 'problem'
  | 'flag'
  | 'failing'
> &
  Partial<Pick<RecoveryProposal, 'notes'>>

const readRow = (row: object): RecoveryProposal => fromRow<RecoveryProposal>(row)
const executionOf = (row: object): RecoveryExecution => fromRow<RecoveryExecution>(row)

/** What the six events are about. */
export type ProposalPlace = Pick<RecoveryProposal, 'goalId' | 'taskId' | 'runId'>

const at = ({ goalId, taskId, runId }: ProposalPlace): ProposalPlace => ({ goalId, taskId, runId })

/**
 * Stores a proposal that was read, with its event. Undefined = the task has had the same bytes before: a proposal is consumed once,
 * also when a file of an earlier run is copied.
 */
export const insertProposal = async (tx: Queryable, given: NewProposal): Promise<RecoveryProposal | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`insert into recovery_proposal (id, goal_id, task_id, run_id, iteration, digest, source, body, offset_stated, problem, flag, notes, failing, state)
      values (${given.id}, ${given.goalId}, ${given.taskId}, ${given.runId}, ${given.iteration}, ${given.digest}, ${given.source},
        ${json(given.body)}::jsonb, ${given.offsetStated}, ${json(given.problem)}::jsonb, ${json(given.flag)}::jsonb, ${json(given.notes ?? [])}::jsonb,
        ${json(given.failing)}::jsonb, 'open')
      on conflict (task_id, digest) do nothing returning *`,
  )
  return row === undefined ? undefined : readRow(row)
}

export const appendProposed = (
  tx: Queryable,
  place: ProposalPlace,
  { category, command, confidence }: { category: string; command: string; confidence: string },
): Promise<void> =>
  appendEvent(tx, { type: 'recovery_proposed', ...at(place), payload: { category, command, confidence } })

export const appendApproved = (
  tx: Queryable,
  place: ProposalPlace,
  { source, command }: { source: 'auto' | 'on_unknown' | 'human'; command: string },
): Promise<void> => appendEvent(tx, { type: 'recovery_approved', ...at(place), payload: { source, command } })

export const appendEscalated = (tx: Queryable, place: ProposalPlace, reason: string): Promise<void> =>
  appendEvent(tx, { type: 'recovery_escalated', ...at(place), payload: { reason, awaiting: 'human' } })

export const appendResolved = (
  tx: Queryable,
  place: ProposalPlace,
  { by, method, note }: { by: string; method: string; note: string },
): Promise<void> => appendEvent(tx, { type: 'recovery_resolved', ...at(place), payload: { by, method, note } })

/** What changes together with the state. */
export interface ProposalMove {
  approvedStep?: RecoveryProposal['approvedStep']
  decidedBy?: string
  note?: string
  /** The proposal with the command of a person, who answers for it: earlier doubts do not apply to it. */
  body?: object
}

/** One move along the flow table, as a compare-and-swap. The caller writes the event of the move in the same transaction. */
export const moveProposal = async (
  tx: Queryable,
  { id, state }: Pick<RecoveryProposal, 'id' | 'state'>,
  trigger: ProposalTrigger,
  { approvedStep, decidedBy, note, body }: ProposalMove = {},
): Promise<MoveResult<RecoveryProposal>> => {
  const step = transitionOf(proposalFlow, state, trigger)
  if (!step.ok) return step
  const isEdited = body !== undefined
  const row = await firstRow<object>(
    tx,
    sql`update recovery_proposal set state = ${step.row.to}, approved_step = coalesce(${approvedStep ?? null}::text, approved_step),
      decided_by = coalesce(${decidedBy ?? null}::text, decided_by), note = coalesce(${note ?? null}::text, note),
      body = coalesce(${isEdited ? json(body) : null}::jsonb, body), source = case when ${isEdited} then 'person' else source end,
      offset_stated = case when ${isEdited} and body is null then 'Z' else offset_stated end,
      problem = case when ${isEdited} then null else problem end, flag = case when ${isEdited} then null else flag end,
      notes = case when ${isEdited} then '[]'::jsonb else notes end,
      decided_at = unstuck_now()
      where id = ${id} and state = ${state} returning *`,
  )
  return row === undefined ? stale(`the proposal ${id}`) : { ok: true, value: readRow(row) }
}

/** A later run of the task goes on with it. */
export const adoptProposal = async (tx: Queryable, id: string, runId: string): Promise<void> => {
  await tx.query(sql`update recovery_proposal set run_id = ${runId} where id = ${id}`)
}

export const getProposal = async (db: Queryable, id: string): Promise<RecoveryProposal | undefined> => {
  const row = await firstRow<object>(db, sql`select * from recovery_proposal where id = ${id}`)
  return row === undefined ? undefined : readRow(row)
}

/** Of a goal or a task, oldest first. */
export const proposalsOf = async (
  db: Queryable,
  { goalId = null, taskId = null }: { goalId?: string | null; taskId?: string | null },
): Promise<RecoveryProposal[]> =>
  (
    await db.query<object>(
      sql`select * from recovery_proposal where (${goalId}::text is null or goal_id = ${goalId})
        and (${taskId}::text is null or task_id = ${taskId}) order by created_at, id`,
    )
  ).map(readRow)

export type NewExecution = Pick<
  RecoveryExecution,
  | 'id'
  | 'proposalId'
  | 'goalId'
  | 'taskId'
  | 'runId'
  | 'step'
  | 'command'
  | 'workingDir'
  | 'timeoutSeconds'
  | 'approvedBy'
  | 'counted'
  | 'repetition'
>

/** Stores that a command is about to run. Commit this before it starts. */
export const insertExecution = async (tx: Queryable, given: NewExecution): Promise<RecoveryExecution> => {
  const row = await firstRow<object>(
    tx,
    sql`insert into recovery_execution (id, proposal_id, goal_id, task_id, run_id, step, command, working_dir, timeout_seconds, approved_by, counted, repetition, state)
      values (${given.id}, ${given.proposalId}, ${given.goalId}, ${given.taskId}, ${given.runId}, ${given.step}, ${given.command},
        ${given.workingDir}, ${given.timeoutSeconds}, ${given.approvedBy}, ${given.counted}, ${given.repetition}, 'started') returning *`,
  )
  if (row === undefined) throw new Error('the store returned no execution')
  return executionOf(row)
}

export interface ExecutionOutcome {
  state: 'succeeded' | 'failed' | 'unknown'
  exitCode: number | null
  durationMs: number | null
  error: string
  changed: string[]
}

/** Stores the outcome of a command, with its event. A second call changes nothing. */
export const finishExecution = async (
  tx: Queryable,
  id: string,
  { state, exitCode, durationMs, error, changed }: ExecutionOutcome,
): Promise<RecoveryExecution | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`update recovery_execution set state = ${state}, exit_code = ${exitCode}, duration_ms = ${durationMs}, error = ${error},
      changed = ${json(changed)}::jsonb, ended_at = unstuck_now() where id = ${id} and state = 'started' returning *`,
  )
  if (row === undefined) return undefined
  const done = executionOf(row)
  const { command, repetition } = done
  const marked = repetition ? { repetition } : {}
  if (state === 'succeeded')
    await appendEvent(tx, {
      type: 'recovery_executed',
      ...at(done),
      payload: { command, exit_code: exitCode, duration_ms: durationMs, ...marked },
    })
  else
    await appendEvent(tx, {
      type: 'recovery_failed',
      ...at(done),
      payload: { command, exit_code: exitCode, error, ...marked },
    })
  return done
}

/** Stores whether the failed check ran after the command. Without effect the command failed, whatever its exit code. */
export const settleExecution = async (tx: Queryable, id: string, effect: boolean, error: string): Promise<void> => {
  const row = await firstRow<object>(
    tx,
    sql`update recovery_execution set effect = ${effect}, error = case when ${effect} then error else ${error} end
      where id = ${id} and effect is null returning *`,
  )
  if (row === undefined || effect) return
  const { command, exitCode, state, ...place } = executionOf(row)
  // A command that failed by its exit code has its event already.
  if (state !== 'succeeded') return
  await appendEvent(tx, { type: 'recovery_failed', ...at(place), payload: { command, exit_code: exitCode, error } })
}

/** Executions of a goal, a task or a proposal, oldest first. */
export const executionsOf = async (
  db: Queryable,
  filter: { goalId: string } | { taskId: string } | { proposalId: string },
): Promise<RecoveryExecution[]> => {
  const { goalId = null, taskId = null, proposalId = null } = filter as Record<string, string | null>
  const rows = await db.query<object>(
    sql`select * from recovery_execution where (${goalId}::text is null or goal_id = ${goalId})
      and (${taskId}::text is null or task_id = ${taskId}) and (${proposalId}::text is null or proposal_id = ${proposalId})
      order by started_at, id`,
  )
  return rows.map(executionOf)
}

/**
 * How many commands ran for a goal without a person, and when the last one began or ended. One that is about to run counts already: tasks
 * that decide at the same time would otherwise all run the last one.
 */
export const countedExecutions = async (
  db: Queryable,
  goalId: string,
): Promise<{ count: number; last: Date | null }> => {
  const row = await firstRow<{ count: number; last: Date | null }>(
    db,
    sql`select count(*)::int as count, max(at) as last from (
      select coalesce(ended_at, started_at) as at from recovery_execution where goal_id = ${goalId} and counted
      union all
      select started_at from recovery where goal_id = ${goalId} and status = 'acting' and action ->> 'type' = 'run_proposed'
        and action ->> 'approvedBy' in ('auto', 'on_unknown') and not exists (select 1 from recovery_execution
          where proposal_id = recovery.action ->> 'proposal' and step = recovery.action ->> 'step')) as counted`,
  )
  return row ?? { count: 0, last: null }
}

/** Begins a new count of a goal, because a person asked for a retry of the goal. */
export const resetExecutionCount = async (tx: Queryable, goalId: string): Promise<void> => {
  await tx.query(sql`update recovery_execution set counted = false where goal_id = ${goalId} and counted`)
}

/** A person decided about the task in another way than by an answer about the command, for example with a retry. */
export const closeProposals = async (
  tx: Queryable,
  taskId: string,
  method: string,
  states: readonly RecoveryProposal['state'][],
): Promise<void> => {
  for (const proposal of (await proposalsOf(tx, { taskId })).filter(({ state }) => states.includes(state))) {
    const closed = mustSucceed(await moveProposal(tx, proposal, 'overtaken'))
    await appendResolved(tx, closed, { by: 'human', method, note: '' })
  }
}
