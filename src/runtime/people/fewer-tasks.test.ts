import { expect, test } from 'vitest'
import { withFewerTasks } from './fewer-tasks.ts'

const statuses = ['done', 'running', 'done', 'queued', 'cancelled', 'queued', 'done'] as const
const goal = { id: 'g', tasks: statuses.map((status, index) => ({ number: index + 1, status })) }
const numbers = (most: number): number[] => withFewerTasks(goal, most).tasks.map(({ number }) => number)

test('what has not ended comes before what has, the newest of it first, in the order of the tasks', () => {
  expect(numbers(2)).toEqual([2, 4])
  expect(numbers(4)).toEqual([2, 4, 6, 7])
  expect(numbers(0)).toEqual([])
})

test('says how many more there are of each status', () => {
  expect(withFewerTasks(goal, 4).moreTasks).toEqual({ done: 2, cancelled: 1 })
  expect(withFewerTasks(goal, 2).moreTasks).toEqual({ done: 3, cancelled: 1, queued: 1 })
})

test('a goal with no more tasks is as it was', () => {
  expect(withFewerTasks(goal, 7)).toBe(goal)
})
