import { expect, it } from 'vitest'
import { wantsReplan } from './replan.ts'
import type { TaskPlan, TaskStatus } from './task.ts'

/** Tasks in the order of their numbers: the plan of each, and its status. */
const goal = (...tasks: [plan: TaskPlan | null, status?: TaskStatus, supersededBy?: string][]) =>
  tasks.map(([plan, status = 'done', supersededBy = null], index) => ({
    number: index + 1,
    plan,
    status,
    supersededBy,
  }))
const planned = [['run'], [null], [null]] as [TaskPlan | null][]

it.each([
  ['a planned goal', goal(...planned), true],
  ['a reviewed plan', goal(['review'], [null], [null]), true],
  ['no plan', goal([null], [null]), false],
  ['a plan of one task', goal(['run'], [null]), false],
  ['a task that another one continues', goal(['run'], [null, 'cancelled', 't-2'], [null]), false],
  ['nothing new since the last comparison', goal(...planned, ['replan']), false],
  ['new work since the last comparison', goal(...planned, ['replan'], [null]), true],
  ['two comparisons', goal(...planned, ['replan'], [null], ['replan'], [null]), false],
  ['a comparison that a person cancelled', goal(...planned, ['replan', 'cancelled']), false],
])('%s', (_, tasks, wanted) => {
  expect(wantsReplan(tasks, 2)).toBe(wanted)
  expect(wantsReplan(tasks, 0)).toBe(false)
})
