/** Which spans are sent when: on a real store, with a real collector that fails as it is told. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { createTraceJob } from '../../src/runtime/engine/send-traces.ts'
import { sql } from '../../src/store/db.ts'
import { openCollector, type Collector } from '../notify/collector.ts'
import { failure, openRequeueStore, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let collector: Collector
let elapsed = 0
let warnings: Record<string, unknown>[] = []
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
beforeEach(async () => {
  await opened.reset()
  elapsed = 0
  warnings = []
})
afterEach(() => collector.close())

const contextOf = (environment: Record<string, string> = {}): Context =>
  ({
    ...opened.contextOf(),
    ...{ clock: { elapsed: () => elapsed }, repository: { id: 'repo-1' } },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment },
    log: { warn: (fields: Record<string, unknown>) => void warnings.push(fields) },
  }) as unknown as Context

const failedRun = async (): Promise<void> => {
  const { tasks } = await opened.newGoal()
  await opened.fail(tasks[0] ?? '', failure({ failedCommand: 'curl https://me:passwordpassword@host' }))
}

const ids = (): string[] => collector.spans().map(({ spanId }) => spanId)

test('tracing begins with what ends after it was turned on, and sends each thing once', async () => {
  collector = await openCollector()
  await failedRun()
  const job = createTraceJob()
  await job(contextOf())
  expect(collector.received).toEqual([])
  await failedRun()
  await job(contextOf())
  await job(contextOf())
  expect(collector.spans()).toMatchObject([
    {
      name: 'run',
      isError: true,
      attributes: { state: 'failed', failure: 'test_failure', harness: expect.any(String) },
    },
  ])
  // Another engine continues where this one stopped.
  await failedRun()
  await createTraceJob()(contextOf())
  expect(new Set(ids()).size).toBe(2)
  expect(ids()).toHaveLength(2)
  // One that was restored from an older copy of its store sends them again, with the ids that they had.
  await opened.store.db.query(sql`update trace_position set event_id = 0`)
  await createTraceJob()(contextOf())
  expect(ids()).toHaveLength(5)
  expect(new Set(ids()).size).toBe(3)
})

test('what a collector could not take is sent again after a growing wait, and is one warning', async () => {
  collector = await openCollector((number) => (number <= 2 ? 501 : 200))
  const job = createTraceJob()
  await job(contextOf())
  await failedRun()
  await job(contextOf())
  // Not due yet.
  elapsed += 9_000
  await job(contextOf())
  expect(collector.received).toHaveLength(1)
  elapsed += 1_000
  await job(contextOf())
  elapsed += 19_000
  await job(contextOf())
  expect(collector.received).toHaveLength(2)
  elapsed += 1_000
  await job(contextOf())
  expect(collector.spans().map(({ name }) => name)).toEqual(['run'])
  expect(warnings).toMatchObject([{ endpoint: `${collector.url}/v1/traces` }])
})

test('spans that a collector refuses are left out, so that those after them come', async () => {
  collector = await openCollector((number) => (number === 1 ? 400 : 200))
  const job = createTraceJob()
  await job(contextOf())
  await failedRun()
  await job(contextOf())
  expect(warnings).toHaveLength(1)
  elapsed += 10_000
  await failedRun()
  await job(contextOf())
  expect(collector.spans()).toHaveLength(1)
})

test('what ended more than a day ago is not sent any more', async () => {
  collector = await openCollector()
  const job = createTraceJob()
  await job(contextOf())
  await failedRun()
  await opened.store.db.query(sql`update event set at = at - interval '25 hours'`)
  await failedRun()
  await job(contextOf())
  expect(collector.spans()).toHaveLength(1)
})

test('nothing is read or sent where tracing is off', async () => {
  collector = await openCollector()
  const db = { query: () => Promise.reject(new Error('the store was read')) }
  await createTraceJob()({ ...contextOf({ OTEL_SDK_DISABLED: 'true' }), db } as unknown as Context)
  expect(collector.received).toEqual([])
})
