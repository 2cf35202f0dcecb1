/**
 * All statements on runs and their leases. Every write is fenced by version, epoch and a live lease: an executor that
 * lost its lease cannot write.
 */
import { mustTransition } from '../domain/flow.ts'
import { runFlow, type CheckResult, type ErrorMeta, type Run, type RunState } from '../domain/run.ts'
import { releaseAgent } from './agent.ts'
import { fromRow, json, firstRow, sql, stale, StaleError, type MoveResult, type Queryable } from './db.ts'
import { appendEvent, recording } from './event.ts'

export const readRun = (row: object): Run => fromRow<Run>(row)

export const getRun = async (db: Queryable, id: string): Promise<Run | undefined> => {
  const row = await firstRow<object>(db, sql`select * from run where id = ${id}`)
  return row === undefined ? undefined : readRun(row)
}

/** The run, locked until the transaction ends: its phase does not change in between. */
export const lockRun = async (tx: Queryable, id: string): Promise<Run | undefined> => {
  const row = await firstRow<object>(tx, sql`select * from run where id = ${id} for update`)
  return row === undefined ? undefined : readRun(row)
}

export const listRuns = async (
  db: Queryable,
  filter: { goalId?: string | null; taskId?: string | null; state?: RunState | null },
): Promise<Run[]> =>
  (
    await db.query<object>(sql`select * from run where (${filter.goalId ?? null}::text is null or goal_id = ${filter.goalId ?? null})
      and (${filter.taskId ?? null}::text is null or task_id = ${filter.taskId ?? null})
      and (${filter.state ?? null}::text is null or state = ${filter.state ?? null}) order by started_at, id`)
  ).map(readRun)

/** Runs that are in progress, or were at some time since then. */
export const runsSince = async (db: Queryable, since: Date | undefined): Promise<Run[]> =>
  (
    await db.query<object>(
      sql`select * from run where state = 'running' or ended_at > ${since ?? null}::timestamptz order by started_at, id`,
    )
  ).map(readRun)

export const listRunsOf = async (db: Queryable, goalIds: readonly string[]): Promise<Run[]> =>
  (
    await db.query<object>(sql`select * from run where goal_id in (select jsonb_array_elements_text(${json(goalIds)}::jsonb))
      order by started_at, id`)
  ).map(readRun)

export type RunProgress = Partial<
  Pick<
    Run,
    | 'phase'
    | 'baseCommit'
    | 'launches'
    | 'sessionId'
    | 'spend'
    | 'tree'
    | 'commitIntent'
    | 'commit'
    | 'verdict'
    | 'loop'
    | 'harness'
    | 'reviewed'
  >
>

/**
 * Writes a run's progress. `stale` if the run ended, another epoch owns it, or another writer changed it in between.
 */
export const saveRun = async (db: Queryable, run: Run, progress: RunProgress): Promise<MoveResult<Run>> => {
  const next = { ...run, ...progress }
  const update = sql`update run set phase = ${next.phase}, base_commit = ${next.baseCommit}, launches = ${json(next.launches)}::jsonb,
      session_id = ${next.sessionId}, spend = ${json(next.spend)}::jsonb, tree = ${next.tree}, commit = ${next.commit},
      commit_intent = ${next.commitIntent === null ? null : json(next.commitIntent)}::jsonb,
      verdict = ${next.verdict === null ? null : json(next.verdict)}::jsonb, harness = ${next.harness}, reviewed = ${next.reviewed},
      loop = ${next.loop === null ? null : json(next.loop)}::jsonb, version = version + 1
    where id = ${run.id} and version = ${run.version} and state = 'running'
      and exists (select 1 from lease where lease.run_id = run.id and lease.epoch = ${run.epoch}) returning *`
  const { goalId, taskId } = run
  const payload = { from: run.phase, to: next.phase }
  const isNewPhase = next.phase !== run.phase
  const event = { type: 'run.phase', goalId, taskId, runId: run.id, payload }
  const row = await firstRow<object>(db, isNewPhase ? recording(update, event) : update)
  return row === undefined ? stale(`run ${run.id}`) : { ok: true, value: readRun(row) }
}

const dropLease = `dropped as (delete from lease using changed
  where lease.task_id = changed.task_id and lease.run_id = changed.id and lease.epoch = changed.epoch),`

/**
 * Ends a run, its lease and its agent's work in the caller's transaction, which also moves the task. `errorMeta` says
 * why it did not succeed.
 */
export const finishRun = async (
  tx: Queryable,
  run: Run,
  trigger: 'succeeded' | 'failed' | 'interrupted' | 'cancelled',
  errorMeta: ErrorMeta | null,
): Promise<MoveResult<Run>> => {
  const step = mustTransition(runFlow, 'running', trigger)
  const change = sql`update run set state = ${step.to}, error_meta = ${errorMeta === null ? null : json(errorMeta)}::jsonb, ended_at = unstuck_now(), version = version + 1
    where id = ${run.id} and epoch = ${run.epoch} and state = 'running' returning *`
  const payload =
    errorMeta === null
      ? {}
      : { failureCode: errorMeta.failureCode, message: errorMeta.message, evidence: errorMeta.evidence }
  const { goalId, taskId } = run
  const [row] = await Promise.all([
    firstRow<object>(tx, recording(change, { type: step.event, goalId, taskId, runId: run.id, payload }, dropLease)),
    releaseAgent(tx, run.agentId),
  ])
  return row === undefined ? stale(`run ${run.id}`) : { ok: true, value: readRun(row) }
}

/** Claims a successful run for judgement; undefined = it was judged before. The verdict is final for this commit. */
export const judgeRun = async (tx: Queryable, runId: string): Promise<Run | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`update run set judged_at = unstuck_now(), judgement_version = judgement_version + 1, version = version + 1
    where id = ${runId} and state = 'success' and judged_at is null returning *`,
  )
  return row === undefined ? undefined : readRun(row)
}

/**
 * Stores the checks of a rebased commit, which lands instead of the run's own. The run has ended, so nothing but the
 * list of checks changes.
 */
export const recordChecks = async (tx: Queryable, runId: string, checks: readonly CheckResult[]): Promise<void> => {
  await tx.query(sql`
    update run set verdict = jsonb_set(verdict, '{checks}', ${json(checks)}::jsonb), version = version + 1
    where id = ${runId} and verdict is not null`)
}

/** Tasks that wait for the judge, each with its newest successful run if that has no judgement, oldest first. */
export const unjudgedRuns = async (db: Queryable): Promise<Run[]> =>
  (
    await db.query<object>(sql`select run.* from run join task on task.id = run.task_id
      where task.watched_at is not null and run.judged_at is null and run.epoch > task.count_from_epoch
        and run.number = (select max(other.number) from run other where other.task_id = task.id and other.state = 'success')
        and (task.review ->> 'head' is null or run.reviewed = task.review ->> 'head')
      order by run.ended_at`)
  ).map(readRun)

/**
 * Running runs without an event for longer than the time limit of a run of their goal and so many seconds more. A run whose commit is being
 * pushed may wait for a git remote without one.
 */
export const silentRuns = async (db: Queryable, moreSeconds: number): Promise<Run[]> =>
  (
    await db.query<object>(
      sql`select run.* from run join goal on goal.id = run.goal_id
      cross join lateral (select make_interval(secs => (goal.limits ->> 'runSeconds')::float8 + ${moreSeconds}::float8) as most) as allowed
      where (goal.limits ->> 'runSeconds')::float8 > 0 and run.state = 'running' and run.started_at < unstuck_now() - most and not (goal.repo_mode = 'remote' and run.phase = 'commit')
        and not exists (select 1 from event where event.task_id = run.task_id and event.run_id = run.id and event.at > unstuck_now() - most)
      order by run.started_at`,
    )
  ).map(readRun)

/** Extends a lease by its full TTL. False = the lease is lost, and the holder must stop writing. */
export const renewLease = async (db: Queryable, run: Run, ttlSeconds: number): Promise<boolean> => {
  const row = await firstRow<object>(
    db,
    sql`update lease set expires_at = unstuck_now() + make_interval(secs => ${ttlSeconds}::float8)
    where run_id = ${run.id} and epoch = ${run.epoch} returning run_id`,
  )
  return row !== undefined
}

/**
 * Extends the leases of an engine's executors in one statement; returns the ids of the runs whose lease it still
 * holds.
 */
export const renewLeases = async (
  db: Queryable,
  held: readonly { runId: string; epoch: number }[],
  ttlSeconds: number,
): Promise<string[]> => {
  if (held.length === 0) return []
  const rows = await db.query<{ run_id: string }>(
    sql`update lease set expires_at = unstuck_now() + make_interval(secs => ${ttlSeconds}::float8)
    from jsonb_to_recordset(${json(held)}::jsonb) as held ("runId" text, epoch integer)
    where lease.run_id = held."runId" and lease.epoch = held.epoch returning lease.run_id`,
  )
  return rows.map((row) => row.run_id)
}

/**
 * For writes that are not fenced by their own statement: throws `StaleError` inside `tx` if the lease of this run is
 * lost.
 */
export const requireLease = async (tx: Queryable, run: Run): Promise<void> => {
  const row = await firstRow(
    tx,
    sql`select 1 from lease where run_id = ${run.id} and epoch = ${run.epoch} for key share`,
  )
  if (row === undefined) throw new StaleError(`the lease of run ${run.id} is lost; another engine may own the task now`)
}

/** Whether the lease of a run has expired by the store's clock. Locks its row, so that no renewal comes in between. */
export const lockExpiredLease = async (tx: Queryable, runId: string, epoch: number): Promise<boolean> => {
  const row = await firstRow<{ expired: boolean }>(
    tx,
    sql`select expires_at < unstuck_now() as expired from lease where run_id = ${runId} and epoch = ${epoch} for update`,
  )
  return row?.expired ?? false
}

/**
 * Removes a lease whose run or task is not running and returns its agent; undefined = it is in use after all, or gone.
 */
export const dropDanglingLease = async (tx: Queryable, runId: string): Promise<string | undefined> =>
  (
    await firstRow<{ agent_id: string }>(
      tx,
      sql`delete from lease using run, task where lease.run_id = ${runId} and run.id = lease.run_id and task.id = lease.task_id
        and (run.state <> 'running' or task.state <> 'running') returning lease.agent_id`,
    )
  )?.agent_id

/** Asks the engine that executes a run to end it. False = the run has ended. */
export const requestRunStop = async (tx: Queryable, run: Run): Promise<boolean> => {
  const row = await firstRow(
    tx,
    sql`update run set stop_asked = 'cancelled' where id = ${run.id} and state = 'running' returning id`,
  )
  if (row === undefined) return false
  await appendEvent(tx, {
    type: 'run.stop_asked',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { agent: run.agentId },
  })
  return true
}

/** Running runs of one engine's agents. `expired` = the lease was not renewed for its whole life. */
export const runsOfEngine = async (db: Queryable, engineId: string): Promise<{ run: Run; expired: boolean }[]> =>
  (
    await db.query<object & { expired: boolean }>(
      sql`select run.*, coalesce(lease.expires_at < unstuck_now(), false) as expired from run join agent on agent.id = run.agent_id
      left join lease on lease.run_id = run.id where run.state = 'running' and agent.engine_id = ${engineId} order by run.started_at, run.id`,
    )
  ).map(({ expired, ...row }) => ({ run: readRun(row), expired }))

/** Null = the agent was started with it. Call with the run locked (`lockRun`) and at work. */
export const setMessage = async (tx: Queryable, { id }: Run, message: Run['message']): Promise<void> => {
  await tx.query(sql`update run set message = ${message === null ? null : json(message)} where id = ${id}`)
}
