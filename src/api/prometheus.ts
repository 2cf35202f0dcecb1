/** `GET /metrics` for Prometheus: the numbers of the store in the text format. Nothing is counted here, so a restart loses no count. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import {
  answerBuckets,
  proposalNumbers,
  questionNumbers,
  recoveryBuckets,
  recoveryNumbers,
  workNumbers,
  type BucketSample,
  type Sample,
} from '../store/metrics.ts'
import type { Queryable } from '../store/db.ts'
import { proposalSummary } from './proposal-summary.ts'

interface Shape {
  name: string
  help: string
  labelNames: string[]
}

const counter = (registry: Registry, shape: Shape, samples: readonly Sample[]): void => {
  const metric = new Counter({ ...shape, registers: [registry] })
  for (const { labels, value } of samples) metric.inc(labels, value)
}

const gauge = (registry: Registry, shape: Shape, samples: readonly Sample[]): void => {
  const metric = new Gauge({ ...shape, registers: [registry] })
  for (const { labels, value } of samples) metric.set(labels, value)
}

const seriesOf = (name: string, bounds: readonly number[], { labels, counts, sum }: BucketSample) => {
  let below = 0
  const buckets = counts.map((n, index) => {
    below += n
    return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf', ...labels }, value: below }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: below },
  ]
}

/** The client can only observe value by value, and the store already has whole buckets. So its histogram reads them from there. */
const histogram = (
  registry: Registry,
  shape: Shape,
  { bounds, samples }: { bounds: readonly number[]; samples: readonly BucketSample[] },
): void => {
  const metric = new Histogram({ ...shape, buckets: [...bounds], registers: [registry] })
  const values = samples.flatMap((sample) => seriesOf(shape.name, bounds, sample))
  const read = async () => ({ name: shape.name, help: shape.help, type: 'histogram', values, aggregator: 'sum' })
  Object.assign(metric, { get: read, getForPromString: read })
}

const shaped = (name: string, help: string, ...labelNames: string[]): Shape => ({
  ...{ name: `unstuck_${name}`, help, labelNames },
})

const addRecoveries = async (registry: Registry, db: Queryable): Promise<void> => {
  const { attempts, outcomes, seconds, wastedTokens, wastedUsd } = await recoveryNumbers(db)
  const per = (name: string, help: string, ...more: string[]) => shaped(name, help, 'class', 'family', ...more)
  counter(registry, per('recovery_attempts_total', 'Recoveries that were begun.'), attempts)
  counter(
    registry,
    per('recovery_outcomes_total', 'Recoveries whose effect was observed (success) or not (failed).', 'outcome'),
    outcomes,
  )
  histogram(registry, per('recovery_seconds', 'Time from the start of a recovery until its effect was observed.'), {
    ...{ bounds: recoveryBuckets, samples: seconds },
  })
  const wasted = 'by runs that ended without success, by the last recovery that they tried.'
  counter(registry, per('wasted_tokens_total', `Tokens spent ${wasted}`), wastedTokens)
  counter(registry, per('wasted_cost_usd_total', `US dollars spent ${wasted}`), wastedUsd)
}

const addQuestions = async (registry: Registry, db: Queryable): Promise<void> => {
  const { asked, pending, seconds } = await questionNumbers(db)
  counter(registry, shaped('escalations_total', 'Questions to a person.', 'kind'), asked)
  gauge(registry, shaped('escalations_pending', 'Questions without an answer.', 'kind'), pending)
  histogram(registry, shaped('escalation_resolution_seconds', 'Time from a question to its answer.', 'kind'), {
    ...{ bounds: answerBuckets, samples: seconds },
  })
}

const addProposals = async (registry: Registry, db: Queryable): Promise<void> => {
  const { proposals, commands } = await proposalNumbers(db)
  counter(registry, shaped('recovery_proposals_total', 'Recoveries that agents proposed.', 'category'), proposals)
  gauge(
    registry,
    shaped('recovery_commands', 'Commands of proposals, by who approved them.', 'approval', 'outcome'),
    commands,
  )
  const { autoSuccessRate } = proposalSummary({ proposals, commands })
  const share = shaped('auto_recovery_success_ratio', 'Share of the commands without a person that had an effect.')
  if (autoSuccessRate !== null) gauge(registry, share, plain(autoSuccessRate))
}

const plain = (value: number): Sample[] => [{ labels: {}, value }]

const addWork = async (registry: Registry, db: Queryable): Promise<void> => {
  const { queue, finished, ...work } = await workNumbers(db)
  gauge(registry, shaped('goals', 'Goals by state.', 'state'), work.goals)
  gauge(registry, shaped('tasks', 'Tasks by state and reason.', 'state'), work.tasks)
  gauge(registry, shaped('agents', 'Agents by state.', 'state'), work.agents)
  gauge(registry, shaped('merge_entries', 'Entries of the merge queue by state.', 'state'), work.merges)
  gauge(registry, shaped('leases', 'Leases by lane, live or expired.', 'lane', 'state'), work.leases)
  gauge(registry, shaped('queue_ready_tasks', 'Queued tasks that may start.'), plain(queue.ready))
  gauge(registry, shaped('queue_oldest_seconds', 'Time for which the first of them waits.'), plain(queue.oldestSeconds))
  gauge(registry, shaped('runs', 'Runs by state.', 'state'), work.runs)
  counter(
    registry,
    shaped(
      'tokens_total',
      'Tokens of runs (work) and of reviewers (review), without cached input.',
      'harness',
      'purpose',
    ),
    work.tokens,
  )
  counter(
    registry,
    shaped('cost_usd_total', 'Cost of runs (work) and of reviewers (review) in US dollars.', 'harness', 'purpose'),
    work.usd,
  )
  // Without a finished task there is no share, and a gauge of 0 would say that a person was asked about all.
  const share = shaped('autonomy_ratio', 'Share of the finished tasks about which no person was asked.')
  if (finished.all > 0) gauge(registry, share, plain((finished.all - finished.asked) / finished.all))
}

export const prometheusText = async (db: Queryable): Promise<{ type: string; text: string }> => {
  const registry = new Registry()
  await addWork(registry, db)
  await addRecoveries(registry, db)
  await addProposals(registry, db)
  await addQuestions(registry, db)
  return { type: registry.contentType, text: await registry.metrics() }
}
