/**
 * Numbered forward migrations. Each runs in one transaction that first inserts its own number, so that of several
 * engines that start at once only one does the work and the others collide on the key.
 */
import { AppError } from '../errors.ts'
import { firstRow, sql, type Db } from './db.ts'
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
import { migration as takenOver } from './migrations/0014-taken-over.ts'
import { migration as policy } from './migrations/0015-policy.ts'
import { migration as proposals } from './migrations/0016-proposals.ts'
import { migration as notification } from './migrations/0017-notification.ts'
import { migration as goalExport } from './migrations/0018-goal-export.ts'
import { migration as agentQuestion } from './migrations/0019-agent-question.ts'
import { migration as config } from './migrations/0020-config.ts'
import { migration as loop } from './migrations/0021-loop.ts'
import { migration as judgement } from './migrations/0022-judgement.ts'
import { migration as targetCheck } from './migrations/0023-target-check.ts'
import { migration as review } from './migrations/0024-review.ts'
import { migration as jobs } from './migrations/0025-jobs.ts'
import { migration as recent } from './migrations/0026-recent.ts'
import { migration as due } from './migrations/0027-due.ts'
import { migration as spent } from './migrations/0028-spent.ts'
import { migration as plan } from './migrations/0029-plan.ts'
import { migration as proposalNotes } from './migrations/0030-proposal-notes.ts'
import { migration as forge } from './migrations/0031-forge.ts'
import { migration as branchPrefix } from './migrations/0032-branch-prefix.ts'
import { migration as checkoutQuestion } from './migrations/0033-checkout-question.ts'
import { migration as replan } from './migrations/0034-replan.ts'
import { migration as forgeFeedback } from './migrations/0035-forge-feedback.ts'
import { migration as issueComment } from './migrations/0036-issue-comment.ts'
import { migration as goalLeftover } from './migrations/0037-goal-leftover.ts'
import { migration as playbooks } from './migrations/0038-playbooks.ts'
import { migration as issueId } from './migrations/0039-issue-id.ts'
import { migration as issueChange } from './migrations/0040-issue-change.ts'
import { migration as unsignedCommits } from './migrations/0041-unsigned-commits.ts'
import { migration as schedules } from './migrations/0042-schedules.ts'
import { migration as planReview } from './migrations/0043-plan-review.ts'
import { migration as message } from './migrations/0044-message.ts'
import { migration as triggers } from './migrations/0045-triggers.ts'
import { migration as traces } from './migrations/0046-traces.ts'

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
  takenOver,
  policy,
  proposals,
  notification,
  goalExport,
  agentQuestion,
  config,
  loop,
  judgement,
  targetCheck,
  review,
  jobs,
  recent,
  due,
  spent,
  plan,
  proposalNotes,
  forge,
  branchPrefix,
  checkoutQuestion,
  replan,
  forgeFeedback,
  issueComment,
  goalLeftover,
  playbooks,
  issueId,
  issueChange,
  unsignedCommits,
  schedules,
  planReview,
  message,
  triggers,
  traces,
]

const uniqueViolation = '23505'

const present = async (db: Db): Promise<number> =>
  (await firstRow<{ last: number }>(db, sql`select coalesce(max(number), 0)::int as last from migration`))?.last ?? 0

const checkNotNewer = (have: number): void => {
  if (have > migrations.length) {
    throw new AppError(
      'STORE_VERSION',
      `the store has schema ${have}, but this version of unstuck knows only ${migrations.length}; install the newer version again`,
    )
  }
}

/** Whether there is a store in this schema. */
export const hasStore = async (db: Db): Promise<boolean> =>
  (await firstRow<{ found: boolean }>(db, sql`select to_regclass('migration') is not null as found`))?.found === true

/** For a reader, which changes nothing: refuses a store of another version and says how to update it. */
export const checkSchema = async (db: Db): Promise<void> => {
  const have = (await hasStore(db)) ? await present(db) : 0
  checkNotNewer(have)
  if (have === 0) throw new AppError('NOT_FOUND', 'the store is empty; start with: unstuck run "<what you want done>"')
  if (have < migrations.length)
    throw new AppError(
      'STORE_VERSION',
      `the store was written by an older version (schema ${have}, this version needs ${migrations.length}); "unstuck up" updates it`,
    )
}

const apply = async (db: Db, number: number, text: string): Promise<void> => {
  try {
    await db.script(`begin; insert into migration (number) values (${number}); ${text} commit;`)
  } catch (error) {
    if ((error as { code?: string }).code !== uniqueViolation) throw error
  }
}

/** Updates the schema to this version; refuses a store that a newer version wrote. */
export const migrate = async (db: Db): Promise<void> => {
  // "if not exists" checks and creates in two steps: without the lock, engines that start on an empty store at the
  // same time would collide.
  await db.script(`begin;
    select pg_advisory_xact_lock(hashtextextended('unstuck migration ' || current_schema(), 0));
    create table if not exists migration (number integer primary key, applied_at timestamptz not null default now());
    commit;`)
  const have = await present(db)
  checkNotNewer(have)
  for (let number = have + 1; number <= migrations.length; number += 1) {
    await apply(db, number, migrations[number - 1] ?? '')
  }
}
