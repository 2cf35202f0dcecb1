/**
 * The numbers for Prometheus, one grouped statement each. Every label comes from a closed list, from the owner's configuration or from
 * `asClass`, so no text of an agent becomes a label. Reads only.
 */
import { families } from '../domain/family.ts'
import { firstRow, json, sql, type Queryable, type Sql } from './db.ts'
import { spentByHarness } from './spent.ts'

/** One time series: its labels and its value. */
export interface Sample {
  labels: Record<string, string>
  value: number
}

/** One time series of a histogram. `counts` has one number per bucket, not cumulated, and one for all above the last. */
export interface BucketSample {
  labels: Record<string, string>
  counts: number[]
  sum: number
}

/** Upper bounds in seconds of the time a recovery takes. */
export const recoveryBuckets = [1, 5, 15, 60, 300, 900, 3600, 14_400] as const

/** Upper bounds in seconds of the time until a person's answer. */
export const answerBuckets = [60, 300, 900, 3600, 14_400, 43_200, 86_400] as const

type Row = Record<string, string | number>

const samplesOf = (rows: readonly Row[], value: string): Sample[] =>
  rows.map((row) => ({
    labels: Object.fromEntries(
      Object.entries(row).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])),
    ),
    value: Number(row[value]),
  }))

/** Rows of one label set and one bucket each, put together. */
const bucketsOf = (rows: readonly Row[], size: number): BucketSample[] => {
  const all = new Map<string, BucketSample>()
  for (const { bucket, n, sum, ...rest } of rows) {
    const labels = rest as Record<string, string>
    const key = JSON.stringify(labels)
    const entry = all.get(key) ?? { labels, counts: Array.from({ length: size + 1 }, () => 0), sum: 0 }
    entry.counts[Number(bucket)] = (entry.counts[Number(bucket)] ?? 0) + Number(n)
    entry.sum += Number(sum)
    all.set(key, entry)
  }
  return [...all.values()]
}

/** A class is one of our own labels; what an older or newer version stored in another form is `other`. */
const asClass = (name: string): string => (/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name) ? name : 'other')

/** With the family instead of the rung. */
const withFamily = (rows: readonly Row[]): Row[] =>
  rows.map(({ class: name = '', rung = '', ...rest }) => ({
    ...{ class: asClass(String(name)), family: families[Number(rung)] ?? 'none' },
    ...rest,
  }))

export interface RecoveryNumbers {
  attempts: Sample[]
  /** `outcome` is `success` or `failed`. */
  outcomes: Sample[]
  seconds: BucketSample[]
  wastedTokens: Sample[]
  wastedUsd: Sample[]
}

/** Per class and family. Spent without effect is what runs cost that ended without success, by the last recovery that they tried. */
export const recoveryNumbers = async (db: Queryable): Promise<RecoveryNumbers> => {
  const attempts = await db.query<Row>(
    sql`select label as class, rung::text as rung, count(*)::float8 as n from recovery group by 1, 2 order by 1, 2`,
  )
  const outcomes = await db.query<Row>(sql`
    select label as class, rung::text as rung, status as outcome, count(*)::float8 as n from recovery
    where status <> 'acting' group by 1, 2, 3 order by 1, 2, 3`)
  const seconds = await db.query<Row>(sql`
    select class, rung, bucket, count(*)::float8 as n, sum(seconds)::float8 as sum from (
      select label as class, rung::text as rung, seconds,
        (select count(*)::int from jsonb_array_elements_text(${json(recoveryBuckets)}::jsonb) as bound where seconds > bound::float8) as bucket
      from recovery cross join lateral (select extract(epoch from decided_at - started_at)::float8 as seconds) as took
      where status = 'success'
    ) as placed group by 1, 2, 3 order by 1, 2, 3`)
  const wasted = await db.query<Row>(sql`
    select coalesce(last.label, run.error_meta ->> 'failureCode', 'unknown') as class, coalesce(last.rung::text, 'none') as rung,
      sum((run.spend ->> 'tokens')::float8) as tokens, sum((run.spend ->> 'costUsd')::float8) as usd
    from run left join (select distinct on (run_id) run_id, label, rung from recovery order by run_id, started_at desc, id desc) as last
      on last.run_id = run.id
    where run.state in ('failed', 'cancelled') group by 1, 2 order by 1, 2`)
  return {
    attempts: samplesOf(withFamily(attempts), 'n'),
    outcomes: samplesOf(withFamily(outcomes), 'n'),
    seconds: bucketsOf(withFamily(seconds), recoveryBuckets.length),
    wastedTokens: samplesOf(withFamily(wasted), 'tokens'),
    wastedUsd: samplesOf(withFamily(wasted), 'usd'),
  }
}

/** By `kind`. */
export interface QuestionNumbers {
  asked: Sample[]
  pending: Sample[]
  /** From the question to its answer. */
  seconds: BucketSample[]
}

export const questionNumbers = async (db: Queryable): Promise<QuestionNumbers> => {
  const asked = await db.query<Row>(
    sql`select kind, count(*)::float8 as n, count(*) filter (where state = 'pending')::float8 as pending from escalation group by 1 order by 1`,
  )
  const seconds = await db.query<Row>(sql`
    select kind, bucket, count(*)::float8 as n, sum(seconds)::float8 as sum from (
      select kind, seconds,
        (select count(*)::int from jsonb_array_elements_text(${json(answerBuckets)}::jsonb) as bound where seconds > bound::float8) as bucket
      from escalation cross join lateral (select extract(epoch from decided_at - created_at)::float8 as seconds) as took
      where state in ('approved', 'rejected', 'resolved')
    ) as placed group by 1, 2 order by 1, 2`)
  return {
    asked: samplesOf(asked, 'n'),
    pending: samplesOf(asked, 'pending'),
    seconds: bucketsOf(seconds, answerBuckets.length),
  }
}

export interface WorkNumbers {
  goals: Sample[]
  /** By `state` with its reason. */
  tasks: Sample[]
  runs: Sample[]
  agents: Sample[]
  merges: Sample[]
  /** Live and expired, by `lane`. */
  leases: Sample[]
  /** By `harness`, and by `purpose`: `work` or `review`. */
  tokens: Sample[]
  usd: Sample[]
  /** Tasks that may start, and the seconds for which the first of them has waited. */
  queue: { ready: number; oldestSeconds: number }
  /** Finished tasks, and those of them about which a person was asked. */
  finished: { all: number; asked: number }
}

const one = async (db: Queryable, statement: Sql): Promise<Row> => (await firstRow<Row>(db, statement)) ?? {}

export const workNumbers = async (db: Queryable): Promise<WorkNumbers> => {
  const states = await db.query<Row>(sql`
    select 'goals' as what, state, count(*)::float8 as n from goal group by 2
    union all select 'tasks', case when block_reason is null then state else state || '(' || block_reason || ')' end, count(*) from task group by 2
    union all select 'runs', state, count(*) from run group by 2
    union all select 'agents', state, count(*) from agent_view group by 2
    union all select 'merges', state, count(*) from merge_entry group by 2 order by 1, 2`)
  const inState = (what: string): Sample[] =>
    samplesOf(
      states.filter((row) => row['what'] === what).map(({ what: _what, ...row }) => row),
      'n',
    )
  const leases = await db.query<Row>(sql`
    select lane, case when expires_at < unstuck_now() then 'expired' else 'live' end as state, count(*)::float8 as n
    from lease group by 1, 2 order by 1, 2`)
  const spent = (await spentByHarness(db)).map((row): Row => ({ ...row }))
  const queue = await one(
    db,
    sql`select count(*)::float8 as n, coalesce(extract(epoch from unstuck_now() - min(changed_at)), 0)::float8 as oldest
    from task where state = 'queued' and ready`,
  )
  const finished = await one(
    db,
    sql`select count(*)::float8 as n, count(*) filter (where exists (select 1 from escalation where escalation.task_id = task.id))::float8 as asked
    from task where state = 'done'`,
  )
  return {
    ...{ goals: inState('goals'), tasks: inState('tasks'), runs: inState('runs'), agents: inState('agents') },
    ...{ merges: inState('merges'), leases: samplesOf(leases, 'n') },
    ...{ tokens: samplesOf(spent, 'tokens'), usd: samplesOf(spent, 'usd') },
    queue: { ready: Number(queue['n'] ?? 0), oldestSeconds: Number(queue['oldest'] ?? 0) },
    finished: { all: Number(finished['n'] ?? 0), asked: Number(finished['asked'] ?? 0) },
  }
}

export interface ProposalNumbers {
  /** By `category`. */
  proposals: Sample[]
  /** By `approval` (`auto`, `on_unknown`, `human`) and `outcome`. */
  commands: Sample[]
  /** Goals with a proposal. */
  goals: number
}

/** `no_effect`: the command exited with 0, and the failing check failed again. `running` includes an effect that was not observed yet. */
export const proposalNumbers = async (db: Queryable): Promise<ProposalNumbers> => {
  const proposals = await db.query<Row>(sql`
    select coalesce(body ->> 'category', 'invalid') as category, count(*)::float8 as n from recovery_proposal group by 1 order by 1`)
  const commands = await db.query<Row>(sql`
    select case when approved_by in ('auto', 'on_unknown') then approved_by else 'human' end as approval,
      case when state = 'succeeded' and effect then 'success' when state = 'succeeded' and not effect then 'no_effect'
        when state in ('failed', 'unknown') then state else 'running' end as outcome,
      count(*)::float8 as n
    from recovery_execution where not repetition group by 1, 2 order by 1, 2`)
  const goals = await one(db, sql`select count(distinct goal_id)::float8 as n from recovery_proposal`)
  return {
    ...{ proposals: samplesOf(proposals, 'n'), commands: samplesOf(commands, 'n') },
    goals: Number(goals['n'] ?? 0),
  }
}
