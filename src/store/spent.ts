/** What agents used, for work and for reviews of it: the one place that sums it. Reads only. */
import { addSpend, noSpend, type Spend } from '../domain/budget.ts'
import type { LaunchTokens } from '../domain/hour-tokens.ts'
import { firstRow, sql, type Queryable } from './db.ts'

export interface Spent {
  spent: Spend
  /** The part of it that reviewers of finished work used. */
  spentOnReviews: Spend
}

interface PurposeRow extends Spend {
  purpose: 'work' | 'review'
}

/** `since`: of the runs that ended and the reviewers that were asked from then on; absent = of all. */
export const spentSince = async (db: Queryable, since: Date | null = null): Promise<Spent> => {
  const rows = await db.query<PurposeRow & object>(sql`select purpose, sum((spend ->> 'tokens')::float8) as tokens,
      sum((spend ->> 'costUsd')::float8) as "costUsd", sum((spend ->> 'seconds')::float8) as seconds
    from spent_view where ${since}::timestamptz is null or at >= ${since}::timestamptz group by purpose`)
  const used = rows.map(({ purpose, tokens, costUsd, seconds }) => ({ purpose, spend: { tokens, costUsd, seconds } }))
  return {
    spent: used.reduce((sum, { spend }) => addSpend(sum, spend), noSpend),
    spentOnReviews: used.find(({ purpose }) => purpose === 'review')?.spend ?? noSpend,
  }
}

export interface HarnessSpend {
  harness: string
  purpose: string
  tokens: number
  usd: number
}

export const spentByHarness = (db: Queryable): Promise<HarnessSpend[]> =>
  db.query<HarnessSpend & object>(sql`select coalesce(harness, 'none') as harness, purpose,
      sum((spend ->> 'tokens')::float8) as tokens, sum((spend ->> 'costUsd')::float8) as usd
    from spent_view group by 1, 2 order by 1, 2`)

/** What was used on each harness, by when a run ended or a reviewer was asked. */
export interface RecentSpend {
  harness: string
  lastHour: Spend
  lastDay: Spend
}

interface SpendRow extends Spend {
  harness: string
  isOfHour: boolean
}

export const recentSpend = async (db: Queryable): Promise<RecentSpend[]> => {
  const rows = await db.query<SpendRow & object>(sql`select coalesce(harness, 'none') as harness,
      at > unstuck_now() - interval '1 hour' as "isOfHour", sum((spend ->> 'tokens')::float8) as tokens,
      sum((spend ->> 'costUsd')::float8) as "costUsd", sum((spend ->> 'seconds')::float8) as seconds
    from spent_view where at > unstuck_now() - interval '1 day' group by 1, 2 order by 1, 2`)
  return [...new Set(rows.map(({ harness }) => harness))].map((harness) => {
    const own = rows.filter((row) => row.harness === harness)
    const sum = (some: readonly SpendRow[]): Spend =>
      some.reduce<Spend>((all, { tokens, costUsd, seconds }) => addSpend(all, { tokens, costUsd, seconds }), noSpend)
    return { harness, lastHour: sum(own.filter(({ isOfHour }) => isOfHour)), lastDay: sum(own) }
  })
}

/**
 * The tokens of every launch that ended within the last hour by the store's clock, and of every review. A launch stores when it started
 * and how long it took, a review only when its reviewer was last asked.
 */
export const tokensOfLastHour = async (db: Queryable): Promise<LaunchTokens[]> =>
  db.query<LaunchTokens & object>(sql`
    select tokens, ended_at + interval '1 hour' as until from (
      select (launch -> 'spend' ->> 'tokens')::float8 as tokens,
        least((launch ->> 'startedAt')::timestamptz + make_interval(secs => (launch -> 'spend' ->> 'seconds')::float8),
          run.ended_at, unstuck_now()) as ended_at
      from run cross join jsonb_array_elements(run.launches) as launch
      where (run.ended_at is null or run.ended_at > unstuck_now() - interval '1 hour')
        and (launch -> 'spend' ->> 'tokens')::float8 > 0
      union all
      select (spend ->> 'tokens')::float8, spent_at from judgement
      where spent_at > unstuck_now() - interval '1 hour' and (spend ->> 'tokens')::float8 > 0
    ) as spent where ended_at > unstuck_now() - interval '1 hour' order by ended_at`)

/** What finished tasks used, each with all its runs: how many there are, and what nine of ten stayed below. */
export interface EarlierTasks {
  tasks: number
  tokens: number
  costUsd: number
  seconds: number
}

export const spentOnTasks = async (db: Queryable): Promise<EarlierTasks> => {
  const row = await firstRow<EarlierTasks & object>(
    db,
    sql`select count(*)::int as tasks, coalesce(percentile_cont(0.9) within group (order by tokens), 0) as tokens,
      coalesce(percentile_cont(0.9) within group (order by cost), 0) as "costUsd",
      coalesce(percentile_cont(0.9) within group (order by seconds), 0) as seconds
    from (select sum((run.spend ->> 'tokens')::float8) as tokens, sum((run.spend ->> 'costUsd')::float8) as cost,
        sum((run.spend ->> 'seconds')::float8) as seconds
      from run join task on task.id = run.task_id where task.state = 'done' and task.plan is null group by task.id) as each`,
  )
  return row ?? { tasks: 0, tokens: 0, costUsd: 0, seconds: 0 }
}
