import { expect, it } from 'vitest'
import { costText } from './cost.ts'

type Runs = Parameters<typeof costText>[1]

const recovery = {
  taskId: 't-a',
  runId: 'r-a',
  scope: 'launch',
  startedAt: '2026-01-01T00:00:10.000Z',
  decidedAt: '2026-01-01T00:00:14.000Z',
} as Parameters<typeof costText>[0]

const launch = (number: number, startedAt: string, tokens: number | null) => ({
  number,
  startedAt,
  spend: tokens === null ? null : { tokens, costUsd: 0.5, seconds: 1 },
})

const runs = (last: number | null): Runs =>
  [
    {
      id: 'r-a',
      taskId: 't-a',
      number: 1,
      startedAt: '2026-01-01T00:00:00.000Z',
      launches: [launch(1, '2026-01-01T00:00:01.000Z', 9), launch(2, '2026-01-01T00:00:11.000Z', last)],
    },
    {
      id: 'r-b',
      taskId: 't-a',
      number: 2,
      startedAt: '2026-01-01T00:01:00.000Z',
      launches: [],
      spend: { tokens: 1, costUsd: 0 },
    },
  ] as unknown as Runs

it('a relaunch costs what the launch after it spent', () => {
  expect(costText(recovery, runs(1200))).toBe('4 s; launch 2, 1,200 tokens, $0.50')
  expect(costText({ ...recovery, decidedAt: null }, runs(null))).toBe('not decided yet; launch 2 (running)')
})

it('a wait costs what the run after it spent', () => {
  expect(costText({ ...recovery, scope: 'task' }, runs(1))).toBe('4 s; run 2, 1 token, $0.00')
})

it('a repair within the run costs its time', () => {
  expect(costText({ ...recovery, scope: 'run' }, runs(1))).toBe('4 s')
})
