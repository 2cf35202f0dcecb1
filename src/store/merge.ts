/** All statements on the merge queue. A unique index allows one entry per goal in processing. */
import { transitionOf } from '../domain/flow.ts'
import { mergeFlow, type MergeEntry, type MergeState } from '../domain/merge.ts'
import type { Run } from '../domain/run.ts'
import { fromRow, json, firstRow, mustSucceed, sql, stale, type MoveResult, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

const read = (row: object): MergeEntry => fromRow<MergeEntry>(row)

/** Adds a judged run's commit to the queue; a second call for the same run changes nothing. */
export const enqueueMerge = async (tx: Queryable, id: string, run: Run): Promise<void> => {
  const row = await firstRow<{ number: number }>(
    tx,
    sql`insert into merge_entry (id, goal_id, task_id, run_id, commit, state)
    values (${id}, ${run.goalId}, ${run.taskId}, ${run.id}, ${run.commit}, 'pending') on conflict (run_id) do nothing returning number`,
  )
  if (row === undefined) return
  await appendEvent(tx, {
    type: 'merge.enqueued',
    goalId: run.goalId,
    taskId: run.taskId,
    runId: run.id,
    payload: { entry: id, number: row.number, commit: run.commit },
  })
}

export const listMerges = async (
  db: Queryable,
  filter: { goalId?: string | null; state?: MergeState | null },
): Promise<MergeEntry[]> =>
  (
    await db.query<object>(sql`select * from merge_entry where (${filter.goalId ?? null}::text is null or goal_id = ${filter.goalId ?? null})
      and (${filter.state ?? null}::text is null or state = ${filter.state ?? null}) order by number`)
  ).map(read)

export const listMergesOf = async (db: Queryable, goalIds: readonly string[]): Promise<MergeEntry[]> =>
  (
    await db.query<object>(sql`select * from merge_entry where goal_id in (select jsonb_array_elements_text(${json(goalIds)}::jsonb))
      order by number`)
  ).map(read)

/** By the number that people read. */
export const mergeNumbered = async (db: Queryable, number: number): Promise<MergeEntry | undefined> => {
  const row = await firstRow<object>(db, sql`select * from merge_entry where number = ${number}`)
  return row === undefined ? undefined : read(row)
}

export const getMerge = async (db: Queryable, id: string): Promise<MergeEntry | undefined> => {
  const row = await firstRow<object>(db, sql`select * from merge_entry where id = ${id}`)
  return row === undefined ? undefined : read(row)
}

/** Stores the new commit of a merged entry after the goal branch was rebased. */
export const relocateMerge = async (tx: Queryable, { id }: MergeEntry, landedCommit: string): Promise<void> => {
  await tx.query(sql`update merge_entry set landed_commit = ${landedCommit}, version = version + 1 where id = ${id}`)
}

/** Stores the commit with which a person undid the merged work on their branch. */
export const recordRevert = async (tx: Queryable, { id }: MergeEntry, commit: string): Promise<void> => {
  await tx.query(sql`update merge_entry set reverted_commit = ${commit}, version = version + 1 where id = ${id}`)
}

/**
 * Moves an entry along its flow table and records the event. A claim counts as an attempt, an unexpected error as a
 * failure, and both from zero after a person had it merged again.
 */
export const moveMerge = async (
  tx: Queryable,
  entry: MergeEntry,
  trigger: string,
  change: { landedCommit?: string; detail?: string } = {},
): Promise<MoveResult<MergeEntry>> => {
  const step = transitionOf(mergeFlow, entry.state, trigger)
  if (!step.ok) return step
  const counted = trigger === 'approved' ? 0 : 1
  const row = await firstRow<object>(
    tx,
    sql`update merge_entry set state = ${step.row.to}, attempts = ${counted}::integer * attempts + ${trigger === 'claimed' ? 1 : 0}::integer,
      failures = ${counted}::integer * failures + ${trigger === 'threw' ? 1 : 0}::integer,
      landed_commit = coalesce(${change.landedCommit ?? null}, landed_commit), detail = ${change.detail ?? ''}, version = version + 1, changed_at = unstuck_now()
    where id = ${entry.id} and version = ${entry.version} returning *`,
  )
  if (row === undefined) return stale(`merge entry ${entry.number}`)
  await appendEvent(tx, {
    type: step.row.event,
    goalId: entry.goalId,
    taskId: entry.taskId,
    runId: entry.runId,
    payload: { entry: entry.id, number: entry.number, trigger, ...change },
  })
  return { ok: true, value: read(row) }
}

/** A person had the work of this run merged again after its entry left the queue. False = it has no such entry. */
export const enqueueAgain = async (tx: Queryable, run: Run): Promise<boolean> => {
  const row = await firstRow<object>(
    tx,
    sql`select * from merge_entry where run_id = ${run.id} and state = 'failed' for update`,
  )
  if (row === undefined) return false
  mustSucceed(await moveMerge(tx, read(row), 'approved'))
  return true
}
