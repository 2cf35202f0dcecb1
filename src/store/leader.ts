/**
 * The leader: the engine that judges, merges, reaps and runs the periodic jobs. A session lock decides who may become
 * leader (postgres-session.ts); the term stored here decides who is. Each write of a leader checks the term in its own
 * transaction, so an engine that was replaced while it was suspended cannot write any more.
 */
import { firstRow, sql, StaleError, type Db, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

export interface Leader {
  engineId: string | null
  term: number
}

export const currentLeader = async (db: Queryable): Promise<Leader> => {
  const row = await firstRow<{ engine_id: string | null; term: number }>(db, sql`select engine_id, term from leader`)
  return { engineId: row?.engine_id ?? null, term: row?.term ?? 0 }
}

/** Begins a term and returns its number. Waits for writes of the previous term that are in progress. */
export const becomeLeader = async (db: Db, engineId: string): Promise<number> =>
  db.transaction(async (tx) => {
    const before = await currentLeader(tx)
    const row = await firstRow<{ term: number }>(
      tx,
      sql`update leader set engine_id = ${engineId}, term = term + 1, since = unstuck_now() returning term`,
    )
    if (row === undefined) throw new Error('the store has no row for its leader')
    if (before.engineId !== engineId)
      await appendEvent(tx, {
        type: 'leader.changed',
        payload: { engine: engineId, before: before.engineId, term: row.term },
      })
    return row.term
  })

/** Rows of `pg_locks l`: who has the lock of the lead. */
const holdsLead = `l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended('unstuck leader ' || current_schema(), 0)
  and l.database = (select oid from pg_database where datname = current_database())`

/** A database session. Its start tells it from a later one of the same process number. */
export interface SessionOfServer {
  pid: number
  since: string
  name: string
}

/**
 * The session that has the lock of the lead although the current term is not its engine's: one that has just got it, an engine that hangs
 * before its term, or a program that is no engine. While it has the lock, nobody leads.
 */
export const findHolderWithoutTerm = (db: Queryable): Promise<SessionOfServer | undefined> =>
  firstRow<SessionOfServer>(db, {
    text: `select a.pid, a.backend_start::text as since, a.application_name as name
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where ${holdsLead} and not exists (select 1 from leader join engine on engine.id = leader.engine_id where engine.session = a.application_name)`,
    values: [],
  })

/** Ends the session, if it is still the same, and records it. */
export const endHolder = async (db: Db, { pid, since, name }: SessionOfServer, seconds: number): Promise<void> =>
  db.transaction(async (tx) => {
    const ended = await firstRow(
      tx,
      sql`select pg_terminate_backend(pid) from pg_stat_activity where pid = ${pid} and backend_start::text = ${since}`,
    )
    if (ended !== undefined)
      await appendEvent(tx, { type: 'leader.session_ended', payload: { session: name, seconds } })
  })

/**
 * Ends the database session of a leader that does not respond, on two signals: its heartbeat is overdue, and its
 * session, which queries every second, was idle. A stopped process keeps its connection, and with it the leadership,
 * for ever.
 */
export const endSilentLeaderSession = async (
  db: Queryable,
): Promise<{ engineId: string; silent: number } | undefined> => {
  const row = await firstRow<{ engine_id: string; silent: number }>(db, {
    text: `select engine.id as engine_id, extract(epoch from unstuck_now() - engine.heartbeat_at)::float8 as silent, pg_terminate_backend(a.pid)
      from leader join engine on engine.id = leader.engine_id, pg_locks l join pg_stat_activity a on a.pid = l.pid
      where ${holdsLead}
        and a.state_change < clock_timestamp() - make_interval(secs => engine.ttl_seconds)
        and engine.heartbeat_at < unstuck_now() - make_interval(secs => engine.ttl_seconds)`,
    values: [],
  })
  return row === undefined ? undefined : { engineId: row.engine_id, silent: row.silent }
}

/** Another engine is the leader: everything this one did as leader is outdated, not only its view of one row. */
export class LeadershipLostError extends StaleError {}

const checkTerm = async (tx: Queryable, term: number): Promise<void> => {
  const row = await firstRow(tx, sql`select 1 from leader where term = ${term} for share`)
  if (row === undefined)
    throw new LeadershipLostError('another engine is the leader now; this one stops its leader jobs')
}

/** Called before an effect outside the store: throws `LeadershipLostError` if another engine is the leader. */
export const confirmLeadership = (db: Db): Promise<void> => db.transaction(async () => undefined)

/** The same store for the jobs of one term: every write fails once the term is over. */
export const fencedByTerm = (db: Db, term: number): Db => ({
  ...db,
  query: (statement) =>
    /\b(?:insert\s+into|update|delete\s+from)\b/i.test(statement.text)
      ? db.transaction(async (tx) => {
          await checkTerm(tx, term)
          return tx.query(statement)
        })
      : db.query(statement),
  transaction: (work) =>
    db.transaction(async (tx) => {
      await checkTerm(tx, term)
      return work(tx)
    }),
})
