/**
 * When the periodic jobs of the leader are due. Stored, so that a restart or another leader neither repeats nor forgets one. Only the
 * leader writes here: its writes are fenced by its term.
 */
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'

export interface Job {
  name: string
  dueAt: Date
  /** When it ran last; null = never. */
  lastAt: Date | null
  /** The engine that ran it last. */
  engineId: string | null
}

/** Adds jobs that the store does not know; they are due at once. */
export const addJobs = async (db: Queryable, names: readonly string[]): Promise<void> => {
  await db.query(sql`insert into job (name, due_at) select name, unstuck_now() from jsonb_array_elements_text(${json(names)}::jsonb) as name
    on conflict do nothing`)
}

export const dueJobs = async (db: Queryable): Promise<string[]> =>
  (await db.query<{ name: string }>(sql`select name from job where due_at <= unstuck_now() order by due_at, name`)).map(
    ({ name }) => name,
  )

/** By the clock of the store; negative = one is due. Undefined = there is no job. */
export const secondsToNextJob = async (db: Queryable): Promise<number | undefined> =>
  (
    await firstRow<{ seconds: number | null }>(
      db,
      sql`select extract(epoch from min(due_at) - unstuck_now())::float8 as seconds from job`,
    )
  )?.seconds ?? undefined

/** The job ran, or could not, and is due again after so many seconds. */
export const recordJob = async (
  db: Queryable,
  name: string,
  { engineId, seconds }: { engineId: string; seconds: number },
): Promise<void> => {
  await db.query(sql`update job set last_at = unstuck_now(), engine_id = ${engineId},
    due_at = unstuck_now() + make_interval(secs => ${seconds}::float8) where name = ${name}`)
}

export const listJobs = async (db: Queryable): Promise<Job[]> =>
  (await db.query<object>(sql`select * from job order by name`)).map((row) => fromRow<Job>(row))
