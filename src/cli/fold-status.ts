/** What `unstuck status` shows first, and what it only counts: a store keeps thousands of goals, and a terminal has some forty lines. Pure. */
import type { GoalView, StatusView } from '../api/contract.ts'

/** How many goals that have not ended are shown with their tasks, how many tasks of each, and how many goals that have ended. */
export const shownAtMost = { goals: 10, tasks: 12, ended: 3 } as const

const isOver = ({ state }: Pick<GoalView, 'state'>): boolean =>
  state === 'done' || state === 'failed' || state === 'cancelled'

/** What asks comes first, then what a person can land or resume, then what moves. */
const rankOf = ({ id, state }: GoalView, asking: ReadonlySet<string | null>): number => {
  if (isOver({ state })) return 4
  if (asking.has(id) || state === 'awaiting_human') return 0
  return state === 'ready' ? 1 : state === 'paused' ? 2 : 3
}

export interface FoldedGoals {
  shown: GoalView[]
  /** Of the goals that have not ended, those that are only counted, by state. */
  more: Record<string, number>
}

export const foldGoals = (status: Pick<StatusView, 'goals' | 'escalations'>, isWhole: boolean): FoldedGoals => {
  const asking = new Set(status.escalations.map(({ goalId }) => goalId))
  const ranked = status.goals.toSorted((one, other) => rankOf(one, asking) - rankOf(other, asking))
  const open = ranked.filter((goal) => !isOver(goal))
  const folded = isWhole ? [] : open.slice(shownAtMost.goals)
  const more: Record<string, number> = {}
  for (const { state } of folded) more[state] = (more[state] ?? 0) + 1
  return { shown: ranked.filter((goal) => !folded.includes(goal)), more }
}

/** `1,240 done, 3 cancelled` */
export const countsText = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([state, count]) => `${count.toLocaleString('en-US')} ${state}`)
    .join(', ')
