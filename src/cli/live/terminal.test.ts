import { expect, test } from 'vitest'
import { canRedraw, coloursOf } from './terminal.ts'

test.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ TERM: 'dumb' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: 'false' }, true, false],
  [{ FORCE_COLOR: '3', NO_COLOR: '1', TERM: 'dumb' }, false, true],
])('colours with %j on a terminal: %j', (environment, isTerminal, expected) => {
  expect(coloursOf(environment, isTerminal)).toBe(expected)
})

test.each([
  [{ TERM: 'xterm' }, true, true],
  [{ TERM: 'xterm' }, false, false],
  [{ TERM: 'dumb' }, true, false],
  [{ CI: 'true' }, true, false],
  [{ CI: '1' }, true, false],
  [{ CI: '' }, true, true],
  [{ CI: 'false' }, true, true],
])('a block in place with %j on a terminal: %j', (environment, isTerminal, expected) => {
  expect(canRedraw(environment, isTerminal)).toBe(expected)
})
