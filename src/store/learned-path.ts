/** All statements on learned paths: files that commands make, which later work leaves out. Undone and expired ones stay as rows. */
import { evidenceText, isNewEvidence, type LearnedPath, type ListedLearnedPath } from '../domain/path-grant.ts'
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'
import type { UnusedLimit } from './path-grant.ts'

export type NewLearnedPath = Pick<LearnedPath, 'path' | 'evidence' | 'taskId' | 'runId'> & { goalId: string | null }

const stored = async (tx: Queryable, path: string): Promise<LearnedPath | undefined> => {
  const row = await firstRow<object>(tx, sql`select * from learned_path where path = ${path} for update`)
  return row === undefined ? undefined : fromRow<LearnedPath>(row)
}

const begin = async (tx: Queryable, { path, evidence, taskId, runId, goalId }: NewLearnedPath): Promise<boolean> => {
  const written = await firstRow<object>(
    tx,
    sql`insert into learned_path (path, evidence, task_id, run_id) values (${path}, ${json(evidence)}::jsonb, ${taskId}, ${runId})
      on conflict (path) do update set evidence = excluded.evidence, task_id = excluded.task_id, run_id = excluded.run_id, seen = 1,
        learned_at = unstuck_now(), last_seen_at = unstuck_now(), undone_at = null, undone_by = null, expired = false
        where learned_path.undone_at is not null returning path`,
  )
  // Another run learned the path at the same moment.
  if (written === undefined) return false
  await appendEvent(tx, {
    type: 'policy.learned',
    ...{ goalId, taskId, runId },
    payload: { path, evidence: evidenceText(evidence), madeBy: evidence.madeBy },
  })
  return true
}

/** Records that a run saw these paths again. A run counts once. */
export const seeLearnedPaths = async (tx: Queryable, paths: readonly string[], runId: string): Promise<void> => {
  await tx.query(sql`update learned_path set seen = seen + 1, last_seen_at = unstuck_now(), run_id = ${runId}
    where path in (select jsonb_array_elements_text(${json(paths)}::jsonb)) and undone_at is null and run_id is distinct from ${runId}`)
}

/**
 * Learns a path, or sees it again; true = the set of learned paths changed. What a person undid is learned again only from a new
 * command; what expired, from any.
 */
export const learnPath = async (tx: Queryable, learned: NewLearnedPath): Promise<boolean> => {
  const before = await stored(tx, learned.path)
  if (before !== undefined && before.undoneAt === null) {
    if (learned.runId !== null) await seeLearnedPaths(tx, [learned.path], learned.runId)
    return false
  }
  if (before !== undefined && !before.expired && !isNewEvidence(before.evidence, learned.evidence)) return false
  return begin(tx, learned)
}

const isUnseen = `last_seen_at <= unstuck_now() - make_interval(days => $1::int)`

const listed = `select *, last_seen_at + make_interval(days => $1::int) as ends_at,
  case when undone_at is not null then case when expired then undone_by else 'undone' end
    when ${isUnseen} then 'not seen for ' || $1::int || ' days' end as ended from learned_path`

const listWhere = async (db: Queryable, where: string, values: unknown[]): Promise<ListedLearnedPath[]> =>
  (await db.query<object>({ text: `select * from (${listed}) as learned where ${where}`, values })).map((row) =>
    fromRow<ListedLearnedPath>(row),
  )

/** Newest first, at most 1,000; with `all` also those that have ended. */
export const listLearnedPaths = (
  db: Queryable,
  { days, all }: UnusedLimit & { all: boolean },
): Promise<ListedLearnedPath[]> =>
  listWhere(db, '($2 or ended is null) order by learned_at desc, path limit 1000', [days, all])

export const getLearnedPath = async (
  db: Queryable,
  path: string,
  { days }: UnusedLimit,
): Promise<ListedLearnedPath | undefined> => (await listWhere(db, 'path = $2', [days, path]))[0]

/** Those that count, sorted. */
export const learnedPathsOf = async (db: Queryable, { days }: UnusedLimit): Promise<string[]> =>
  (
    await db.query<{ path: string }>({
      text: `select path from learned_path where undone_at is null and not ${isUnseen}`,
      values: [days],
    })
  )
    .map(({ path }) => path)
    .toSorted()

const recordForgotten = (tx: Queryable, { path, taskId, runId, undoneBy }: LearnedPath): Promise<void> =>
  appendEvent(tx, { type: 'policy.forgotten', taskId, runId, payload: { path, by: undoneBy } })

/** Undefined = there is no such path, or it was undone before. */
export const forgetLearnedPath = async (tx: Queryable, path: string, by: string): Promise<LearnedPath | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`update learned_path set undone_at = unstuck_now(), undone_by = ${by}, expired = false
      where path = ${path} and undone_at is null returning *`,
  )
  if (row === undefined) return undefined
  const learned = fromRow<LearnedPath>(row)
  await recordForgotten(tx, learned)
  return learned
}

/** Ends what no run has seen for so long, and returns it. */
export const expireLearnedPaths = async (tx: Queryable, { days }: UnusedLimit): Promise<LearnedPath[]> => {
  const ended = (
    await tx.query<object>({
      text: `update learned_path set undone_at = unstuck_now(), undone_by = 'not seen for ' || $1::int || ' days', expired = true
        where undone_at is null and ${isUnseen} returning *`,
      values: [days],
    })
  ).map((row) => fromRow<LearnedPath>(row))
  for (const learned of ended) await recordForgotten(tx, learned)
  return ended
}
