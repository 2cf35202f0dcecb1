/** The board as data: which card is in which column, and in which order. Pure. */
import { taskStates, type Escalation, type GoalView, type TaskView } from '../../src/api/contract.ts'

export type BoardGoal = GoalView
export type BoardTask = TaskView
export type BoardQuestion = Escalation

export interface Card {
  task: BoardTask
  goal: BoardGoal
}

export interface Column {
  state: string
  cards: Card[]
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

const matches = ({ task, goal }: Card, words: readonly string[]): boolean => {
  const text = `#${task.number} ${task.title} ${task.id} ${task.harness} ${task.status} ${goal.title}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Cards with the earliest due time come first; of ended cards the newest. */
const order = (a: Card, b: Card): number => {
  const due = ({ task }: Card): string => task.nextStep?.at ?? ''
  if (a.task.state === 'done' || a.task.state === 'cancelled') return b.task.changedAt.localeCompare(a.task.changedAt)
  return (
    due(a).localeCompare(due(b)) || a.goal.createdAt.localeCompare(b.goal.createdAt) || a.task.number - b.task.number
  )
}

/** Waiting, then in need of attention, then ended. */
const columnOrder = { queued: 0, running: 1, blocked: 2, failed: 3, done: 4, cancelled: 5 } satisfies Record<
  (typeof taskStates)[number],
  number
>

/** One column per state, also for a state without cards, so that columns do not move. */
export const columnsOf = (goals: readonly BoardGoal[], filter: string): Column[] => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const cards = goals
    .flatMap((goal) => goal.tasks.map((task) => ({ task, goal })))
    .filter((card) => matches(card, words))
  const states = [...taskStates].sort((a, b) => columnOrder[a] - columnOrder[b])
  return states.map((state) => ({ state, cards: cards.filter(({ task }) => task.state === state).sort(order) }))
}

/** Who acts next, for a reader who knows nothing of the parts of the engine. */
export const ownerText = (owner: string): string => {
  if (owner === 'person') return 'You'
  return owner === 'executor' ? 'The agent' : 'Unstuck'
}
