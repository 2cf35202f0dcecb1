/**
 * All statements on accounts that are at their limit. Limits expire by the store's clock, which is the same for every
 * engine.
 */
import type { AccountLimit } from '../domain/account.ts'
import { fromRow, json, firstRow, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/**
 * Stores a limit. If one is stored already, the later time wins: of several refusals the latest reset time is the
 * safest.
 */
export const limitAccount = async (
  tx: Queryable,
  limit: Omit<AccountLimit, 'openedAt'>,
  goalId: string,
): Promise<void> => {
  const { account, harnesses, evidence, taskId, runId } = limit
  const row = await firstRow<{ until: Date }>(
    tx,
    sql`insert into account_limit (account, harnesses, evidence, until, task_id, run_id)
    values (${account}, ${json(harnesses)}::jsonb, ${evidence}, ${limit.until}, ${taskId}, ${runId})
    on conflict (account) do update set until = greatest(account_limit.until, excluded.until), harnesses = excluded.harnesses,
      evidence = excluded.evidence, task_id = excluded.task_id, run_id = excluded.run_id, opened_at = unstuck_now()
    returning until`,
  )
  const until = (row?.until ?? limit.until).toISOString()
  await appendEvent(tx, {
    type: 'account.limited',
    goalId,
    taskId,
    runId,
    payload: { account, harnesses, evidence, until },
  })
}

/** Limits that are in force: nothing may be launched on these accounts now. */
export const limitedAccounts = async (db: Queryable): Promise<AccountLimit[]> =>
  (await db.query<object>(sql`select * from account_limit where until > unstuck_now() order by until, account`)).map(
    (row) => fromRow<AccountLimit>(row),
  )

const recordAvailable = async (tx: Queryable, rows: object[], reason: string): Promise<void> => {
  for (const { account, harnesses } of rows.map((row) => fromRow<AccountLimit>(row)))
    await appendEvent(tx, { type: 'account.available', payload: { account, harnesses, reason } })
}

/** The condition of a limit that has reset. */
export const endedLimit = 'until <= unstuck_now()'

/** Deletes limits that have reset. */
export const dropEndedLimits = async (tx: Queryable): Promise<void> =>
  recordAvailable(
    tx,
    await tx.query<object>({ text: `delete from account_limit where ${endedLimit} returning *`, values: [] }),
    'the limit has reset',
  )

/** A person retried a task: deletes the limits of the accounts behind its harness, so that it is launched at once. */
export const liftLimits = async (tx: Queryable, harness: string): Promise<void> =>
  recordAvailable(
    tx,
    await tx.query<object>(sql`delete from account_limit where harnesses ? ${harness} returning *`),
    'a person retried a task on it',
  )
