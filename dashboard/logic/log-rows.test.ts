import { expect, it } from 'vitest'
import { appendLog, newRunLog, type GrowingLog } from './log.ts'
import { highestPx, layOut, rowCount, rowsBetween, scrolled, scrollTopOf, type Rows } from './log-rows.ts'

const logOf = (lines: [kind: string, text: string][]): GrowingLog => {
  const log = newRunLog()
  appendLog(log, {
    launch: 1,
    lines: lines.map(([kind, text]) => ({ stream: 'stdout', kind, text })),
    next: { launch: 1, stdout: 0, stderr: 0 },
    ended: false,
  })
  return log
}

const rowsFor = ({ lines }: GrowingLog, columns = 10, unfolded: number[] = []): Rows =>
  layOut(lines, { columns, first: [], unfolded: new Set(unfolded) })

const shown = (log: GrowingLog, rows: Rows, from = 0, to = 100): string[] =>
  rowsBetween(log.lines, rows, from, to).map(({ line, from: begin, to: end }) =>
    (log.lines[line]?.text ?? '').slice(begin, end),
  )

it('a long line has several rows, and any part of the rows can be asked for', () => {
  const log = logOf([
    ['text', 'a'],
    ['text', '0123456789abcde'],
    ['text', 'two\n\nlines'],
  ])
  const rows = rowsFor(log)
  expect(rowCount(rows)).toBe(7)
  expect(shown(log, rows)).toEqual(['Launch 1', 'a', '0123456789', 'abcde', 'two', '', 'lines'])
  expect(shown(log, rows, 3, 5)).toEqual(['abcde', 'two'])
})

it('many calls of tools in a row are one row until a person unfolds them; an error between them stays', () => {
  const calls = ['Read a', 'Read b', 'Read c'].map((text): [string, string] => ['tool', text])
  const log = logOf([...calls, ['tool_error', 'no such file'], ['tool', 'Read d'], ['text', 'end']])
  const rows = rowsFor(log)
  expect(shown(log, rows)).toEqual(['Launch 1', 'Read a', 'no such fi', 'le', 'Read d', 'end'])
  expect(rowsBetween(log.lines, rows, 1, 2)).toMatchObject([{ group: true, hidden: 3 }])
  expect(shown(log, rows, 2, 4)).toEqual(['no such fi', 'le'])
  expect(shown(log, rowsFor(log, 20, [1])).slice(1, 4)).toEqual(['Read a', 'Read b', 'Read c'])
})

it('a long text shows its first rows and says how many are hidden', () => {
  const log = logOf([['text', Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n')]])
  expect(rowsBetween(log.lines, rowsFor(log), 0, 99).at(-1)).toMatchObject({ hidden: 28 })
  expect(rowCount(rowsFor(log, 10, [1]))).toBe(41)
})

it('what is appended is laid out as if it had always been there, also when it completes a group', () => {
  const log = logOf([
    ['tool', 'Read a'],
    ['tool', 'Read b'],
  ])
  const rows = rowsFor(log)
  expect(rowCount(rows)).toBe(3)
  appendLog(log, {
    launch: 1,
    lines: [
      { stream: 'stdout', kind: 'tool', text: 'Read c' },
      { stream: 'stdout', kind: 'text', text: 'x'.repeat(25) },
    ],
    next: { launch: 1, stdout: 0, stderr: 0 },
    ended: false,
  })
  layOut(log.lines, rows)
  expect(rows.first).toEqual(rowsFor(log).first)
  expect(rowCount(rows)).toBe(5)
})

it('a million rows fit into what a browser can lay out, and both ends can be reached', () => {
  const size = { height: 600, rowHeight: 20, rows: 1_000_000 }
  const { full } = scrolled({ ...size, scrollTop: 0 })
  expect(full).toBe(highestPx)
  expect(scrolled({ ...size, scrollTop: 0 }).top).toBe(0)
  expect(scrolled({ ...size, scrollTop: full - size.height }).top).toBeCloseTo(1_000_000 - 30)
  expect(scrolled({ ...size, scrollTop: scrollTopOf(765_432, size) }).top).toBeCloseTo(765_432)
})
