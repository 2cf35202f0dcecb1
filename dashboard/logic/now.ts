/** The first page as data: what moves, what waits and why. Pure. */
import type { InboxView } from '../../src/api/contract.ts'
import { isGoalOver, type BoardGoal, type Card } from './board.ts'
import { groupOf, whyText, type TaskGroup } from './states.ts'

/** Tasks of one goal that wait for the same reason and without a clock of their own. */
export interface WaitLine {
  key: string
  cards: readonly Card[]
  why: string
  /** When it ends, where that is known. */
  at: string | undefined
}

const cardsOf = (goals: readonly BoardGoal[]): Card[] =>
  goals.flatMap((goal) => goal.tasks.map((task) => ({ task, goal })))

const isOf = (...groups: readonly TaskGroup[]): ((card: Card) => boolean) => {
  const wanted = new Set(groups)
  return ({ task }) => wanted.has(groupOf(task))
}

const startOf = ({ task }: Card): string => task.run?.startedAt ?? ''

/** The longest at work come first, so that a new one does not move the others. */
export const movingOf = (goals: readonly BoardGoal[]): Card[] =>
  cardsOf(goals)
    .filter(isOf('running'))
    .toSorted((a, b) => startOf(a).localeCompare(startOf(b)))

const lineOf = (cards: readonly Card[]): WaitLine[] => {
  const [first] = cards
  if (first === undefined) return []
  const { task, goal } = first
  const why = whyText(task)
  const same = cards.filter((card) => card.task.nextStep?.at === undefined)
  const own = cards.filter((card) => card.task.nextStep?.at !== undefined)
  return [
    ...own.map((card) => ({ key: card.task.id, cards: [card], why, at: card.task.nextStep?.at })),
    ...(same.length === 0 ? [] : [{ key: `${goal.id} ${task.status} ${why}`, cards: same, why, at: undefined }]),
  ]
}

/** With a clock first, the soonest at the top; then failed and waiting tasks, then those that have not begun. */
const rank = ({ cards, at }: WaitLine): string => {
  const queued = cards[0]?.task.status === 'queued' ? '2' : '1'
  return at === undefined ? queued : `0${at}`
}

export const waitingOf = (goals: readonly BoardGoal[]): WaitLine[] => {
  const open = goals.filter((goal) => !isGoalOver(goal))
  const cards = cardsOf(open).filter(isOf('failed', 'waiting', 'queued'))
  const same = Map.groupBy(cards, ({ task, goal }) => `${goal.id} ${task.status} ${whyText(task)}`)
  return [...same.values()].flatMap(lineOf).toSorted((a, b) => rank(a).localeCompare(rank(b)))
}

export const readyOf = (goals: readonly BoardGoal[]): BoardGoal[] => goals.filter(({ state }) => state === 'ready')

export type AskedGroup = InboxView['groups'][number]

/** How many tasks the lines are about. */
export const tasksIn = (lines: readonly WaitLine[]): number => lines.reduce((sum, { cards }) => sum + cards.length, 0)

/** The start of the day of the reader, by the clock of the server. */
export const startOfDay = (now: number): string => {
  const day = new Date(now)
  day.setHours(0, 0, 0, 0)
  return day.toISOString()
}

/** Changes when work may have landed, so that the report is read again then and not with every event. */
export const landedMark = (goals: readonly BoardGoal[]): string =>
  goals
    .filter((goal) => isGoalOver(goal) || goal.state === 'ready')
    .map(({ id, state }) => `${id} ${state}`)
    .join(' ')
