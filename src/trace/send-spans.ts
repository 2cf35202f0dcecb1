/**
 * Sends spans to a collector by the official exporter of OpenTelemetry (OTLP over HTTP). Its packages are imported when the first spans are
 * sent, so an engine without tracing never loads them. Ids are digests of what a span is of: a span that is sent again, by this
 * engine or the next, has the same ids.
 */
import { createHash } from 'node:crypto'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { TraceSpan } from '../domain/trace-span.ts'

export type SpansSent = { ok: true } | { ok: false; problem: string; isRefused: boolean }

export interface SpanSender {
  /** Never throws. `isRefused`: the collector cannot read these spans, so they would fail again. */
  send(spans: readonly TraceSpan[], signal: AbortSignal): Promise<SpansSent>
}

type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number]

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length)

const instrumentationScope = { name: 'unstuck' }

/** Status codes of a collector that has read the request and does not take it. */
const refusals = [400, 413, 422]

const loadPackages = async () => {
  const [api, exporter, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  return { ...api, ...exporter, ...resources }
}
type Packages = Awaited<ReturnType<typeof loadPackages>>

const resourceOf = (
  { defaultResource, detectResources, envDetector, resourceFromAttributes }: Packages,
  repositoryId: string,
): ReadableSpan['resource'] =>
  defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'unstuck', 'unstuck.repository.id': repositoryId }))
    // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`
    .merge(detectResources({ detectors: [envDetector] }))

type Time = ReadableSpan['startTime']

const timeOf = (date: Date): Time => {
  const ms = date.getTime()
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000]
}

/** Ids are unique in one store only, so the repository is a part of what is digested. */
const createReader = (packages: Packages, repositoryId: string): ((span: TraceSpan) => ReadableSpan) => {
  const { SpanKind, SpanStatusCode, TraceFlags } = packages
  const resource = resourceOf(packages, repositoryId)
  const contextOf = (goalId: string, key: string) => ({
    traceId: digest(`${repositoryId} trace ${goalId}`, 32),
    spanId: digest(`${repositoryId} span ${key}`, 16),
    traceFlags: TraceFlags.SAMPLED,
  })
  return ({ goalId, key, parent, name, startedAt, endedAt, problem, attributes }) => {
    const context = contextOf(goalId, key)
    return {
      ...{ name, kind: SpanKind.INTERNAL, spanContext: () => context, attributes, resource, instrumentationScope },
      ...(parent === null ? {} : { parentSpanContext: contextOf(goalId, parent) }),
      ...{ startTime: timeOf(startedAt), endTime: timeOf(endedAt) },
      duration: timeOf(new Date(endedAt.getTime() - startedAt.getTime())),
      status: problem === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: problem },
      ...{ links: [], events: [], ended: true },
      ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    }
  }
}

const failureOf = (error: Error | undefined): SpansSent => {
  const { code, message = 'unknown' } = (error ?? {}) as { code?: unknown; message?: string }
  return { ok: false, problem: message, isRefused: typeof code === 'number' && refusals.includes(code) }
}

/** The exporter takes headers, timeout, compression and certificates from the standard variables of this process. */
export const openSpanSender = async (endpoint: string, repositoryId: string): Promise<SpanSender> => {
  const packages = await loadPackages()
  const exporter = new packages.OTLPTraceExporter({ url: endpoint })
  const read = createReader(packages, repositoryId)
  return {
    send: (spans, signal) =>
      new Promise((resolve) => {
        const stop = (): void => resolve({ ok: false, problem: 'the engine stops', isRefused: false })
        signal.addEventListener('abort', stop, { once: true })
        exporter.export(spans.map(read), ({ code, error }) => {
          signal.removeEventListener('abort', stop)
          // 0 = success
          const status: number = code
          resolve(status === 0 ? { ok: true } : failureOf(error))
        })
      }),
  }
}
