import { expect, it } from 'vitest'
import { failedTask, goal, run, task } from './fixture.ts'
import { movingOf, startOfDay, tasksIn, waitingOf } from './now.ts'

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()

const queued = (id: string, text: string) => task({ id, nextStep: { owner: 'dispatcher', text } })
const running = (id: string, minute: number) =>
  task({
    id,
    status: 'running',
    state: 'running',
    run: run({ id: `r-${id}`, state: 'running', startedAt: at(minute) }),
  })
const limited = (id: string, minute: number) =>
  task({
    ...{ id, status: 'blocked(quota_wait)', state: 'blocked' },
    nextStep: { owner: 'cycle manager', text: 'the limit of codex resets', at: at(minute) },
  })

const busy = goal('active', [
  queued('t-1', 'waiting for a free agent'),
  running('t-2', 5),
  limited('t-3', 9),
  queued('t-4', 'waiting for task 2'),
  running('t-5', 2),
  limited('t-6', 7),
  queued('t-7', 'waiting for a free agent'),
  failedTask('t-8', 'expected 1 to be 2'),
  task({ id: 't-9', status: 'done', state: 'done' }),
])

it('what runs longest comes first', () => {
  expect(movingOf([busy]).map((card) => card.task.id)).toEqual(['t-5', 't-2'])
})

it('tasks that wait for the same are one line; those with a clock come first, each by itself', () => {
  expect(waitingOf([busy]).map(({ cards, at: due }) => [cards.map((card) => card.task.id), due])).toEqual([
    [['t-6'], at(7)],
    [['t-3'], at(9)],
    [['t-1', 't-7'], undefined],
    [['t-4'], undefined],
  ])
})

it('what needs a person does not wait', () => {
  expect(tasksIn(waitingOf([busy]))).toBe(5)
})

it('the tasks of a goal that has ended wait for nothing', () => {
  expect(waitingOf([goal('failed', [queued('t-1', 'the goal is failed')])])).toEqual([])
})

it('the day begins at midnight of the reader', () => {
  const noon = new Date(2026, 0, 1, 12, 30).getTime()
  expect(new Date(startOfDay(noon)).getHours()).toBe(0)
  expect(noon - Date.parse(startOfDay(noon))).toBe(12.5 * 3_600_000)
})
