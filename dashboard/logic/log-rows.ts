/**
 * Which rows of a log are on the screen. Every row is as high as one line of text, and a longer line has several, so that a million
 * lines need two numbers each and no measuring. Pure.
 */
import type { ShownLine } from './log.ts'

/** Fewer calls in a row are shown as they are. */
const fewestFolded = 3
/** Rows of a long line of text that are shown before a person unfolds it. */
const foldedRows = 12

export interface Rows {
  /** How many characters a row has. */
  columns: number
  /** The first row of each line, and behind the last line the number of all rows. */
  first: number[]
  /** Lines, and groups by their first line, that a person unfolded. */
  unfolded: ReadonlySet<number>
}

export interface Row {
  line: number
  from: number
  to: number
  /** The first row of its line. */
  head: boolean
  /** The last row of a folded line says how many rows are hidden; of a folded group how many calls. */
  hidden: number
  group: boolean
}

/** Where each row of a text begins and ends. */
const cuts = (text: string, columns: number): [from: number, to: number][] => {
  const rows: [number, number][] = []
  for (let from = 0; from <= text.length;) {
    const newline = text.indexOf('\n', from)
    const end = newline < 0 ? text.length : newline
    const to = Math.min(end, from + columns)
    rows.push([from, to])
    from = to < end ? to : end + 1
  }
  return rows
}

const countOf = (text: string, columns: number): number =>
  text.includes('\n') ? cuts(text, columns).length : Math.max(1, Math.ceil(text.length / columns))

/** A row that ends with a button leaves room for it. */
const besideButton = (from: number, to: number, columns: number): number =>
  Math.min(to, from + Math.max(8, columns - 24))

const groupSize = (lines: readonly ShownLine[], head: number): number => {
  let end = head
  while (lines[end]?.group === head) end += 1
  return end - head
}

const isFoldedGroup = (
  lines: readonly ShownLine[],
  unfolded: ReadonlySet<number>,
  group: number | undefined,
): boolean => group !== undefined && !unfolded.has(group) && lines[group + fewestFolded - 1]?.group === group

const heightOf = (lines: readonly ShownLine[], { columns, unfolded }: Omit<Rows, 'first'>, index: number): number => {
  const line = lines[index] as ShownLine
  if (isFoldedGroup(lines, unfolded, line.group)) return line.group === index ? 1 : 0
  const count = countOf(line.text, columns)
  return count > foldedRows + 2 && !unfolded.has(index) ? foldedRows : count
}

/** Lays out what was appended since the last time; the rows of the lines before it are kept. */
export const layOut = (lines: readonly ShownLine[], rows: Rows): Rows => {
  const from = Math.max(0, rows.first.length - 2)
  // A group that grows may become one that is folded.
  const begin = Math.min(from, lines[from]?.group ?? from)
  const { first } = rows
  first.length = begin
  let next = begin === 0 ? 0 : (first[begin - 1] ?? 0) + heightOf(lines, rows, begin - 1)
  for (let index = begin; index < lines.length; index += 1) {
    first[index] = next
    next += heightOf(lines, rows, index)
  }
  first[lines.length] = next
  return rows
}

/** The last line that begins at this row or before it. */
const lineAt = (first: readonly number[], row: number): number => {
  let low = 0
  let high = first.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((first[middle] ?? 0) <= row) low = middle
    else high = middle - 1
  }
  return low
}

const rowsOf = (lines: readonly ShownLine[], { columns, unfolded }: Rows, index: number): Row[] => {
  const { text, group } = lines[index] as ShownLine
  if (isFoldedGroup(lines, unfolded, group)) {
    const hidden = groupSize(lines, index)
    return group === index
      ? [{ line: index, from: 0, to: besideButton(0, text.length, columns), head: true, hidden, group: true }]
      : []
  }
  const all = cuts(text, columns)
  const shown = all.length > foldedRows + 2 && !unfolded.has(index) ? foldedRows : all.length
  return all.slice(0, shown).map(([from, to], at) => {
    const hidden = at === shown - 1 ? all.length - shown : 0
    const end = hidden > 0 ? besideButton(from, to, columns) : to
    return { line: index, from, to: end, head: at === 0, group: false, hidden }
  })
}

export const rowCount = ({ first }: Rows): number => first.at(-1) ?? 0

/** The rows `from` up to `to`. */
export const rowsBetween = (
  lines: readonly ShownLine[],
  rows: Rows,
  from: number,
  to: number,
): (Row & { at: number })[] => {
  const found: (Row & { at: number })[] = []
  for (let index = lineAt(rows.first, Math.max(0, from)); index < lines.length; index += 1) {
    const first = rows.first[index] ?? 0
    if (first >= to) break
    for (const [at, row] of rowsOf(lines, rows, index).entries())
      if (first + at >= from && first + at < to) found.push({ ...row, at: first + at })
  }
  return found
}

/** Browsers cannot lay out a higher element than this; above it a pixel of the scroll bar is more than a pixel of the log. */
export const highestPx = 12_000_000

export interface Viewport {
  scrollTop: number
  height: number
  rowHeight: number
  rows: number
}

/** Height of the scrolled element, and the first row on the screen. */
export const scrolled = ({ scrollTop, height, rowHeight, rows }: Viewport): { full: number; top: number } => {
  const whole = rows * rowHeight
  const full = Math.min(whole, highestPx)
  const scale = full <= height ? 1 : (whole - height) / (full - height)
  return { full, top: (scrollTop * scale) / rowHeight }
}

/** The position of the scroll bar at which this row is the first. */
export const scrollTopOf = (row: number, viewport: Omit<Viewport, 'scrollTop'>): number => {
  const { rowHeight, rows, height } = viewport
  const whole = rows * rowHeight
  const full = Math.min(whole, highestPx)
  const scale = full <= height ? 1 : (whole - height) / (full - height)
  return (row * rowHeight) / scale
}
