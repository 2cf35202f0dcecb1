/** Whether traces are sent, and where to, as the standard variables of OpenTelemetry say. Loads nothing of it. */
type Environment = Readonly<Record<string, string | undefined>>

const isOff = ({ OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter }: Environment): boolean =>
  disabled?.trim().toLowerCase() === 'true' || exporter?.trim().toLowerCase() === 'none'

const without = (text: string | undefined): string | null =>
  text === undefined || text.trim() === '' ? null : text.trim()

/** The URL to which traces are sent; null = no traces are. A URL for traces alone is used as it is, as the standard says. */
export const traceEndpoint = (environment: Environment): string | null => {
  if (isOff(environment)) return null
  const own = without(environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])
  if (own !== null) return own
  const base = without(environment['OTEL_EXPORTER_OTLP_ENDPOINT'])
  return base === null ? null : `${base.replace(/\/+$/, '')}/v1/traces`
}

/** For the log: without a password, and without the query, which may be a key. */
export const shownEndpoint = (endpoint: string): string => {
  const url = URL.parse(endpoint)
  return url === null || !url.protocol.startsWith('http') ? 'no URL of HTTP' : `${url.origin}${url.pathname}`
}
