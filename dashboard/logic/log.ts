/**
 * The log of a run in the page: bounded, whatever an agent prints. Repeated lines are merged into one with a count; above the
 * limit the oldest lines are dropped and counted. Pure.
 */
import type { LogView } from '../../src/api/contract.ts'
import { visible } from './text.ts'

export interface BufferedLine {
  key: number
  stream: 'stdout' | 'stderr'
  kind: string
  text: string
  /** How often it was repeated in a row. */
  times: number
}

export interface LogBuffer {
  lines: BufferedLine[]
  /** How many lines before the first one were dropped. */
  dropped: number
  launch: number
  nextKey: number
}

export const maxLines = 1500
const maxChars = 4000

export const emptyLogBuffer: LogBuffer = { lines: [], dropped: 0, launch: 0, nextKey: 0 }

const bounded = (text: string): string =>
  text.length <= maxChars ? text : `${text.slice(0, maxChars)} … and ${text.length - maxChars} more characters`

type Incoming = Pick<BufferedLine, 'stream' | 'kind' | 'text'>

const isRepeat = (last: BufferedLine | undefined, line: Incoming): last is BufferedLine =>
  last !== undefined && last.kind === line.kind && last.stream === line.stream && last.text === line.text

const announced = (log: LogBuffer, page: LogView): Incoming[] =>
  page.launch > log.launch && page.lines.length > 0
    ? [{ stream: 'stdout', kind: 'launch', text: `launch ${page.launch}` }]
    : []

export const appendLog = (log: LogBuffer, page: LogView): LogBuffer => {
  if (page.lines.length === 0) return log
  const lines = [...log.lines]
  let { nextKey } = log
  for (const found of [...announced(log, page), ...page.lines]) {
    const line = { stream: found.stream, kind: found.kind, text: bounded(visible(found.text.trimEnd())) }
    const last = lines.at(-1)
    if (isRepeat(last, line)) lines[lines.length - 1] = { ...last, times: last.times + 1 }
    else lines.push({ ...line, key: nextKey++, times: 1 })
  }
  const over = Math.max(0, lines.length - maxLines)
  return { lines: lines.slice(over), dropped: log.dropped + over, launch: page.launch, nextKey }
}

/** The key of the first line that contains the text, however its spaces are; undefined = none does. */
export const lineWith = ({ lines }: LogBuffer, text = ''): number | undefined => {
  const plain = (given: string): string => given.replaceAll(/\s+/g, ' ').trim()
  const sought = plain(visible(text))
  return sought === '' ? undefined : lines.find((line) => plain(line.text).includes(sought))?.key
}
