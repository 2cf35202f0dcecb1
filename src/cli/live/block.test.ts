import { expect, test } from 'vitest'
import { createBlock } from './block.ts'
import type { Terminal } from './terminal.ts'

/** The parts of a terminal that the block uses: rows of text, a cursor, wrapping, and erasing. */
const screen = (columns: number) => {
  let rows = ['']
  let [row, writes] = [0, 0]
  const fresh = (at: number): void => void (rows[at] ??= '')
  const type = (text: string): void => {
    for (const char of text) {
      if (rows[row]!.length === columns) fresh(++row)
      rows[row] += char
    }
  }
  const write = (text: string): void => {
    writes += 1
    for (const [part] of text.matchAll(/\u001b\[(\d*)[AJK]|\n|\r|[^\u001b\n\r]+/g)) {
      if (part === '\n') fresh(++row)
      else if (part.endsWith('A') && part.startsWith('\u001b')) row -= Number(part.slice(2, -1))
      else if (part === '\u001b[2K') rows[row] = ''
      else if (part === '\u001b[J') rows = [...rows.slice(0, row), '']
      else if (part !== '\r') type(part)
    }
  }
  const terminal: Terminal = { columns: () => columns, rows: () => 24, write, onResize: () => () => undefined }
  const narrow = (to: number): void => {
    columns = to
    rows = rows.flatMap((text) => (text === '' ? [''] : (text.match(new RegExp(`.{1,${to}}`, 'g')) ?? [])))
    row = rows.length - 1
  }
  return { terminal, narrow, type, shown: () => rows, count: () => writes }
}

test('a block is redrawn in place, with one write per change', () => {
  const { terminal, shown, count } = screen(20)
  const block = createBlock(terminal)
  block.draw(['one', 'two', 'three'])
  block.draw(['one', 'zwei'])
  expect(shown()).toEqual(['one', 'zwei', ''])
  block.draw(['one', 'zwei'])
  expect(count()).toBe(2)
})

test('finished lines scroll above it, long ones wrapped', () => {
  const { terminal, shown, count } = screen(10)
  const block = createBlock(terminal)
  block.draw(['block', 'of two'])
  block.print('a line that wraps\n')
  block.print('half')
  expect(count()).toBe(2)
  block.print(' a line\nand')
  expect(shown()).toEqual(['a line tha', 't wraps', 'half a lin', 'e', 'block', 'of two', ''])
  block.clear()
  expect(shown()).toEqual(['a line tha', 't wraps', 'half a lin', 'e', 'and'])
})

test('nothing of the block remains when the terminal becomes narrower', () => {
  const { terminal, narrow, shown } = screen(20)
  const block = createBlock(terminal)
  block.print('before\n')
  block.draw(['123456789012345678', 'short'])
  narrow(10)
  block.draw(['12345678', 'short'])
  expect(shown()).toEqual(['before', '12345678', 'short', ''])
})

test('output after the block was cleared is kept', () => {
  const { terminal, shown } = screen(20)
  const block = createBlock(terminal)
  block.draw(['block'])
  block.clear()
  terminal.write('[1]+ Stopped\n')
  block.draw(['block'])
  expect(shown()).toEqual(['[1]+ Stopped', 'block', ''])
})
