/**
 * All statements on judgements. Every write is fenced by the version of its claim, so that of two judges, or of one that comes back after
 * its claim expired, only one writes a verdict.
 */
import type { Spend } from '../domain/budget.ts'
import { transitionOf } from '../domain/flow.ts'
import { judgementFlow, type Judgement, type JudgementState } from '../domain/judgement.ts'
import type { Run } from '../domain/run.ts'
import { firstRow, fromRow, json, sql, stale, StaleError, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

const readJudgement = (row: object): Judgement => fromRow<Judgement>(row)

export type JudgementChange = Partial<
  Pick<
    Judgement,
    | 'engineId'
    | 'retryAt'
    | 'failures'
    | 'verdict'
    | 'reason'
    | 'risk'
    | 'points'
    | 'summary'
    | 'harness'
    | 'model'
    | 'decidedBy'
  >
> & {
  /** How long the claim holds. */
  ttlSeconds?: number
  /** More for the event. */
  payload?: Record<string, unknown>
}

/** What the event tells; a review also says what was found and what it cost. */
const payloadOf = (judgement: Judgement, trigger: string, change: JudgementChange): Record<string, unknown> => {
  const { id, number, commit, version, mode, verdict, reason, risk, points, summary, harness, model, decidedBy } =
    judgement
  const { spend, failures, retryAt } = judgement
  return {
    ...{ judgement: id, number, commit, version, trigger, mode, reason },
    ...(verdict === null ? {} : { verdict }),
    ...(points.length === 0 ? {} : { points }),
    ...(risk === null ? {} : { risk }),
    ...(summary === '' ? {} : { summary }),
    ...(harness === null ? {} : { harness, model, tokens: spend.tokens, costUsd: spend.costUsd }),
    ...(decidedBy === null ? {} : { by: decidedBy }),
    ...(trigger === 'unanswered' ? { failures, retryAt: retryAt?.toISOString() } : {}),
    ...change.payload,
  }
}

/**
 * Stores the judgement of a run that was claimed (`judgeRun`). Undefined = this head commit of the task has a judgement already. What a
 * review brings before the judge is a new commit each time, so there the commit that it reviews counts.
 */
export const insertJudgement = async (
  tx: Queryable,
  run: Run,
  { id, mode, trigger, ...change }: Pick<Judgement, 'id' | 'mode'> & { trigger: string } & JudgementChange,
): Promise<Judgement | undefined> => {
  const step = transitionOf(judgementFlow, '', trigger)
  if (!step.ok) throw new Error(step.message)
  const decided = step.row.to === 'decided'
  const row = await firstRow<object>(
    tx,
    sql`insert into judgement (id, goal_id, task_id, run_id, commit, version, mode, state, engine_id, expires_at, verdict, reason, harness, model, decided_at)
    select ${id}, ${run.goalId}, ${run.taskId}, ${run.id}, ${run.commit}, ${run.judgementVersion}::integer, ${mode}, ${step.row.to},
      ${change.engineId ?? null}, unstuck_now() + make_interval(secs => ${change.ttlSeconds ?? null}::float8), ${change.verdict ?? null},
      ${change.reason ?? ''}, ${change.harness ?? null}, ${change.model ?? null}, case when ${decided} then unstuck_now() end
    where not exists (select 1 from judgement other join run judged on judged.id = other.run_id
      where other.task_id = ${run.taskId} and judged.reviewed = ${run.reviewed})
    on conflict do nothing returning *`,
  )
  if (row === undefined) return undefined
  const made = readJudgement(row)
  const { goalId, taskId, runId } = made
  await appendEvent(tx, { type: step.row.event, goalId, taskId, runId, payload: payloadOf(made, trigger, change) })
  return made
}

/** Moves a judgement along its flow table and records the event; `stale` if its claim was lost or it was decided meanwhile. */
export const moveJudgement = async (
  tx: Queryable,
  judgement: Judgement,
  trigger: string,
  change: JudgementChange = {},
): Promise<MoveResult<Judgement>> => {
  const step = transitionOf(judgementFlow, judgement.state, trigger)
  if (!step.ok) return step
  const to: JudgementState = step.row.to as JudgementState
  const next = { ...judgement, ...change }
  const row = await firstRow<object>(
    tx,
    sql`update judgement set state = ${to}, version = version + ${to === 'claimed' ? 1 : 0}::integer, engine_id = ${next.engineId},
      expires_at = unstuck_now() + make_interval(secs => ${change.ttlSeconds ?? null}::float8), retry_at = ${change.retryAt ?? null},
      failures = ${next.failures}, verdict = ${next.verdict}, reason = ${next.reason}, risk = ${next.risk},
      points = ${json(next.points)}::jsonb, summary = ${next.summary}, harness = ${next.harness}, model = ${next.model},
      decided_by = ${next.decidedBy}, decided_at = case when ${to === 'decided'} then unstuck_now() end, changed_at = unstuck_now()
    where id = ${judgement.id} and version = ${judgement.version} and state = ${judgement.state} returning *`,
  )
  if (row === undefined) return stale(`judgement ${judgement.number}`)
  const moved = readJudgement(row)
  const { goalId, taskId, runId } = moved
  await appendEvent(tx, { type: step.row.event, goalId, taskId, runId, payload: payloadOf(moved, trigger, change) })
  return { ok: true, value: moved }
}

export const getJudgement = async (db: Queryable, id: string): Promise<Judgement | undefined> => {
  const row = await firstRow<object>(db, sql`select * from judgement where id = ${id}`)
  return row === undefined ? undefined : readJudgement(row)
}

export const judgementOfRun = async (db: Queryable, runId: string): Promise<Judgement | undefined> => {
  const row = await firstRow<object>(db, sql`select * from judgement where run_id = ${runId}`)
  return row === undefined ? undefined : readJudgement(row)
}

/** Of the head commit of this run, from an earlier run of its task. */
export const judgementOfHead = async (
  db: Queryable,
  { taskId, commit, reviewed }: Pick<Run, 'taskId' | 'commit' | 'reviewed'>,
): Promise<Judgement | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select judgement.* from judgement join run on run.id = judgement.run_id
    where judgement.task_id = ${taskId} and (judgement.commit = ${commit} or run.reviewed = ${reviewed}) limit 1`,
  )
  return row === undefined ? undefined : readJudgement(row)
}

/** Of these tasks, oldest first. */
export const judgementsOf = async (db: Queryable, taskIds: readonly string[]): Promise<Judgement[]> =>
  (
    await db.query<object>(sql`select * from judgement
      where task_id in (select jsonb_array_elements_text(${json(taskIds)}::jsonb)) order by number`)
  ).map(readJudgement)

/** Judgements without a verdict about the newest work of these tasks, or of all tasks of these goals. */
export const openJudgementsOf = async (
  db: Queryable,
  { goalIds = [], taskIds = [] }: { goalIds?: readonly string[]; taskIds?: readonly string[] },
): Promise<Judgement[]> =>
  (
    await db.query<object>(sql`select judgement.* from judgement join run on run.id = judgement.run_id
      where judgement.state in ('claimed', 'waiting', 'asked')
        and (judgement.goal_id in (select jsonb_array_elements_text(${json(goalIds)}::jsonb))
          or judgement.task_id in (select jsonb_array_elements_text(${json(taskIds)}::jsonb)))
        and run.number = (select max(other.number) from run other where other.task_id = judgement.task_id and other.state = 'success')
      order by judgement.number`)
  ).map(readJudgement)

/** An engine with the ids of the judgements that it works on now. */
export interface Judge {
  engineId: string
  working: readonly string[]
}

/** Whether the wait of a judgement is over or its claim has expired, or was left by this engine; with the parameter that names the engine. */
export const dueClaim = (engineId: `$${number}`): string =>
  `(judgement.state = 'waiting' and judgement.retry_at <= unstuck_now()
    or judgement.state = 'claimed' and (judgement.expires_at <= unstuck_now() or judgement.engine_id = ${engineId}))`

/**
 * Judgements that a reviewer has to be asked about again: their wait is over, or their claim has expired. A claim of this engine that it
 * does not work on was left by a crash.
 */
export const dueJudgements = async (db: Queryable, { engineId, working }: Judge): Promise<Judgement[]> =>
  (
    await db.query<object>({
      text: `select judgement.* from judgement join task on task.id = judgement.task_id
      join goal on goal.id = judgement.goal_id join run on run.id = judgement.run_id
      where goal.state = 'active' and task.block_reason = 'awaiting_judge' and run.epoch > task.count_from_epoch
        and run.number = (select max(other.number) from run other where other.task_id = task.id and other.state = 'success')
        and not judgement.id in (select jsonb_array_elements_text($1::jsonb)) and ${dueClaim('$2')}
      order by judgement.number`,
      values: [json(working), engineId],
    })
  ).map(readJudgement)

/** Claims a judgement again, with a higher version. Undefined = another judge was first. */
export const claimAgain = async (
  tx: Queryable,
  judgement: Judgement,
  claim: { engineId: string; ttlSeconds: number; harness: string },
): Promise<Judgement | undefined> => {
  const moved = await moveJudgement(tx, judgement, 'claimed_again', claim)
  if (!moved.ok) return undefined
  await tx.query(sql`update run set judgement_version = ${moved.value.version}, judged_at = unstuck_now(), version = version + 1
    where id = ${judgement.runId}`)
  return moved.value
}

/** Extends a claim by its full time. False = it is lost. */
export const renewClaim = async (db: Queryable, { id, version }: Judgement, ttlSeconds: number): Promise<boolean> =>
  (await firstRow(
    db,
    sql`update judgement set expires_at = unstuck_now() + make_interval(secs => ${ttlSeconds}::float8)
    where id = ${id} and version = ${version} and state = 'claimed' returning id`,
  )) !== undefined

/** Throws `StaleError` inside `tx` if the claim is lost; nobody else can take it before the transaction ends. */
export const requireClaim = async (tx: Queryable, { id, number, version }: Judgement): Promise<void> => {
  const row = await firstRow(
    tx,
    sql`select 1 from judgement where id = ${id} and version = ${version} and state = 'claimed' for update`,
  )
  if (row === undefined) throw new StaleError(`the claim of judgement ${number} is lost; another judge may own it now`)
}

/** Like `requireClaim`, but also while nobody claims it any more: what a stopped reviewer spent counts all the same. */
export const requireSpender = async (tx: Queryable, { id, number, version }: Judgement): Promise<void> => {
  const row = await firstRow(
    tx,
    sql`select 1 from judgement where id = ${id} and version = ${version} and state in ('claimed', 'withdrawn') for update`,
  )
  if (row === undefined) throw new StaleError(`the claim of judgement ${number} is lost; another judge may own it now`)
}

export const addJudgementSpend = async (tx: Queryable, { id }: Judgement, spend: Spend): Promise<void> => {
  await tx.query(sql`update judgement set spend = jsonb_build_object(
      'tokens', (spend->>'tokens')::float8 + ${spend.tokens}::float8,
      'costUsd', (spend->>'costUsd')::float8 + ${spend.costUsd}::float8,
      'seconds', (spend->>'seconds')::float8 + ${spend.seconds}::float8), spent_at = unstuck_now()
    where id = ${id}`)
}

/** The task went on without a decision about its work: every open judgement of it ends. */
export const withdrawJudgement = async (tx: Queryable, taskId: string, reason: string): Promise<void> => {
  const open = await tx.query<object>(
    sql`select * from judgement where task_id = ${taskId} and state in ('claimed', 'waiting', 'asked') order by number`,
  )
  for (const row of open) await moveJudgement(tx, readJudgement(row), 'withdrawn', { reason })
}
