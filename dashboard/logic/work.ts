/** The page of all work as data: which tasks a filter leaves, in which order, and which failures are the same. Pure. */
import { isGoalOver, type BoardGoal, type Card } from './board.ts'
import { groupOf, taskGroups, taskWord, whyText, type TaskGroup } from './states.ts'
import { readableTitle } from '../../src/api/contract.ts'

export const sortKeys = ['state', 'task', 'harness', 'attempts', 'changed'] as const
export type SortKey = (typeof sortKeys)[number]

/** Everything that the address of the page says; '' = no choice. */
export interface WorkFilter {
  view: 'table' | 'board'
  text: string
  goal: string
  state: TaskGroup | ''
  cause: string
  harness: string
  /** `all` = with goals that have ended. */
  goals: 'open' | 'all'
  group: 'cause' | ''
  sort: SortKey
  down: boolean
}

export const noFilter: WorkFilter = {
  ...{ view: 'table', text: '', goal: '', state: '', cause: '', harness: '' },
  ...{ goals: 'open', group: '', sort: 'state', down: false },
}

const oneOf = <T extends string>(list: readonly T[], value: string | null, otherwise: T): T =>
  list.find((each) => each === value) ?? otherwise

export const parseFilter = (query: string): WorkFilter => {
  const given = new URLSearchParams(query)
  const text = (name: string): string => given.get(name) ?? ''
  const sort = text('sort')
  return {
    view: oneOf(['table', 'board'], given.get('view'), 'table'),
    ...{ text: text('text'), goal: text('goal'), cause: text('cause'), harness: text('harness') },
    state: oneOf(['', ...taskGroups], given.get('state'), ''),
    goals: oneOf(['open', 'all'], given.get('goals'), 'open'),
    group: oneOf(['', 'cause'], given.get('group'), ''),
    sort: oneOf(sortKeys, sort.replace(/^-/, ''), 'state'),
    down: sort.startsWith('-'),
  }
}

/** Only what differs from `noFilter`, so that the plain page has a plain address. */
export const filterQuery = ({ sort, down, ...rest }: WorkFilter): string => {
  const query = new URLSearchParams()
  const add = (name: string, value: string, plain: string): void => {
    if (value !== plain) query.set(name, value)
  }
  for (const name of ['view', 'text', 'goal', 'state', 'cause', 'harness', 'goals', 'group'] as const)
    add(name, rest[name], noFilter[name])
  add('sort', `${down ? '-' : ''}${sort}`, noFilter.sort)
  return query.toString()
}

export interface Cause {
  /** Equal for the same failure. */
  key: string
  text: string
}

const current = new Set<TaskGroup>(['needs you', 'failed', 'waiting', 'queued'])

/** The failure that a task has not got over yet. */
export const causeOf = ({ task }: Card): Cause | undefined => {
  const failure = task.run?.failure ?? null
  if (failure === null || !current.has(groupOf(task))) return undefined
  return { key: `${failure.code} ${failure.signature}`, text: failure.text === '' ? failure.code : failure.text }
}

const textOf = (card: Card): string => {
  const { task, goal } = card
  const named = `#${task.number} ${readableTitle(task.title)} ${task.id} ${task.harness} ${task.status}`
  return `${named} ${taskWord(task)} ${goal.title} ${whyText(task)} ${task.run?.failure?.text ?? ''}`.toLowerCase()
}

const isFound = (filter: WorkFilter): ((card: Card) => boolean) => {
  const wanted = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  return (card) => {
    const { task, goal } = card
    if (filter.goals === 'open' && filter.goal === '' && isGoalOver(goal)) return false
    if (filter.goal !== '' && goal.id !== filter.goal) return false
    if (filter.state !== '' && groupOf(task) !== filter.state) return false
    if (filter.harness !== '' && task.harness !== filter.harness) return false
    if (filter.cause !== '' && causeOf(card)?.key !== filter.cause) return false
    if (wanted.length === 0) return true
    const text = textOf(card)
    return wanted.every((word) => text.includes(word))
  }
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byTask = (a: Card, b: Card): number =>
  compareText(b.goal.createdAt, a.goal.createdAt) || a.task.number - b.task.number

/** Within a state: what is due first before what has no clock; of what has ended the newest. */
const byDue = (a: Card, b: Card): number => {
  if (a.task.state === 'done' || a.task.state === 'cancelled') return compareText(b.task.changedAt, a.task.changedAt)
  return compareText(a.task.nextStep?.at ?? '~', b.task.nextStep?.at ?? '~') || byTask(a, b)
}

const comparisons: Record<Exclude<SortKey, 'state'>, (a: Card, b: Card) => number> = {
  task: byTask,
  harness: (a, b) => compareText(a.task.harness, b.task.harness) || byTask(a, b),
  attempts: (a, b) => (b.task.run?.number ?? 0) - (a.task.run?.number ?? 0) || byTask(a, b),
  changed: (a, b) => compareText(b.task.changedAt, a.task.changedAt) || byTask(a, b),
}

/** What needs a person comes first. Each state is sorted by itself, because thousands of tasks have only a few states. */
const sortedByState = (cards: readonly Card[]): Card[] => {
  const groups = Map.groupBy(cards, ({ task }) => groupOf(task))
  return taskGroups.flatMap((group) => (groups.get(group) ?? []).toSorted(byDue))
}

const foundCards = (goals: readonly BoardGoal[], filter: WorkFilter): Card[] =>
  goals.flatMap((goal) => goal.tasks.map((task) => ({ task, goal }))).filter(isFound(filter))

export const workCards = (goals: readonly BoardGoal[], filter: WorkFilter): Card[] => {
  const cards = foundCards(goals, filter)
  const sorted = filter.sort === 'state' ? sortedByState(cards) : cards.toSorted(comparisons[filter.sort])
  return filter.down ? sorted.toReversed() : sorted
}

export interface CauseGroup {
  /** Undefined = the tasks without a failure. */
  cause: Cause | undefined
  cards: Card[]
}

/** The most common failure first, the tasks without one last. */
export const byCause = (cards: readonly Card[]): CauseGroup[] => {
  const groups = Map.groupBy(cards, (card) => causeOf(card)?.key ?? '')
  return [...groups.values()]
    .map((own) => ({ cause: own[0] === undefined ? undefined : causeOf(own[0]), cards: own }))
    .toSorted((a, b) => {
      if ((a.cause === undefined) !== (b.cause === undefined)) return a.cause === undefined ? 1 : -1
      return b.cards.length - a.cards.length
    })
}

export interface Option {
  value: string
  text: string
}

/** What the filters offer: only what some task of these goals has. */
export const optionsOf = (goals: readonly BoardGoal[], filter: WorkFilter) => {
  const cards = foundCards(goals, { ...noFilter, goals: filter.goals, goal: filter.goal })
  const counts = Map.groupBy(cards, ({ task }) => groupOf(task))
  const causes = byCause(cards).flatMap(({ cause, cards: { length } }) =>
    cause === undefined ? [] : [{ value: cause.key, text: `${length}× ${cause.text}` }],
  )
  const harnesses = [...new Set(cards.map(({ task }) => task.harness))].toSorted(compareText)
  const shown = goals.filter((goal) => filter.goals === 'all' || goal.id === filter.goal || !isGoalOver(goal))
  return {
    causes,
    harnesses: harnesses.map((value) => ({ value, text: value })),
    goals: shown.map(({ id, title }) => ({ value: id, text: title })),
    states: taskGroups.map((value) => ({
      value,
      text: `${value} (${counts.get(value)?.length ?? 0})`,
    })),
  } satisfies Record<string, Option[]>
}

/** The columns of the board: one for each group, also for an empty one, so that columns do not move. */
export const workColumns = (cards: readonly Card[]): { group: TaskGroup; cards: Card[] }[] => {
  const groups = Map.groupBy(cards, ({ task }) => groupOf(task))
  return taskGroups.map((group) => ({ group, cards: groups.get(group) ?? [] }))
}
