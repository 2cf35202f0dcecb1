/** What the palette offers: pages, goals, tasks, and what may be done with them, found by the words that a person types. Pure. */
import type { BoardGoal } from './board.ts'
import { linkTo } from './route.ts'
import { groupOf, taskGroups, taskWord } from './states.ts'
import { filterQuery, noFilter } from './work.ts'
import { readableTitle } from '../../src/api/contract.ts'
import type { RemainingAction } from './questions.ts'

type GoalKind = BoardGoal['actions'][number]
type TaskKind = Exclude<RemainingAction, 'hint'>

export type Command =
  | { do: 'open'; address: string }
  | { do: 'goal'; kind: GoalKind; goal: BoardGoal }
  | { do: 'task'; kind: TaskKind; task: BoardGoal['tasks'][number] }
  | { do: 'theme'; theme: 'light' | 'dark' | 'system' }
  | { do: 'keys' }

export interface Entry {
  id: string
  /** What it does. */
  text: string
  /** What kind of thing it is, or its state. */
  hint: string
  command: Command
}

const open = (text: string, hint: string, address: string): Entry => ({
  ...{ id: `open ${address}`, text, hint },
  command: { do: 'open', address },
})

const pages: readonly Entry[] = [
  open('Now', 'page', linkTo.now),
  open('Work: table of all tasks', 'page', linkTo.work()),
  open('Work: board of all tasks', 'page', linkTo.work(filterQuery({ ...noFilter, view: 'board' }))),
  open('Work: equal failures by cause', 'page', linkTo.work(filterQuery({ ...noFilter, group: 'cause' }))),
  open('Inbox', 'page', linkTo.inbox),
  open('Recovery', 'page', linkTo.recovery),
  open('Repositories', 'page', linkTo.repositories),
  ...taskGroups.map((state) => open(`Tasks: ${state}`, 'filter', linkTo.work(filterQuery({ ...noFilter, state })))),
]

const settings: readonly Entry[] = [
  ...(['light', 'dark', 'system'] as const).map((theme) => ({
    ...{ id: `theme ${theme}`, text: `Theme: ${theme}`, hint: 'setting' },
    command: { do: 'theme' as const, theme },
  })),
  { id: 'keys', text: 'Show the keys', hint: '?', command: { do: 'keys' } },
]

const goalVerbs: Record<GoalKind, string> = {
  land: 'Land',
  resume: 'Resume',
  pause: 'Pause',
  retry: 'Retry the tasks of',
  cancel: 'Cancel',
}

const taskVerbs: Record<TaskKind, string> = {
  approve: 'Approve',
  reject: 'Reject',
  'give-back': 'Give back',
  retry: 'Retry',
  tell: 'Tell the agent of',
  'take-over': 'Take over',
  edit: 'Edit',
  cancel: 'Cancel',
}

const ofGoal = (goal: BoardGoal): Entry[] => [
  open(goal.title, 'goal', linkTo.goal(goal.id)),
  ...goal.actions.map((kind) => ({
    ...{ id: `${kind} ${goal.id}`, text: `${goalVerbs[kind]} ${goal.title}`, hint: 'goal' },
    command: { do: 'goal' as const, kind, goal },
  })),
]

const ofTask = (goal: BoardGoal, task: BoardGoal['tasks'][number]): Entry[] => {
  const name = `#${task.number} ${readableTitle(task.title)}`
  return [
    open(name, taskWord(task), linkTo.task(task.id)),
    ...task.actions.map((kind) => ({
      ...{ id: `${kind} ${task.id}`, text: `${taskVerbs[kind]} ${name}`, hint: goal.title },
      command: { do: 'task' as const, kind, task },
    })),
  ]
}

/** What the reader looks at comes first, then what needs somebody, then the rest. `here`: the id of a task or goal. */
export const entriesOf = (goals: readonly BoardGoal[], here: string | undefined): Entry[] => {
  const groups = Map.groupBy(
    goals.flatMap((goal) => goal.tasks.map((task) => ({ goal, task }))),
    ({ task }) => groupOf(task),
  )
  const cards = taskGroups.flatMap((group) => groups.get(group) ?? [])
  const own = [
    ...goals.filter(({ id }) => id === here).flatMap(ofGoal),
    ...cards.filter(({ task }) => task.id === here).flatMap(({ goal, task }) => ofTask(goal, task)),
  ]
  const all = [
    ...own,
    ...pages,
    ...goals.flatMap(ofGoal),
    ...cards.flatMap(({ goal, task }) => ofTask(goal, task)),
    ...settings,
  ]
  return [...new Map(all.map((entry) => [entry.id, entry])).values()]
}

const most = 60

const isStart = (text: string, word: string): boolean => text.startsWith(word) || text.includes(` ${word}`)

/** Every word has to occur; where each begins a word of the entry, it comes first. */
export const found = (entries: readonly Entry[], typed: string): Entry[] => {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const [starts, others]: [Entry[], Entry[]] = [[], []]
  for (const entry of entries) {
    const text = `${entry.text} ${entry.hint}`.toLowerCase()
    if (!words.every((word) => text.includes(word))) continue
    if (words.every((word) => isStart(text, word))) starts.push(entry)
    else others.push(entry)
    if (starts.length >= most) break
  }
  return [...starts, ...others].slice(0, most)
}
