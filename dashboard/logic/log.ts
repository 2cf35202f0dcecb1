/**
 * The log of a run in the page. It grows at its end only, so that a million lines need no copy when the next page arrives. Equal lines in a
 * row are one with a count, and calls of tools in a row are a group that a reader may fold.
 */
import type { LogView } from '../../src/api/contract.ts'
import { withoutAnsi } from './ansi.ts'

export interface ShownLine {
  launch: number
  stream: 'stdout' | 'stderr'
  /** Its number within its stream and launch, which is the same at every reading. 0 = a heading of the page. */
  number: number
  kind: string
  /** Safe to show, without colours. */
  text: string
  /** With its colours, where it has some. */
  raw: string | undefined
  /** How often it was repeated in a row. */
  times: number
  /** Of a call of a tool: the index of the first call in this row of calls. */
  group: number | undefined
}

export interface GrowingLog {
  lines: ShownLine[]
  launch: number
  counts: { stdout: number; stderr: number }
}

export const newRunLog = (): GrowingLog => ({ lines: [], launch: 0, counts: { stdout: 0, stderr: 0 } })

const maxChars = 4000

const bounded = (text: string): string =>
  text.length <= maxChars ? text : `${text.slice(0, maxChars)} … and ${text.length - maxChars} more characters`

const groupOf = (lines: readonly ShownLine[], kind: string): number | undefined =>
  kind === 'tool' ? (lines.at(-1)?.group ?? lines.length) : undefined

const heading = (launch: number): ShownLine => ({
  ...{ launch, stream: 'stdout', number: 0, kind: 'launch', text: `Launch ${launch}` },
  ...{ raw: undefined, times: 1, group: undefined },
})

const add = (log: GrowingLog, { stream, kind, text }: LogView['lines'][number]): void => {
  log.counts[stream] += 1
  const raw = bounded(text.trimEnd())
  const shown = withoutAnsi(raw)
  const last = log.lines.at(-1)
  if (last !== undefined && last.kind === kind && last.stream === stream && last.text === shown) {
    last.times += 1
    return
  }
  log.lines.push({
    ...{ launch: log.launch, stream, number: log.counts[stream], kind, text: shown, times: 1 },
    raw: raw.includes('\u001b') ? raw : undefined,
    group: groupOf(log.lines, kind),
  })
}

export const appendLog = (log: GrowingLog, page: LogView): void => {
  if (page.lines.length === 0) return
  if (page.launch > log.launch) {
    log.launch = page.launch
    log.counts = { stdout: 0, stderr: 0 }
    log.lines.push(heading(page.launch))
  }
  for (const line of page.lines) add(log, line)
}

/** The address of a line: `2:14` is line 14 of launch 2, `2:e3` the third on its standard error. */
export const addressOf = ({ launch, stream, number }: ShownLine): string =>
  `${launch}:${stream === 'stderr' ? 'e' : ''}${number}`

const known = (index: number): number | undefined => (index < 0 ? undefined : index)

/** The index at or behind `from` of the first line that is like this. */
const firstFrom = ({ lines }: GrowingLog, from: number, isLike: (line: ShownLine) => boolean): number | undefined =>
  known(lines.findIndex((line, index) => index >= from && isLike(line)))

export const isAddress = (text: string): boolean => /^\d+:e?\d+$/.test(text)

/** A repeated line has the number of its first. */
const hasAddress = (address: string): ((line: ShownLine) => boolean) => {
  const [launch, sign = ''] = address.split(':')
  const stream = sign.startsWith('e') ? 'stderr' : 'stdout'
  const wanted = Number(sign.replace('e', ''))
  return ({ launch: of, stream: on, number, times }) =>
    of === Number(launch) && on === stream && number > 0 && number <= wanted && wanted < number + times
}

const plainSpaces = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/**
 * The index at or behind `from` of the line with this address, or of the first that contains the text, however its spaces are;
 * undefined = none.
 */
export const lineWith = (log: GrowingLog, text = '', from = 0): number | undefined => {
  if (isAddress(text)) return firstFrom(log, from, hasAddress(text))
  const sought = plainSpaces(withoutAnsi(text))
  return sought === '' ? undefined : firstFrom(log, from, (line) => plainSpaces(line.text).includes(sought))
}

/** The indices of the lines from `from` on that contain the text, whatever its case. */
export const matchesFrom = ({ lines }: GrowingLog, text: string, from: number): number[] => {
  if (text === '') return []
  const pattern = new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i')
  const hits: number[] = []
  for (let index = from; index < lines.length; index += 1) if (pattern.test(lines[index]?.text ?? '')) hits.push(index)
  return hits
}

/** The whole log as a file: without colours, so that it is harmless in a terminal. */
export const logText = ({ lines }: GrowingLog): string =>
  lines
    .map(({ kind, stream, text, times }) => {
      if (kind === 'launch') return `== ${text} ==`
      const prefix = kind === 'text' ? (stream === 'stderr' ? 'stderr: ' : '') : `${kind}: `
      return `${prefix}${text}${times > 1 ? ` (${times} times)` : ''}`
    })
    .join('\n')
