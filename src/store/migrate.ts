/**
 * Numbered forward migrations. Each runs in one transaction whose first act is to insert its own number, so that racing
 * starters collide on the key and only one of them does the work.
 */
import { AppError } from '../errors.ts'
import { one, sql, type Db } from './db.ts'
import { migration as first } from './migrations/0001-first.ts'
import { migration as engines } from './migrations/0002-engines.ts'
import { migration as remote } from './migrations/0003-remote.ts'
import { migration as quotaWait } from './migrations/0004-quota-wait.ts'
import { migration as accountLimit } from './migrations/0005-account-limit.ts'
import { migration as agentView } from './migrations/0006-agent-view.ts'
import { migration as landing } from './migrations/0007-landing.ts'
import { migration as edits } from './migrations/0008-edits.ts'
import { migration as commitIntent } from './migrations/0010-commit-intent.ts'
import { migration as count } from './migrations/0011-count.ts'
import { migration as stalled } from './migrations/0012-stalled.ts'
import { migration as questions } from './migrations/0013-questions.ts'

export const migrations: readonly string[] = [
  first,
  engines,
  remote,
  quotaWait,
  accountLimit,
  agentView,
  landing,
  edits,
  commitIntent,
  count,
  stalled,
  questions,
]

const uniqueViolation = '23505'

const present = async (db: Db): Promise<number> =>
  (await one<{ last: number }>(db, sql`select coalesce(max(number), 0)::int as last from migration`))?.last ?? 0

const apply = async (db: Db, number: number, text: string): Promise<void> => {
  try {
    await db.script(`begin; insert into migration (number) values (${number}); ${text} commit;`)
  } catch (error) {
    if ((error as { code?: string }).code !== uniqueViolation) throw error
  }
}

/** Brings the schema up to this version; refuses a store that a newer one wrote. */
export const migrate = async (db: Db): Promise<void> => {
  // "if not exists" looks and creates in two steps: without the lock, racing starters of an empty store would collide.
  await db.script(`begin;
    select pg_advisory_xact_lock(hashtextextended('unstuck migration ' || current_schema(), 0));
    create table if not exists migration (number integer primary key, applied_at timestamptz not null default now());
    commit;`)
  const have = await present(db)
  if (have > migrations.length) {
    throw new AppError(
      'STORE_VERSION',
      `the store is at schema ${have}, this version knows ${migrations.length}; install the newer unstuck again`,
    )
  }
  for (let number = have + 1; number <= migrations.length; number += 1) {
    await apply(db, number, migrations[number - 1] ?? '')
  }
}
