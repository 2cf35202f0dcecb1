import { expect, test } from 'vitest'
import { countTests, summaries } from './test-count.ts'

test.each(summaries.map((summary) => [summary.tool, summary] as const))(
  'the summary of %s is read',
  (_, { example }) => {
    expect(countTests(['noise', example])?.ran).toBeGreaterThan(0)
  },
)

test.each([
  [['ℹ tests 4', 'ℹ pass 2', 'ℹ fail 1', 'ℹ skipped 1', 'ℹ todo 0'], { ran: 3, skipped: 1, failed: 1 }],
  [['      Tests  1 failed | 2 passed | 1 skipped (4)'], { ran: 3, skipped: 1, failed: 1 }],
  [['Tests:       1 skipped, 2 passed, 3 total'], { ran: 2, skipped: 1 }],
  [['  2 passing (5ms)', '  1 pending', '  1 failing'], { ran: 3, skipped: 1, failed: 1 }],
  [['====== 1 failed, 2 passed, 1 skipped in 0.03s ======'], { ran: 3, skipped: 1, failed: 1 }],
  [
    [
      'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out',
      'test result: ok. 1 passed; 0 failed; 0 ignored',
    ],
    { ran: 3, skipped: 1 },
  ],
  [['[INFO] Tests run: 2, Failures: 0', '[INFO] Tests run: 3, Failures: 0'], { ran: 3, skipped: 0 }],
])('%j', (lines, count) => {
  expect(countTests(lines)).toEqual(count)
})

test('output without a summary has no count', () => {
  expect(countTests(['all good', '3 passed'])).toBeUndefined()
})
