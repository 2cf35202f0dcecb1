/**
 * Reads the text format of Prometheus by its own rules (exposition format 0.0.4), apart from the client that wrote it: names, labels with
 * escapes, values, and that a series belongs to a metric with a type. Throws at the first line that breaks a rule.
 */
export interface Series {
  name: string
  labels: Record<string, string>
  value: number
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|(?=\}))/
const number = /^(?:[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|Inf)|NaN)$/i

const unescaped = (text: string): string =>
  text.replace(/\\([\\"n])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign))

const labelsOf = (line: string, text: string): { labels: Record<string, string>; rest: string } => {
  const labels: Record<string, string> = {}
  if (!text.startsWith('{')) return { labels, rest: text }
  let rest = text.slice(1)
  while (!rest.startsWith('}')) {
    const [whole, name = '', value = ''] = label.exec(rest) ?? []
    if (whole === undefined || name in labels) throw new Error(`no labels: ${line}`)
    labels[name] = unescaped(value)
    rest = rest.slice(whole.length)
  }
  return { labels, rest: rest.slice(1) }
}

const seriesIn = (line: string): Series => {
  const [name = ''] = metricName.exec(line) ?? []
  const { labels, rest } = labelsOf(line, line.slice(name.length))
  const value = rest.trim()
  if (name === '' || !rest.startsWith(' ') || !number.test(value)) throw new Error(`no series: ${line}`)
  return { name, labels, value: Number(value.replace(/Inf/, 'Infinity')) }
}

const parts: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] }

export const parsePrometheusText = (text: string): Series[] => {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const named = new Set<string>()
  const all: Series[] = []
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    for (const part of type === '' ? [] : (parts[type] ?? [''])) named.add(`${name}${part}`)
    if (line.startsWith('#')) continue
    const series = seriesIn(line)
    if (!named.has(series.name)) throw new Error(`without a type: ${line}`)
    all.push(series)
  }
  return all
}
