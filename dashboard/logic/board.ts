/** Goals and tasks as the pages know them. Pure. */
import type { Escalation, GoalView, TaskView } from '../../src/api/contract.ts'

export type BoardGoal = GoalView
export type BoardTask = TaskView
export type BoardQuestion = Escalation

export interface Card {
  task: BoardTask
  goal: BoardGoal
}

/** Nothing of the goal will change and nothing waits for a person. A ready goal still waits to land. */
export const isGoalOver = ({ state }: BoardGoal): boolean =>
  state === 'done' || state === 'cancelled' || state === 'failed'

/** A task that another one continues is not counted beside it, nor is the plan beside its tasks. */
export const progressOf = ({ tasks }: BoardGoal): { done: number; all: number } => {
  const current = tasks.filter(({ supersededBy }) => supersededBy === null)
  const work = current.filter(({ plan }) => plan === null)
  const needed = work.length === 0 ? current : work
  return { done: needed.filter(({ status }) => status === 'done').length, all: needed.length }
}

/** Who acts next, for a reader who knows nothing of the parts of the engine. */
export const ownerText = (owner: string): string => {
  if (owner === 'person') return 'You'
  return owner === 'executor' ? 'The agent' : 'Unstuck'
}
