/** All statements on accounts that are at their limit. A limit counts by the store's clock, whoever looks. */
import type { AccountLimit } from '../domain/account.ts'
import { fromRow, json, one, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/** The later of two times stands: of several refusals the one that reaches furthest knows most. */
export const limitAccount = async (
  tx: Queryable,
  limit: Omit<AccountLimit, 'openedAt'>,
  goalId: string,
): Promise<void> => {
  const { account, harnesses, evidence, taskId, runId } = limit
  const row = await one<{ until: Date }>(
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

/** Accounts on which nothing may be launched now. */
export const limitedAccounts = async (db: Queryable): Promise<AccountLimit[]> =>
  (await db.query<object>(sql`select * from account_limit where until > unstuck_now() order by until, account`)).map(
    (row) => fromRow<AccountLimit>(row),
  )

const tellFree = async (tx: Queryable, rows: object[], reason: string): Promise<void> => {
  for (const { account, harnesses } of rows.map((row) => fromRow<AccountLimit>(row)))
    await appendEvent(tx, { type: 'account.available', payload: { account, harnesses, reason } })
}

/** Forgets the limits whose time has come. */
export const dropEndedLimits = async (tx: Queryable): Promise<void> =>
  tellFree(
    tx,
    await tx.query<object>(sql`delete from account_limit where until <= unstuck_now() returning *`),
    'the limit has reset',
  )

/** A person wants it tried again: the limits of the accounts behind a harness are forgotten. */
export const liftLimits = async (tx: Queryable, harness: string): Promise<void> =>
  tellFree(
    tx,
    await tx.query<object>(sql`delete from account_limit where harnesses ? ${harness} returning *`),
    'a person had a task of it tried again',
  )
