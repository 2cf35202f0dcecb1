/** The text of Prometheus from a real store: every number, the format, and that no text of an agent becomes a label. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recoverySummary } from '../../src/api/proposal-summary.ts'
import { prometheusText } from '../../src/api/prometheus.ts'
import { mustSucceed, sql, type Db } from '../../src/store/db.ts'
import { answerEscalation, getEscalation, openEscalation } from '../../src/store/escalation.ts'
import { enqueueMerge } from '../../src/store/merge.ts'
import { insertRecovery, resolveRecovery } from '../../src/store/recovery.ts'
import { finishExecution, insertExecution, insertProposal, settleExecution } from '../../src/store/recovery-proposal.ts'
import type { Run } from '../../src/domain/run.ts'
import { activeGoal, agents, claimed, empty, end, recoveryOf } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'
import { repositoryRoot } from '../../scripts/root.ts'
import { parsePrometheusText, type Series } from './prometheus-text.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  await agents(db, 'a1', 'a2')
})

const scraped = async (): Promise<Map<string, number>> => {
  const { text } = await prometheusText(db)
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const found = lines.map((line): [string, number] => {
    const [, series = '', name = '', value = ''] =
      /^(([a-z_]+)(?:\{(?:[a-z]+="[^"\\\n]*",?)+\})?) (\S+)$/.exec(line) ?? []
    const type = types.get(name) ?? types.get(name.replace(/_(bucket|sum|count)$/, ''))
    expect([line, type]).toEqual([line, expect.stringMatching(/^(counter|gauge|histogram)$/)])
    return [series.replace(/^unstuck_/, ''), Number(value)]
  })
  const all = new Map(found)
  expect(all.size).toBe(found.length)
  return all
}

const family = '{class="GIT_TRUST_ERROR",family="permission"'

const recovery = async (
  run: Run,
  attempt: number,
  end: { status: 'success' | 'failed'; seconds: number },
): Promise<void> => {
  const id = `rec-${run.id}-${attempt}`
  await db.transaction((tx) => insertRecovery(tx, recoveryOf(run, { id, attempt })))
  await db.transaction((tx) => resolveRecovery(tx, id, end.status, ''))
  await db.query(
    sql`update recovery set decided_at = started_at + make_interval(secs => ${end.seconds}::float8) where id = ${id}`,
  )
}

const failedRun = async (agent: string): Promise<Run> => {
  const { run } = await claimed(db, agent)
  await db.query(
    sql`update run set spend = '{"tokens": 500, "costUsd": 0.5, "seconds": 9}'::jsonb where id = ${run.id}`,
  )
  return run
}

const proposedBy = ({ goalId, taskId, id: runId }: Run) => ({
  ...{ goalId, taskId, runId, iteration: 1, source: 'agent' as const, offsetStated: null, problem: null, flag: null },
  failing: { command: 'npm test', signature: 's1' },
})

const commandOf = ({ goalId, taskId, id: runId }: Run) => ({
  ...{ goalId, taskId, runId, step: 'primary' as const, command: 'npm ci', workingDir: '.', timeoutSeconds: 9 },
  counted: true,
  repetition: false,
})

type Executed = [approvedBy: string, state?: 'succeeded' | 'failed' | 'unknown', effect?: boolean]
const executions: Executed[] = [
  ['auto', 'succeeded', true],
  ['auto', 'succeeded', false],
  ['auto', 'failed'],
  ['on_unknown', 'unknown'],
  ['ada', 'succeeded', true],
  ['auto'],
]

test('an empty store has gauges of nothing and no series that would divide by it', async () => {
  const all = await scraped()
  expect(all.get('queue_ready_tasks')).toBe(0)
  expect([...all.keys()].filter((name) => name.startsWith('autonomy'))).toEqual([])
})

test('recoveries are counted per class and family, with the time they took and what was spent without effect', async () => {
  await activeGoal(db, 'g', [{}, {}])
  const first = await failedRun('a1')
  await recovery(first, 1, { status: 'failed', seconds: 2 })
  await recovery(first, 2, { status: 'success', seconds: 15 })
  await recovery(first, 3, { status: 'success', seconds: 100_000 })
  await end(db, first, 'failed', 'run_failed')
  const second = await failedRun('a2')
  await db.query(sql`update run set error_meta = '{"failureCode": "test_failed"}'::jsonb where id = ${second.id}`)
  await db.query(sql`update run set state = 'cancelled', ended_at = unstuck_now() where id = ${second.id}`)
  const all = await scraped()
  const expected: Record<string, number> = {
    [`recovery_attempts_total${family}}`]: 3,
    [`recovery_outcomes_total${family},outcome="success"}`]: 2,
    [`recovery_outcomes_total${family},outcome="failed"}`]: 1,
    [`recovery_seconds_bucket{le="5",class="GIT_TRUST_ERROR",family="permission"}`]: 0,
    [`recovery_seconds_bucket{le="15",class="GIT_TRUST_ERROR",family="permission"}`]: 1,
    [`recovery_seconds_bucket{le="14400",class="GIT_TRUST_ERROR",family="permission"}`]: 1,
    [`recovery_seconds_bucket{le="+Inf",class="GIT_TRUST_ERROR",family="permission"}`]: 2,
    [`recovery_seconds_sum${family}}`]: 100_015,
    [`recovery_seconds_count${family}}`]: 2,
    [`wasted_tokens_total${family}}`]: 500,
    [`wasted_cost_usd_total${family}}`]: 0.5,
    [`wasted_tokens_total{class="test_failed",family="none"}`]: 500,
    [`tokens_total{harness="codex",purpose="work"}`]: 1000,
    [`tasks{state="failed"}`]: 1,
    [`leases{lane="feature",state="live"}`]: 1,
    [`agents{state="busy"}`]: 1,
  }
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, all.get(name)]))).toEqual(expected)
})

test('questions are counted by kind, with the time until the answer', async () => {
  await activeGoal(db, 'g', [{}, {}])
  for (const task of ['g-t1', 'g-t2'])
    await db.transaction((tx) =>
      openEscalation(tx, {
        ...{ id: `q-${task}`, goalId: 'g', taskId: task, runId: null, kind: 'exhausted', happened: 'x', tried: [] },
        ...{ question: 'x', details: '', choices: [] },
      }),
    )
  const question = await getEscalation(db, 'q-g-t1')
  if (question === undefined) throw new Error('the question was not stored')
  await db.transaction(async (tx) => mustSucceed(await answerEscalation(tx, question, 'retry')))
  await db.query(sql`update escalation set decided_at = created_at + interval '90 seconds' where id = 'q-g-t1'`)
  await db.query(sql`update task set state = 'done' where id = 'g-t1'`)
  const all = await scraped()
  expect(all.get('escalations_total{kind="exhausted"}')).toBe(2)
  expect(all.get('escalations_pending{kind="exhausted"}')).toBe(1)
  expect(all.get('escalation_resolution_seconds_bucket{le="60",kind="exhausted"}')).toBe(0)
  expect(all.get('escalation_resolution_seconds_bucket{le="300",kind="exhausted"}')).toBe(1)
  expect(all.get('escalation_resolution_seconds_sum{kind="exhausted"}')).toBe(90)
  expect(all.get('autonomy_ratio')).toBe(0)
  expect(all.get('queue_ready_tasks')).toBe(1)
})

test('proposals are counted by category, and commands by who approved them and what they came to', async () => {
  await activeGoal(db, 'g', [{}])
  const { run } = await claimed(db, 'a1')
  await db.transaction(async (tx) => {
    const proposed = proposedBy(run)
    for (const [id, body] of [
      ['p1', { category: 'dependency' }],
      ['p2', { category: 'dependency' }],
      ['p3', null],
    ] as const)
      await insertProposal(tx, { ...proposed, id, digest: id, body })
    const none = { exitCode: null, durationMs: null, error: '', changed: [] }
    for (const [n, [approvedBy, state, effect]] of executions.entries()) {
      await insertExecution(tx, { ...commandOf(run), id: `e${n}`, proposalId: 'p1', approvedBy })
      if (state !== undefined) await finishExecution(tx, `e${n}`, { ...none, state })
      if (effect !== undefined) await settleExecution(tx, `e${n}`, effect, '')
    }
  })
  const all = await scraped()
  const expected = {
    'recovery_proposals_total{category="dependency"}': 2,
    'recovery_proposals_total{category="invalid"}': 1,
    'recovery_commands{approval="auto",outcome="success"}': 1,
    'recovery_commands{approval="auto",outcome="no_effect"}': 1,
    'recovery_commands{approval="auto",outcome="failed"}': 1,
    'recovery_commands{approval="on_unknown",outcome="unknown"}': 1,
    'recovery_commands{approval="human",outcome="success"}': 1,
    'recovery_commands{approval="auto",outcome="running"}': 1,
    auto_recovery_success_ratio: 0.25,
  }
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, all.get(name)]))).toEqual(expected)
  expect(await recoverySummary(db)).toEqual({
    ...{ proposals: 3, proposalsPerGoal: 3, categories: { dependency: 2, invalid: 1 } },
    ...{ autoSucceeded: 1, autoFailed: 3, autoSuccessRate: 0.25 },
    ...{ escalations: 0, escalationFrequency: 0, resolutionSeconds: null },
  })
})

test('a class that is no label of ours is counted as other', async () => {
  await activeGoal(db, 'g', [{}])
  const { run } = await claimed(db, 'a1')
  for (const [n, label] of ['a"} 1\nunstuck_goals 9', 'secret token', `x${'y'.repeat(100)}`].entries())
    await db.transaction((tx) => insertRecovery(tx, recoveryOf(run, { id: `r-${n}`, label, attempt: n })))
  for (const n of [0, 1]) await db.transaction((tx) => resolveRecovery(tx, `r-${n}`, 'success', ''))
  const all = await scraped()
  expect(all.get('recovery_seconds_count{class="other",family="permission"}')).toBe(2)
  expect(all.get('recovery_attempts_total{class="other",family="permission"}')).toBe(3)
})

interface Panel {
  id: number
  title: string
  type: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource?: { uid: string }
  targets?: { refId: string; expr: string; legendFormat: string }[]
}

interface GrafanaDashboard {
  title: string
  uid: string
  schemaVersion: number
  templating: { list: { name: string; type: string; query: unknown }[] }
  panels: Panel[]
}

const grafana = (): GrafanaDashboard =>
  JSON.parse(readFileSync(join(repositoryRoot, 'docs/grafana/unstuck.json'), 'utf8')) as GrafanaDashboard

/** Labels that Prometheus itself adds to each series. */
const ofPrometheus = ['job', 'instance']

/** The metrics of an expression with the labels that they need: those of their selector, and those by which the expression groups. */
const needsOf = (expr: string): [metric: string, labels: string[]][] => {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/, */))
  return [...expr.matchAll(/(unstuck_\w+)(?:\{([^}]*)\})?/g)].map(([, metric = '', selector = '']) => [
    metric,
    [...grouped, ...[...selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name = '']) => name)],
  ])
}

/** One of everything that can be counted. */
const countEverything = async (): Promise<void> => {
  await activeGoal(db, 'g', [{}, {}, {}])
  const run = await failedRun('a1')
  await recovery(run, 1, { status: 'success', seconds: 15 })
  await db.transaction(async (tx) => {
    await insertProposal(tx, { ...proposedBy(run), id: 'p1', digest: 'p1', body: { category: 'dependency' } })
    await insertExecution(tx, { ...commandOf(run), id: 'e1', proposalId: 'p1', approvedBy: 'auto' })
    await finishExecution(tx, 'e1', { state: 'failed', exitCode: 1, durationMs: 1, error: '', changed: [] })
    await openEscalation(tx, {
      ...{ id: 'q1', goalId: 'g', taskId: run.taskId, runId: null, kind: 'exhausted', happened: 'x', tried: [] },
      ...{ question: 'x', details: '', choices: [] },
    })
    await enqueueMerge(tx, 'm1', { ...run, commit: 'c'.repeat(40) })
    mustSucceed(await answerEscalation(tx, (await getEscalation(tx, 'q1'))!, 'retry'))
  })
  await end(db, run, 'failed', 'run_failed')
  await claimed(db, 'a2')
  await db.query(sql`update task set state = 'done' where id = ${run.taskId}`)
}

test('the dashboard for Grafana asks for each metric, and only for metrics and labels that are there', async () => {
  await countEverything()
  const there = Map.groupBy(parsePrometheusText((await prometheusText(db)).text), ({ name }: Series) => name)
  const targets = grafana().panels.flatMap(({ targets = [] }) => targets)
  const asked = new Set<string>()
  for (const { expr, legendFormat } of targets) {
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name)
    for (const [metric, labels] of needsOf(expr)) {
      asked.add(metric.replace(/_(bucket|sum|count)$/, ''))
      const has = new Set([
        ...ofPrometheus,
        ...(there.get(metric) ?? []).flatMap((series) => Object.keys(series.labels)),
      ])
      expect([expr, there.has(metric), [...labels, ...shown].filter((name) => !has.has(name))]).toEqual([
        expr,
        true,
        [],
      ])
    }
  }
  const metrics = new Set([...there.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')))
  expect([...metrics].filter((name) => !asked.has(name))).toEqual([])
})

test.each(['a{b="c} 1', 'a{b="c" d="e"} 1', 'a{b="c",b="d"} 1', '1a 1', 'a one', 'b 1'])(
  '%s is no text of Prometheus',
  (line) => {
    const text = (last: string): string => `# TYPE a gauge\n${last}\n`
    expect(parsePrometheusText(text('a{b="c"} 1'))).toEqual([{ name: 'a', labels: { b: 'c' }, value: 1 }])
    expect(() => parsePrometheusText(text(line))).toThrow(line)
  },
)

const overlaps = (one: Panel['gridPos'], other: Panel['gridPos']): boolean =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h

test('the dashboard has what an import into Grafana needs', () => {
  const { title, uid, schemaVersion, templating, panels } = grafana()
  expect([title, uid, schemaVersion >= 36]).toEqual(['Unstuck', 'unstuck', true])
  expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' })
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const [at, { type, gridPos, targets = [], datasource, title }] of panels.entries()) {
    expect([title, gridPos.x + gridPos.w <= 24, gridPos.h > 0]).toEqual([title, true, true])
    expect(panels.slice(at + 1).filter((other) => overlaps(gridPos, other.gridPos))).toEqual([])
    if (type === 'row') continue
    expect(datasource?.uid).toBe('${datasource}')
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
    expect([title, targets.length > 0]).toEqual([title, true])
  }
})
