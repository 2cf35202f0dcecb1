import { expect, test } from 'vitest'
import { fit } from './status-watch.ts'

test('a status is wrapped and cut to fit the terminal, with a count of the lines not shown', () => {
  const lines = ['goal', '  task\n      its next step', 'a question that is long']
  expect(fit(lines, 'q quits', { columns: 12, rows: 24 })).toEqual([
    ...['goal', '  task', '      its ne', 'xt step', 'a question t', 'hat is long', 'q quits'],
  ])
  expect(fit(lines, '', { columns: 80, rows: 5 })).toEqual(['goal', '  task', '… and 2 more lines: unstuck status'])
})
