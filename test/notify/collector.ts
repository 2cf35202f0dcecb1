/** A collector of traces on this machine: takes OTLP over HTTP in JSON, and gives the spans in the order in which they came. */
import { openReceiver, type Receiver } from './receiver.ts'

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number; doubleValue?: number; arrayValue?: object }
}

interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code: number; message?: string }
  attributes: Attribute[]
}

interface Request {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

export interface CollectedSpan extends Pick<OtlpSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name'> {
  start: bigint
  end: bigint
  isError: boolean
  /** Without the prefix `unstuck.`. */
  attributes: Record<string, unknown>
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key.replace(/^unstuck\./, ''), Object.values(value)[0]]))

const spanOf = (span: OtlpSpan): CollectedSpan => {
  const { traceId, spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano, status, attributes } = span
  return {
    ...{ traceId, spanId, name, start: BigInt(startTimeUnixNano), end: BigInt(endTimeUnixNano) },
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    ...{ isError: status.code === 2, attributes: valuesOf(attributes) },
  }
}

export interface Collector extends Receiver {
  spans(): CollectedSpan[]
  /** What all spans of the first request are from. */
  resource(): Record<string, unknown>
}

/** @param statusOf the HTTP status of the n-th request */
export const openCollector = async (statusOf: (number: number) => number = () => 200): Promise<Collector> => {
  const receiver = await openReceiver((response, _request, number) => {
    response.writeHead(statusOf(number), { 'content-type': 'application/json' }).end('{}')
  })
  const requests = (): Request[] =>
    receiver.received.filter((_, at) => statusOf(at + 1) === 200).map(({ body }) => JSON.parse(body) as Request)
  return {
    ...receiver,
    spans: () =>
      requests().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(spanOf))),
      ),
    resource: () => valuesOf(requests()[0]?.resourceSpans[0]?.resource.attributes ?? []),
  }
}
