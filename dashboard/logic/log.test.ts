import { expect, it } from 'vitest'
import type { LogView } from '../../src/api/contract.ts'
import {
  addressOf,
  appendLog,
  lineWith,
  logText,
  matchesFrom,
  newRunLog,
  type ShownLine,
  type GrowingLog,
} from './log.ts'

const page = (texts: string[], launch = 1, kind = 'text'): LogView => ({
  launch,
  lines: texts.map((text) => ({ stream: 'stdout', kind, text })),
  next: { launch, stdout: 0, stderr: 0 },
  ended: false,
})

const logOf = (...pages: LogView[]): GrowingLog => {
  const log = newRunLog()
  for (const one of pages) appendLog(log, one)
  return log
}

const textsOf = (log: GrowingLog): string[] => log.lines.map(({ text, times }) => `${text} x${times}`)

it('equal lines in a row are one, also over the border of two pages, and keep the number of the first', () => {
  const log = logOf(page(['a', 'a', 'b']), page(['b', 'a']))
  expect(textsOf(log)).toEqual(['Launch 1 x1', 'a x2', 'b x2', 'a x1'])
  expect(log.lines.map(({ number }) => number)).toEqual([0, 1, 3, 5])
})

it('each launch begins with its number, one without a word does not', () => {
  expect(textsOf(logOf(page(['a']), page([], 2), page(['b'], 3)))).toEqual([
    'Launch 1 x1',
    'a x1',
    'Launch 3 x1',
    'b x1',
  ])
})

it('a line without end is cut, its colours are kept apart, and other escapes are text', () => {
  const log = logOf(page([`\u001b[31m\u001b]0;x\u0007${'x'.repeat(1_000_000)}`]))
  expect(log.lines[1]?.text).toMatch(/^⟨ESC⟩\]0;x⟨BEL⟩x+ … and 996011 more characters$/)
  expect(log.lines[1]?.text.length).toBeLessThan(4100)
  expect(log.lines[1]?.raw).toContain('\u001b[31m')
})

it('a line is found by its address at every reading, and by a text with other spaces too; the first one counts', () => {
  const log = logOf(page(['one', 'Error:  the  gate\nat x', 'the gate', 'the gate']), page(['two'], 2))
  expect([lineWith(log, 'Error: the gate'), lineWith(log, 'the gate')]).toEqual([2, 2])
  expect([lineWith(log, 'nowhere'), lineWith(log, '  '), lineWith(log), lineWith(log, '3:1')]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(lineWith(log, addressOf(log.lines[5] as ShownLine))).toBe(5)
  // The second of two equal lines is shown with the first.
  expect(lineWith(log, '1:4')).toBe(3)
})

it('calls of tools in a row are a group; what is appended to it joins it', () => {
  const log = logOf(page(['look']), page(['Read a', 'Read b'], 1, 'tool'), page(['Read c'], 1, 'tool'), page(['found']))
  expect(log.lines.map(({ group }) => group)).toEqual([undefined, undefined, 2, 2, 2, undefined])
})

it('matches are found whatever their case, from any line on, and signs are no pattern', () => {
  const log = logOf(page(['a (b)', 'A (B)', 'ab']))
  expect([matchesFrom(log, 'a (b)', 0), matchesFrom(log, 'a (b)', 2), matchesFrom(log, '', 0)]).toEqual([
    [1, 2],
    [2],
    [],
  ])
})

it('as a file it has no escapes', () => {
  expect(logText(logOf(page(['\u001b[31mred\u001b[0m', 'b', 'b'])))).toBe('== Launch 1 ==\nred\nb (2 times)')
})
