/**
 * All statements on what can be judged. A run with a verdict is never judged again: a verdict is final for its commit. A run that the
 * judge took without coming to a verdict can be given back to it.
 */
import type { Run } from '../domain/run.ts'
import type { Task } from '../domain/task.ts'
import { firstRow, json, sql, type Queryable } from './db.ts'
import { readRun } from './run.ts'

export interface JudgedRun {
  run: Run
  /** See `ReviewFacts` in src/recovery/review-requeue.ts. `none` here: the run has a verdict, and nothing more is done with it. */
  state: 'pending' | 'restorable' | 'none'
}

interface StateRow {
  merging: boolean
  decided: boolean
  /** The judge works on it, waits for its reviewer or has asked a person. */
  open: boolean
  expired: boolean
}

/**
 * The newest successful run of the present count, and of the newest commit that a review task saw; also an earlier one that is to be
 * merged, because a person may approve it after an edit that began a new count. A judge that takes longer than `claimSeconds` for a
 * verdict has given up the run.
 */
export const judgedRunOf = async (
  db: Queryable,
  { id, countFromEpoch, review }: Pick<Task, 'id' | 'countFromEpoch' | 'review'>,
  claimSeconds: number,
): Promise<JudgedRun | undefined> => {
  const head = review?.head ?? null
  const row = await firstRow<object & StateRow>(
    db,
    sql`select run.*,
      exists (select 1 from merge_entry where run_id = run.id and state in ('pending', 'processing')) as merging,
      exists (select 1 from merge_entry where run_id = run.id)
        or exists (select 1 from judgement where run_id = run.id and state in ('decided', 'withdrawn')) as decided,
      exists (select 1 from judgement where run_id = run.id and state in ('claimed', 'waiting', 'asked')) as open,
      coalesce(run.judged_at <= unstuck_now() - make_interval(secs => ${claimSeconds}::float8), false) as expired
    from run where task_id = ${id} and state = 'success' and (
      exists (select 1 from merge_entry where run_id = run.id and state in ('pending', 'processing'))
      or (epoch > ${countFromEpoch} and (${head}::text is null or reviewed = ${head}))
    ) order by number desc limit 1`,
  )
  if (row === undefined) return undefined
  const { merging, decided, open, expired, ...rest } = row
  const run = readRun(rest)
  if (merging || open || (run.judgedAt === null && !decided)) return { run, state: 'pending' }
  if (decided) return { run, state: 'none' }
  return { run, state: expired ? 'restorable' : 'pending' }
}

/** Whether a later run of the task succeeded, so that nothing more is decided about the work of this one. */
export const isReplaced = async (db: Queryable, { taskId, number }: Pick<Run, 'taskId' | 'number'>): Promise<boolean> =>
  (await firstRow(
    db,
    sql`select 1 from run where task_id = ${taskId} and state = 'success' and number > ${number} limit 1`,
  )) !== undefined

/** The judge may take the run again. False = it has a verdict, or was given back already. */
export const restoreReview = async (tx: Queryable, { id }: Run): Promise<boolean> => {
  const row = await firstRow(
    tx,
    sql`update run set judged_at = null, version = version + 1
    where id = ${id} and state = 'success' and judged_at is not null
      and not exists (select 1 from merge_entry where run_id = ${id})
      and not exists (select 1 from judgement where run_id = ${id}) returning id`,
  )
  return row !== undefined
}

/** What the judge said about a commit that this task brought before it; undefined = nothing yet. */
export const verdictOn = async (
  db: Queryable,
  task: Pick<Task, 'id'>,
  commit: string,
): Promise<{ runId: string; verdict: string; reason: string } | undefined> =>
  firstRow<{ runId: string; verdict: string; reason: string }>(
    db,
    sql`select run.id as "runId", judgement.verdict, judgement.reason from run join judgement on judgement.run_id = run.id
    where run.task_id = ${task.id} and run.reviewed = ${commit} and judgement.state = 'decided' order by judgement.number desc limit 1`,
  )

/** Tasks whose work waits for the judge. */
export const countPendingReviews = async (db: Queryable): Promise<number> =>
  (
    await firstRow<{ count: number }>(
      db,
      sql`select count(*)::int as count from task where watched_at is not null
        and (exists (select 1 from run where run.task_id = task.id and run.state = 'success' and run.judged_at is null)
          or exists (select 1 from judgement where judgement.task_id = task.id and judgement.state in ('claimed', 'waiting')))`,
    )
  )?.count ?? 0

/** The commit that a review task reviews from now on. */
export const recordHead = async (tx: Queryable, taskId: string, head: string): Promise<void> => {
  await tx.query(
    sql`update task set review = review || ${json({ head })}::jsonb where id = ${taskId} and review is not null`,
  )
}
