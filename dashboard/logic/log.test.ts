import { expect, it } from 'vitest'
import type { LogView } from '../../src/api/contract.ts'
import { appendLog, emptyLogBuffer, lineWith, maxLines } from './log.ts'

const page = (texts: string[], launch = 1): LogView => ({
  launch,
  lines: texts.map((text) => ({ stream: 'stdout', kind: 'text', text })),
  next: { launch, stdout: 0, stderr: 0 },
  ended: false,
})

const textsOf = (log: typeof emptyLogBuffer): string[] => log.lines.map(({ text, times }) => `${text} x${times}`)

it('equal lines in a row are one, also over the border of two pages', () => {
  const log = appendLog(appendLog(emptyLogBuffer, page(['a', 'a', 'b'])), page(['b', 'a']))
  expect(textsOf(log)).toEqual(['launch 1 x1', 'a x2', 'b x2', 'a x1'])
})

it('each launch begins with its number, one without a word does not', () => {
  const log = [page(['a']), page([], 2), page(['b'], 3)].reduce(appendLog, emptyLogBuffer)
  expect(textsOf(log)).toEqual(['launch 1 x1', 'a x1', 'launch 3 x1', 'b x1'])
})

it('the log is bounded, says what it dropped, and keeps the keys of what stays', () => {
  const long = Array.from({ length: maxLines + 10 }, (_, at) => `line ${at}`)
  const log = appendLog(emptyLogBuffer, page(long))
  expect([log.lines.length, log.dropped]).toEqual([maxLines, 11])
  const kept = log.lines[20]
  const next = appendLog(log, page(['more']))
  expect([next.lines.length, next.dropped]).toEqual([maxLines, 12])
  expect(next.lines[19]).toBe(kept)
  expect(new Set(next.lines.map(({ key }) => key)).size).toBe(maxLines)
})

it('a line without end is cut, and escapes are text', () => {
  const log = appendLog(emptyLogBuffer, page([`\u001b[2J${'x'.repeat(1_000_000)}`]))
  expect(log.lines[1]?.text).toMatch(/^⟨ESC⟩\[2Jx+ … and 996008 more characters$/)
  expect(log.lines[1]?.text.length).toBeLessThan(4100)
})

it('a line is found by a text that it contains, with other spaces too; the first one counts', () => {
  const log = appendLog(emptyLogBuffer, page(['one', 'Error:  the  gate\nat x', 'the gate']))
  expect(lineWith(log, 'Error: the gate')).toBe(log.lines[2]?.key)
  expect(lineWith(log, 'the gate')).toBe(log.lines[2]?.key)
  expect([lineWith(log, 'nowhere'), lineWith(log, '  '), lineWith(log)]).toEqual([undefined, undefined, undefined])
})
