/**
 * All statements on granted paths. A grant counts until it is revoked, until its run or task has ended, or until no run has used it for
 * a number of days by the clock of the store. Its uses are rows, one per run, so that a run counts once.
 */
import type { GrantTarget, ListedGrant, PathGrant } from '../domain/path-grant.ts'
import type { Role, Task } from '../domain/task.ts'
import { grantedTo } from '../domain/path-grant.ts'
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

export type NewPathGrant = Omit<PathGrant, 'grantedAt' | 'lastUsedAt' | 'revokedAt' | 'revokedBy'>

/** `days` without use after which a grant ends. */
export interface UnusedLimit {
  days: number
}

const read = (row: object): PathGrant => fromRow<PathGrant>(row)

/** A use by the run that needed the path is recorded with the grant. */
export const insertPathGrant = async (tx: Queryable, grant: NewPathGrant): Promise<PathGrant> => {
  const { areas, role, goalId, taskId, runId } = grant
  const row = await firstRow<object>(
    tx,
    sql`insert into path_grant (id, path, scope, areas, role, goal_id, task_id, run_id, rule, why, granted_by, source_text)
      values (${grant.id}, ${grant.path}, ${grant.scope}, ${json(areas)}::jsonb, ${role}, ${goalId}, ${taskId}, ${runId},
        ${grant.rule}, ${grant.why}, ${grant.grantedBy}, ${grant.sourceText}) returning *`,
  )
  if (row === undefined) throw new Error('the store returned no grant')
  if (runId !== null) await tx.query(sql`insert into path_grant_use (grant_id, run_id) values (${grant.id}, ${runId})`)
  const { id, path, scope, why, rule, grantedBy } = grant
  await appendEvent(tx, {
    type: 'policy.granted',
    ...{ goalId, taskId, runId },
    payload: { grant: id, path, scope, areas, to: grantedTo(grant), why, rule, by: grantedBy },
  })
  return read(row)
}

/** Records that a run changed the paths of these grants. A second use by the same run changes nothing. */
export const recordGrantUses = async (tx: Queryable, ids: readonly string[], runId: string): Promise<void> => {
  if (ids.length === 0) return
  await tx.query(sql`
    with used as (
      insert into path_grant_use (grant_id, run_id)
      select value, ${runId} from jsonb_array_elements_text(${json(ids)}::jsonb)
      on conflict do nothing returning grant_id
    )
    update path_grant set last_used_at = unstuck_now() where revoked_at is null and id in (select grant_id from used)`)
}

/** The grants without which the work of a run would not be allowed. */
export const grantsOfRun = async (db: Queryable, { id }: { id: string }): Promise<Pick<PathGrant, 'path' | 'why'>[]> =>
  db.query<Pick<PathGrant, 'path' | 'why'>>(sql`select path, why from path_grant
    where run_id = ${id} or id in (select grant_id from path_grant_use where run_id = ${id}) order by path`)

const isUnused = `path_grant.last_used_at <= unstuck_now() - make_interval(days => $1::int)`

/** What ends a grant before it is revoked. The work of a superseded task goes on in another one, to which the grant still applies. */
const endOf = `case
  when path_grant.revoked_at is not null then 'revoked'
  when path_grant.scope = 'run' and run.state <> 'running' then 'its run has ended'
  when path_grant.scope = 'task' and task.state in ('done', 'cancelled') and task.superseded_by is null then 'its task has ended'
  when ${isUnused} then 'not used for ' || $1::int || ' days' end`

const listed = `select path_grant.*, ${endOf} as ended, path_grant.last_used_at + make_interval(days => $1::int) as ends_at,
  (select count(*)::int from path_grant_use where grant_id = path_grant.id) as uses
  from path_grant left join run on run.id = path_grant.run_id left join task on task.id = path_grant.task_id`

const listWhere = async (db: Queryable, where: string, values: unknown[]): Promise<ListedGrant[]> =>
  (await db.query<object>({ text: `select * from (${listed}) as grants where ${where}`, values })).map((row) =>
    fromRow<ListedGrant>(row),
  )

const mostListed = 1000

/** Newest first, at most 1,000; with `all` also those that have ended. */
export const listPathGrants = (db: Queryable, { days, all }: UnusedLimit & { all: boolean }): Promise<ListedGrant[]> =>
  listWhere(db, `($2 or ended is null) order by granted_at desc, id limit ${mostListed}`, [days, all])

export const getPathGrant = async (
  db: Queryable,
  id: string,
  { days }: UnusedLimit,
): Promise<ListedGrant | undefined> => (await listWhere(db, 'id = $2', [days, id]))[0]

/** Those that count and are for all areas, for one of the tasks, or for the run. The caller compares the areas. */
export const grantsInReach = (
  db: Queryable,
  { days, taskIds, runId }: UnusedLimit & { taskIds: readonly string[]; runId: string | null },
): Promise<ListedGrant[]> =>
  listWhere(
    db,
    `ended is null and (scope = 'area' or (scope = 'task' and task_id in (select jsonb_array_elements_text($2::jsonb)))
      or (scope = 'run' and run_id = $3)) order by granted_at, id`,
    [days, json(taskIds), runId],
  )

/** The grant that already says the same; undefined = there is none. */
export const sameLiveGrant = async (
  db: Queryable,
  { path, scope, areas, taskId, runId }: GrantTarget & { path: string },
  { days }: UnusedLimit,
): Promise<ListedGrant | undefined> =>
  (
    await listWhere(
      db,
      `ended is null and path = $2 and scope = $3 and case scope when 'area' then areas = $4::jsonb
        when 'task' then task_id = $5 else run_id = $6 end order by granted_at, id`,
      [days, path, scope, json(areas), taskId, runId],
    )
  )[0]

const recordRevoked = (tx: Queryable, { id, path, scope, areas, goalId, taskId, runId, revokedBy }: PathGrant) =>
  appendEvent(tx, {
    type: 'policy.revoked',
    ...{ goalId, taskId, runId },
    payload: { grant: id, path, scope, areas, to: grantedTo({ scope, areas, taskId, runId }), by: revokedBy },
  })

/** Undefined = it was revoked before. */
export const revokePathGrant = async (tx: Queryable, id: string, by: string): Promise<PathGrant | undefined> => {
  const row = await firstRow<object>(
    tx,
    sql`update path_grant set revoked_at = unstuck_now(), revoked_by = ${by} where id = ${id} and revoked_at is null returning *`,
  )
  if (row === undefined) return undefined
  const grant = read(row)
  await recordRevoked(tx, grant)
  return grant
}

/** Revokes what no run has used for so long, and returns it. */
export const expirePathGrants = async (tx: Queryable, { days }: UnusedLimit): Promise<PathGrant[]> => {
  const ended = (
    await tx.query<object>({
      text: `update path_grant set revoked_at = unstuck_now(), revoked_by = 'not used for ' || $1::int || ' days'
        where revoked_at is null and ${isUnused} returning *`,
      values: [days],
    })
  ).map(read)
  for (const grant of ended) await recordRevoked(tx, grant)
  return ended
}

/** Seconds until the first grant or learned path ends if nothing uses it; undefined = there is none. */
export const secondsToExpiry = async (db: Queryable, { days }: UnusedLimit): Promise<number | undefined> => {
  const row = await firstRow<{ seconds: number | null }>(
    db,
    sql`select extract(epoch from least((select min(last_used_at) from path_grant where revoked_at is null),
        (select min(last_seen_at) from learned_path where undone_at is null))
      + make_interval(days => ${days}::int) - unstuck_now())::float8 as seconds`,
  )
  return row?.seconds ?? undefined
}

/** A task, and the tasks whose work it continues. */
export const taskAndParents = async (db: Queryable, taskId: string): Promise<string[]> =>
  (
    await db.query<{ id: string }>(sql`
      with recursive line as (
        select id, rework ->> 'parent' as parent from task where id = ${taskId}
        union select task.id, task.rework ->> 'parent' from task join line on task.id = line.parent
      ) select id from line`)
  ).map(({ id }) => id)

/**
 * The paths granted to a task, or to a task that it continues; the task need not be stored yet. A grant that has not been used for long
 * counts here until it is revoked, so a task holds rather more than it may change.
 */
export const pathsGrantedTo = async (db: Queryable, { id, rework }: Pick<Task, 'id' | 'rework'>): Promise<string[]> => {
  const ids = [id, ...(rework === null ? [] : await taskAndParents(db, rework.parent))]
  return (
    await db.query<{
      path: string
    }>(sql`select distinct path from path_grant where scope = 'task' and revoked_at is null
      and task_id in (select jsonb_array_elements_text(${json(ids)}::jsonb)) order by path`)
  ).map(({ path }) => path)
}

/** A run that passed with paths that a rule or a model had granted. */
export interface GrantedRecovery {
  role: Role
  paths: string[]
  task: { title: string; instructions: string; commands: string[] }
  succeeded: boolean
  at: Date
}

/**
 * The newest 1,000 runs that used granted paths, with the task of each. What a person granted or revoked is no recovery, and a run
 * that did not succeed proves nothing.
 */
export const grantedRecoveries = (db: Queryable): Promise<GrantedRecovery[]> =>
  db.query<GrantedRecovery>(sql`
    select task.role, jsonb_agg(distinct path_grant.path order by path_grant.path) as paths,
      jsonb_build_object('title', task.title, 'instructions', task.instructions, 'commands', task.original_commands) as task,
      run.state = 'success' as succeeded, run.ended_at as at
    from path_grant_use as used join path_grant on path_grant.id = used.grant_id
      join run on run.id = used.run_id join task on task.id = run.task_id
    where path_grant.rule <> 'person' and path_grant.revoked_at is null and run.state = 'success'
    group by run.id, task.id order by run.ended_at desc limit 1000`)
