import { expect, it } from 'vitest'
import { isGoalOver, ownerText, progressOf } from './board.ts'
import { goal, task } from './fixture.ts'

it('a goal that waits to be merged is still on the board', () => {
  expect(
    (['ready', 'paused', 'active', 'failed', 'done', 'cancelled'] as const).map((state) => isGoalOver(goal(state, []))),
  ).toEqual([false, false, false, true, true, true])
})

it('names who acts next without the parts of the engine', () => {
  expect(['person', 'executor', 'cycle manager', 'merge queue'].map(ownerText)).toEqual([
    'You',
    'The agent',
    'Unstuck',
    'Unstuck',
  ])
})

it('a task that another one continues is not counted beside it', () => {
  const tasks = [
    task({ id: 't-a', status: 'cancelled', state: 'cancelled', supersededBy: 't-c' }),
    task({ id: 't-b', status: 'cancelled', state: 'cancelled' }),
    task({ id: 't-c', status: 'done', state: 'done' }),
  ]
  expect(progressOf(goal('active', tasks))).toEqual({ done: 1, all: 2 })
})

it('the plan of a goal is counted only where nothing else is', () => {
  const plan = task({ id: 't-p', status: 'done', state: 'done', plan: 'run' })
  expect(progressOf(goal('active', [plan, task({ id: 't-a' })]))).toEqual({ done: 0, all: 1 })
  expect(progressOf(goal('done', [plan]))).toEqual({ done: 1, all: 1 })
})
