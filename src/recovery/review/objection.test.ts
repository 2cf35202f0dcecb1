import { expect, test } from 'vitest'
import type { ReviewPoint } from '../../domain/judgement.ts'
import {
  autoFixInstructions,
  autoFixTitle,
  isSameObjection,
  objectionKey,
  objectionText,
  pointLines,
} from './objection.ts'

const point = (what: string, more: Partial<ReviewPoint> = {}): ReviewPoint => ({
  ...{ path: 'a.ts', line: 3, severity: 'error', what, why: '', ...more },
})
const lost = point('The parser loses the last line of the file')

test.each([
  ['word for word', [lost], [lost], true],
  ['in other words, on another line', [point('parser still loses the last line', { line: 9 })], [lost], true],
  ['beside others', [lost], [point('Unrelated thing entirely'), lost], true],
  ['another one in the same file', [point('Missing test for empty input')], [lost], false],
  ['the same words about another file', [{ ...lost, path: 'b.ts' }], [lost], false],
  ['with a new one', [lost, point('Missing test for empty input')], [lost], false],
  ['with a new note', [lost, point('Name it better', { severity: 'note' })], [lost], true],
  ['nothing before', [lost], [], false],
  ['nothing now', [], [lost], false],
])('whether an objection was raised before: %s', (_, now, before, same) => {
  expect(isSameObjection(now, before)).toBe(same)
})

test('its key names files and severities, not words or order', () => {
  const other = point('x', { path: 'b.ts' })
  expect(objectionKey([lost, other])).toBe(objectionKey([other, point('in other words')]))
  expect(objectionKey([lost])).not.toBe(objectionKey([other]))
})

test('errors are told first', () => {
  const note = point('Name it better', { severity: 'note' })
  expect(pointLines([note, lost])[0]).toBe('- [error] a.ts:3: The parser loses the last line of the file')
  expect(objectionText([note, lost])).toBe('a.ts:3: The parser loses the last line of the file')
  expect(objectionText([point('Say why', { path: null })])).toBe('Say why')
  expect(pointLines(Array.from({ length: 25 }, () => lost)).at(-1)).toBe('- and 5 more')
})

test('a task is named once, however long its line', () => {
  expect(autoFixTitle(4, 'Make it')).toBe('[AutoFix] PR #4: Make it')
  expect(autoFixTitle(9, autoFixTitle(4, 'Make it'))).toBe('[AutoFix] PR #9: Make it')
})

test('the instructions have the newest objection alone', () => {
  const first = autoFixInstructions(
    { number: 1, instructions: 'Make it.' },
    { points: [lost], summary: '', by: 'the reviewer (codex)' },
  )
  const second = autoFixInstructions(
    { number: 2, instructions: first },
    { points: [point('Missing test')], summary: 'Nearly.', by: 'ann' },
  )
  expect(second.startsWith('Make it.\n')).toBe(true)
  expect(second).toContain('Missing test')
  expect(second).not.toContain('loses the last line')
  expect(second.split('## Objection').length).toBe(2)
})
