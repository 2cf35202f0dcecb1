/** The board as data: which cards stand in which column, and what a goal's buttons may do. Pure. */
import { taskStates, type Escalation, type GoalView, type TaskView } from '../../src/api/contract.ts'

export type Goal = GoalView
export type Task = TaskView
export type Question = Escalation

export interface Card {
  task: Task
  goal: Goal
}

export interface Column {
  state: string
  cards: Card[]
}

/** Ended for the board: nothing of it will move and nothing of it waits for anybody. */
export const isOver = ({ state }: Goal): boolean => state === 'done' || state === 'cancelled' || state === 'failed'

const matches = ({ task, goal }: Card, words: readonly string[]): boolean => {
  const text = `#${task.number} ${task.title} ${task.id} ${task.harness} ${task.place} ${goal.title}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

/** What is due first stands first, and of what has ended the newest. */
const order = (a: Card, b: Card): number => {
  const due = ({ task }: Card): string => task.nextStep?.at ?? ''
  if (a.task.state === 'done' || a.task.state === 'cancelled') return b.task.changedAt.localeCompare(a.task.changedAt)
  return (
    due(a).localeCompare(due(b)) || a.goal.createdAt.localeCompare(b.goal.createdAt) || a.task.number - b.task.number
  )
}

/** From what waits over what needs a look to what has ended. */
const columnOrder = { queued: 0, running: 1, blocked: 2, failed: 3, done: 4, cancelled: 5 } satisfies Record<
  (typeof taskStates)[number],
  number
>

/** One column per state, in the order of the flow, also when it is empty. */
export const columnsOf = (goals: readonly Goal[], filter: string): Column[] => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const cards = goals
    .flatMap((goal) => goal.tasks.map((task) => ({ task, goal })))
    .filter((card) => matches(card, words))
  const states = [...taskStates].sort((a, b) => columnOrder[a] - columnOrder[b])
  return states.map((state) => ({ state, cards: cards.filter(({ task }) => task.state === state).sort(order) }))
}

export type GoalAction = 'land' | 'pause' | 'resume' | 'retry' | 'cancel'

/** It is on its way, or was refused and lands when that is mended. */
const isLanding = ({ autoMerge, landing }: Goal): boolean => (autoMerge || landing.asked) && landing.refused === null

/** What a person may do with a goal now, as the flow tables allow it. */
export const goalActions = (goal: Goal): GoalAction[] => {
  switch (goal.state) {
    case 'planning':
      return ['cancel']
    case 'ready':
      return goal.targetBranch === null || isLanding(goal) ? ['cancel'] : ['land', 'cancel']
    case 'active':
    case 'awaiting_human':
      return ['pause', 'cancel']
    case 'paused':
      return ['resume', 'cancel']
    case 'failed':
      return ['retry']
    case 'done':
    case 'cancelled':
      return []
  }
}

export const isEnded = ({ place }: Task): boolean => place === 'done' || place === 'cancelled'

export const taskActions = ({ task, goal }: Card): ('retry' | 'cancel')[] => {
  const open = goal.state !== 'cancelled' && goal.state !== 'done' && goal.state !== 'ready'
  const retriable = ['failed', 'cancelled', 'blocked(awaiting_human)', 'blocked(quota_wait)'].includes(task.place)
  return [...(retriable && open ? (['retry'] as const) : []), ...(isEnded(task) ? [] : (['cancel'] as const))]
}

/** Who takes the next step, in the words of the reader. */
export const ownerText = (owner: string): string => (owner === 'person' ? 'you' : owner)
