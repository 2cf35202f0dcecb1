/** All statements on escalations. */
import { escalationFlow, type ChoiceKind, type Escalation } from '../domain/escalation.ts'
import { transitionOf } from '../domain/flow.ts'
import { fromRow, json, firstRow, mustSucceed, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import { notifyOfAnswer, notifyOfQuestion } from './notification.ts'
import { defined } from '../domain/defined.ts'

const read = (row: object): Escalation => fromRow<Escalation>(row)

export type NewEscalation = Pick<
  Escalation,
  'id' | 'goalId' | 'taskId' | 'runId' | 'kind' | 'happened' | 'tried' | 'question' | 'details' | 'choices'
>

/**
 * Stores a question to a person, with its event and its notifications. A task has one question at a time: what its agent asked no
 * longer applies when something else stops the task.
 */
export const openEscalation = async (tx: Queryable, escalation: NewEscalation): Promise<void> => {
  const { id, goalId, taskId, runId, kind, happened, tried, question, details, choices } = escalation
  if (taskId !== null) await expireAgentQuestion(tx, taskId)
  await tx.query(sql`
    insert into escalation (id, goal_id, task_id, run_id, kind, happened, tried, question, details, choices, state)
    values (${id}, ${goalId}, ${taskId}, ${runId}, ${kind}, ${happened}, ${json(tried)}::jsonb, ${question}, ${details},
      ${json(choices)}::jsonb, 'pending')`)
  await appendEvent(tx, {
    type: 'escalation.opened',
    goalId,
    taskId,
    runId,
    payload: { escalation: id, kind, happened, tried, question, details, choices: choices.map((choice) => choice.id) },
  })
  await notifyOfQuestion(tx, escalation)
}

/** Questions about changes in a checkout: those that wait, and those decided since then. The caller's transaction has the lock below. */
export const checkoutQuestions = async (db: Queryable, decidedSince: Date): Promise<Escalation[]> =>
  (
    await db.query<object>(sql`select * from escalation where kind = 'checkout_changed'
      and (state = 'pending' or decided_at >= ${decidedSince}) order by created_at, id`)
  ).map(read)

/** Until the transaction ends: of two runs that see the same change, the second finds the question of the first. */
export const lockCheckoutQuestions = async (tx: Queryable): Promise<void> => {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('unstuck checkout ' || current_schema(), 0))`)
}

/** A question that waits is about more now. */
export const extendEscalation = async (
  tx: Queryable,
  { id }: Pick<Escalation, 'id'>,
  { happened, question, details, choices }: Pick<Escalation, 'happened' | 'question' | 'details' | 'choices'>,
): Promise<void> => {
  await tx.query(sql`update escalation set happened = ${happened}, question = ${question}, details = ${details},
      choices = ${json(choices)}::jsonb, version = version + 1 where id = ${id} and state = 'pending'`)
}

/** The questions that the agent of a run asked. */
export const agentQuestionsOf = async (db: Queryable, runId: string): Promise<Escalation[]> =>
  (
    await db.query<object>(
      sql`select * from escalation where run_id = ${runId} and kind = 'agent_question' order by created_at`,
    )
  ).map(read)

/** How often a person chose this about the run. */
export const countAnswers = async (db: Queryable, runId: string, answer: ChoiceKind): Promise<number> =>
  (
    await firstRow<{ count: number }>(
      db,
      sql`select count(*)::int as count from escalation where run_id = ${runId} and answer = ${answer}`,
    )
  )?.count ?? 0

export const listEscalations = async (
  db: Queryable,
  filter: { goalId?: string | null; pendingOnly?: boolean },
): Promise<Escalation[]> =>
  (
    await db.query<object>(sql`select * from escalation where (${filter.goalId ?? null}::text is null or goal_id = ${filter.goalId ?? null})
      and (not ${filter.pendingOnly ?? false} or state = 'pending') order by created_at`)
  ).map(read)

export const getEscalation = async (db: Queryable, id: string): Promise<Escalation | undefined> => {
  const row = await firstRow<object>(db, sql`select * from escalation where id = ${id}`)
  return row === undefined ? undefined : read(row)
}

export const pendingEscalationOf = async (db: Queryable, taskId: string): Promise<Escalation | undefined> => {
  const row = await firstRow<object>(db, sql`select * from escalation where task_id = ${taskId} and state = 'pending'`)
  return row === undefined ? undefined : read(row)
}

/** Compare-and-swap: the second of two answers gets `stale`, so a question is decided once. `reply`: what a person told an agent. */
export const answerEscalation = async (
  tx: Queryable,
  escalation: Escalation,
  trigger: ChoiceKind | 'overtaken',
  reply?: string,
): Promise<MoveResult<Escalation>> => {
  const step = transitionOf(escalationFlow, escalation.state, trigger)
  if (!step.ok) return step
  const row = await firstRow<object>(
    tx,
    sql`update escalation set state = ${step.row.to}, answer = ${trigger === 'overtaken' ? null : trigger}, decided_at = unstuck_now(), version = version + 1
    where id = ${escalation.id} and version = ${escalation.version} and state = 'pending' returning *`,
  )
  if (row === undefined) return stale(`escalation ${escalation.id}`)
  await appendEvent(tx, {
    type: step.row.event,
    goalId: escalation.goalId,
    taskId: escalation.taskId,
    runId: escalation.runId,
    payload: { escalation: escalation.id, answer: trigger, ...defined({ reply }) },
  })
  await notifyOfAnswer(tx, escalation, trigger)
  return { ok: true, value: read(row) }
}

/** What a person replied to this question; undefined = nothing. */
export const replyTo = async (db: Queryable, { id, taskId }: Escalation): Promise<string | undefined> =>
  (
    await firstRow<{ reply: string | null }>(
      db,
      sql`select payload ->> 'reply' as reply from event
        where task_id = ${taskId} and type = 'escalation.answered' and payload ->> 'escalation' = ${id}`,
    )
  )?.reply ?? undefined

/** Closes the open question of a task's agent, because nothing waits for its answer any more. */
export const expireAgentQuestion = async (tx: Queryable, taskId: string): Promise<void> => {
  const pending = await pendingEscalationOf(tx, taskId)
  if (pending?.kind === 'agent_question') mustSucceed(await answerEscalation(tx, pending, 'overtaken'))
}
