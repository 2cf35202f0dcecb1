/** Traces of real engines, as a collector on this machine gets them: one that recovers, one that is killed, and one without a collector. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openCollector, type CollectedSpan, type Collector } from '../notify/collector.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'
import { killable } from '../support/killable.ts'

/** Its first work does not pass its check. */
const agent: FaultAgent = {
  driver: 'claude',
  program: `begin(); usage(7); put(count('TOP/launches') === 1 ? 'other.txt' : 'made.txt', 'secret words'); end()`,
}
const steady: FaultAgent = { driver: 'claude', program: `begin(); put('made.txt', 'made'); end()` }

/** Notes the packages of OpenTelemetry that a process loads, in the file that LOADED names. */
const noting = `import { registerHooks } from 'node:module'
import { appendFileSync } from 'node:fs'
registerHooks({ resolve: (name, context, next) => {
  if (name.startsWith('@opentelemetry/')) appendFileSync(process.env.LOADED, name + '\\n')
  return next(name, context) } })`
const noted = { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(noting)}"` }

let scene: Scene
let collector: Collector
const children: ChildProcess[] = []
afterEach(async () => {
  await scene.clear()
  await collector.close()
})

const environment = (): Record<string, string> => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan[] =>
  spans.filter((span) => span.name === name)

/** Lands the goal; its span comes as the last one. */
const ended = async (goal: string): Promise<CollectedSpan[]> => {
  await scene.until(goal, 'ready')
  await scene.post(`/goals/${goal}/land`, {})
  return scene.waitFor('the span of the goal', async () => {
    const spans = collector.spans()
    return named(spans, 'goal').length > 0 ? spans : undefined
  })
}

const parentName = (spans: readonly CollectedSpan[], { parentSpanId }: CollectedSpan): string | undefined =>
  spans.find(({ spanId }) => spanId === parentSpanId)?.name

test('a goal that recovers once is one trace, from the goal down to launches, checks and the recovery', async () => {
  collector = await openCollector()
  scene = await openScene({ agent }, {}, { environment: environment() })
  const goal = await scene.goal([{}])
  const spans = await ended(goal)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const parents = spans.map((span) => `${span.name} in ${parentName(spans, span) ?? 'nothing'}`)
  expect(parents.toSorted()).toEqual([
    ...['check in run', 'check in run', 'goal in nothing', 'launch in run', 'launch in run', 'merge in task'],
    ...['recovery in run', 'run in task', 'task in goal'],
  ])
  for (const span of spans) {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId) ?? span
    expect([span.name, span.start <= span.end, span.start >= parent.start]).toEqual([span.name, true, true])
    // The merge and its task end in one transaction.
    if (span.name !== 'merge') expect([span.name, span.end <= parent.end]).toEqual([span.name, true])
  }
  const [recovery] = named(spans, 'recovery')
  const [stored] = await scene.recoveries(goal)
  expect(recovery).toMatchObject({
    isError: false,
    attributes: {
      'recovery.playbook': stored!.playbook,
      'recovery.class': stored!.label,
      'recovery.outcome': 'success',
    },
  })
  expect(named(spans, 'check').map(({ isError }) => isError)).toEqual([true, false])
  expect(named(spans, 'check')[1]?.attributes).toMatchObject({ 'check.outcome': 'verified' })
  expect(named(spans, 'launch').map(({ attributes }) => attributes['launch.number'])).toEqual([1, 2])
  const [run] = named(spans, 'run')
  const [storedRun] = await scene.runs(goal)
  expect(run?.start).toBe(BigInt(Date.parse(storedRun!.startedAt)) * 1_000_000n)
  expect(run?.attributes).toMatchObject({ harness: 'agent', state: 'succeeded', tokens: storedRun!.spend.tokens })
  expect(collector.resource()).toMatchObject({ 'service.name': 'unstuck' })
  expect(collector.received.map(({ body }) => body).join('')).not.toContain('secret words')
})

test('after a kill of the engine in the middle of a run each span comes, with ids of its own', async () => {
  collector = await openCollector()
  let armed = true
  const loaded = (): string => join(scene.top, 'loaded')
  scene = await openScene(
    { steady },
    {},
    {
      environment: environment(),
      start: (root, given) => {
        const more = armed ? { CHAOS_POINT: 'agent-ended', CHAOS_MARK: join(root, '..', 'killed') } : {}
        armed = false
        return killable(children)(root, { ...given, ...more, ...noted, LOADED: join(root, '..', 'loaded') })
      },
    },
  )
  const goal = await scene.goal([{}])
  await new Promise((resolve) => children[0]?.once('exit', resolve))
  expect(readFileSync(join(scene.top, 'killed'), 'utf8')).toBe('agent-ended')
  expect(named(collector.spans(), 'run')).toEqual([])
  await scene.restart()
  const spans = await ended(goal)
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['check', 'goal', 'launch', 'merge', 'run', 'task'])
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  expect(readFileSync(loaded(), 'utf8')).toContain('@opentelemetry/exporter-trace-otlp-http')
})

test.runIf(isLongForm)('a collector that does not respond stops no goal, and is one warning', async () => {
  collector = await openCollector()
  await collector.close()
  scene = await openScene(
    { steady },
    {},
    { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/?key=hidden` } },
  )
  for (const _ of [1, 2]) {
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready')
  }
  const { id } = await openRepository(scene.root)
  const file = join(stateDirOf({ UNSTUCK_HOME: join(scene.top, 'home') }, id), 'engine.log')
  // The exporter itself tries for some seconds.
  const log = await scene.waitFor('the warning', async () => {
    const text = readFileSync(file, 'utf8')
    return text.includes('OTEL_EXPORTER_OTLP_ENDPOINT') ? text : undefined
  })
  const warnings = log.split('\n').filter((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT'))
  expect(warnings.map((line) => (JSON.parse(line) as { endpoint: string }).endpoint)).toEqual([`${collector.url}/`])
  expect(log).not.toContain('hidden')
})

test('without the variables no exporter of OpenTelemetry is loaded', async () => {
  collector = await openCollector()
  scene = await openScene(
    { steady },
    {},
    {
      start: (root, given) => killable(children)(root, { ...given, ...noted, LOADED: join(root, '..', 'loaded') }),
    },
  )
  await scene.until(await scene.goal([{}]), 'ready')
  // The client of Prometheus has its own use for the interfaces.
  expect(new Set(readFileSync(join(scene.top, 'loaded'), 'utf8').trim().split('\n'))).toEqual(
    new Set(['@opentelemetry/api']),
  )
})
