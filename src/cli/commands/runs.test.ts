import { expect, test } from 'vitest'
import type { Run } from '../../api/contract.ts'
import { runLine } from './runs.ts'

const now = new Date(2026, 10, 24, 23, 36)
const before = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString()
const common = { id: 'r-1', taskId: 't-1', number: 2, harness: 'claude', launches: [], phase: 'verify' }

test.each([
  [
    { state: 'success', startedAt: before(12), endedAt: before(4), verdict: { outcome: 'verified' }, errorMeta: null },
    'r-1  23:24, 12 min ago, took 8 min  task t-1, attempt 2  claude  succeeded: verified',
  ],
  [
    { state: 'running', startedAt: before(4), endedAt: null, verdict: null, errorMeta: null },
    'r-1  23:32, 4 min ago, for 4 min  task t-1, attempt 2  claude  running (checking)',
  ],
  [
    {
      state: 'failed',
      startedAt: before(4),
      endedAt: before(3),
      verdict: null,
      errorMeta: { message: 'x'.repeat(200) },
    },
    `r-1  23:32, 4 min ago, took 60 s  task t-1, attempt 2  claude  failed: ${'x'.repeat(99)}…`,
  ],
])('a run is one line with its start, duration and outcome', (run, expected) => {
  expect(runLine({ ...common, ...run } as unknown as Run, now)).toBe(expected)
})

test('a run that an engine left at work is not shown as running while there is no engine', () => {
  const run = { ...common, state: 'running', startedAt: before(4), endedAt: null, verdict: null, errorMeta: null }
  expect(runLine(run as unknown as Run, now, true)).not.toContain('running')
})
