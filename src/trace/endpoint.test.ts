import { expect, test } from 'vitest'
import { shownEndpoint, traceEndpoint } from './endpoint.ts'

test.each([
  [{}, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' }, 'http://c:4318/base/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/own', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://d' }, 'http://c/own'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'TRUE' }, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'false' }, 'http://c:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' }, null],
])('%j sends traces to %s', (environment, endpoint) => {
  expect(traceEndpoint(environment)).toBe(endpoint)
})

test.each([
  ['https://me:word@c:4318/v1/traces?key=hidden', 'https://c:4318/v1/traces'],
  ['c:word@x y', 'no URL of HTTP'],
])('%s is shown as %s', (endpoint, shown) => {
  expect(shownEndpoint(endpoint)).toBe(shown)
})
