import { expect, it } from 'vitest'
import type { EventView } from '../../src/api/contract.ts'
import { axisOf, barsOf, placeOf, ticksOf, type Bar } from './task-timeline.ts'

const start = Date.parse('2026-01-01T00:00:00.000Z')

/** At this second. */
const event = (
  second: number,
  type: string,
  payload: EventView['payload'] = {},
  runId: string | null = 'r-a',
): EventView => ({
  ...{ seq: second, id: second, type, payload, runId, goalId: 'g-a', taskId: 't-a' },
  ...{ timestamp: new Date(start + second * 1000).toISOString(), at: new Date(start + second * 1000).toISOString() },
})

const story: EventView[] = [
  event(0, 'task.created', { number: 1 }, null),
  event(5, 'task.claimed', { to: 'running' }),
  event(5, 'run.started', { number: 1 }),
  event(6, 'run.launched', { driver: 'claude', launch: 1 }),
  event(16, 'run.phase', { from: 'supervise', to: 'collect' }),
  event(17, 'run.phase', { from: 'collect', to: 'verify' }),
  event(20, 'recovery.started', { recovery: 'rec_1', action: { type: 'relaunch', name: 'X', feedback: {} } }),
  event(20, 'run.phase', { from: 'verify', to: 'launch' }),
  event(21, 'run.launched', { driver: 'claude', launch: 2 }),
  event(30, 'recovery', { id: 'rec_1', status: 'failed' }),
  event(31, 'run.failed'),
  event(31, 'task.failed', { to: 'failed' }),
  event(31, 'escalation.opened', { escalation: 'q-a' }),
]

const inLane = (bars: Bar[], lane: Bar['lane']): unknown[] =>
  bars
    .filter((bar) => bar.lane === lane)
    .map(({ from, to, tone, label, href }) => [
      (from - start) / 1000,
      to === undefined ? 'lasts' : (to - start) / 1000,
      tone,
      label,
      href,
    ])

it('each part of the story is a bar in its lane, with its end, its outcome and where it leads', () => {
  const bars = barsOf(story)
  expect(inLane(bars, 'Attempts')).toEqual([[5, 31, 'bad', 'Run 1 failed', '#/runs/r-a']])
  expect(inLane(bars, 'Agent')).toEqual([
    [6, 16, 'busy', 'Claude, launch 1', '#/runs/r-a/log'],
    [21, 31, 'busy', 'Claude, launch 2', '#/runs/r-a/log'],
  ])
  expect(inLane(bars, 'Checks')).toEqual([[17, 20, 'bad', 'Its work is checked', '#/runs/r-a']])
  expect(inLane(bars, 'Recoveries')).toEqual([
    [20, 30, 'bad', 'Sent the failure back to the agent: it did not help', '#/runs/r-a'],
  ])
  expect(inLane(bars, 'Waits')).toEqual([
    [0, 5, 'quiet', 'Waits in the queue', undefined],
    [31, 'lasts', 'quiet', 'Waits for the next attempt', undefined],
  ])
  expect(inLane(bars, 'Questions')).toEqual([[31, 'lasts', 'warn', 'A question for you', '#/inbox/q-a']])
})

it('a run that fails in its checks leaves no check that looks as if it lasted', () => {
  const bars = barsOf([
    event(0, 'run.started', { number: 1 }),
    event(1, 'run.phase', { from: 'collect', to: 'verify' }),
    event(4, 'run.failed'),
  ])
  expect(inLane(bars, 'Checks')).toEqual([[1, 4, 'bad', 'Its work is checked', '#/runs/r-a']])
})

it('a long wait is drawn shorter, so that the work stays readable', () => {
  const bars = barsOf(story)
  const now = start + 3_600_000
  const axis = axisOf(bars, now)
  const run = bars.find(({ lane }) => lane === 'Attempts')
  const wait = bars.findLast(({ lane }) => lane === 'Waits')
  if (run === undefined || wait === undefined) throw new Error('no bars')
  expect(axis.shortened).toBe(true)
  expect(placeOf(run, axis, now).width).toBeGreaterThan(60)
  const { left, width } = placeOf(wait, axis, now)
  expect(left + width).toBeCloseTo(100)
  expect(ticksOf(axis, 4).map(({ left }) => left)).toEqual([0, 25, 50, 75])
  expect(ticksOf(axis, 4)[0]?.at).toBe(start)
})

it('without work there is one plain axis', () => {
  const bars = barsOf([event(0, 'task.created', { number: 1 }, null)])
  const now = start + 60_000
  expect(axisOf(bars, now)).toMatchObject({ shortened: false })
  expect(placeOf(bars[0] as Bar, axisOf(bars, now), now)).toEqual({ left: 0, width: 100 })
})
