/** The live block of `run`: a goal, its unfinished tasks and what each does, as lines that fit the terminal. Pure. */
import { isWork } from '../../domain/task.ts'
import type { ActivityView, GoalView, TaskView } from '../../api/contract.ts'
import { isLanding } from '../../domain/goal.ts'
import { loopText } from '../../domain/loop.ts'
import { phaseWords } from '../../domain/run.ts'
import { safe, type Paint } from '../render.ts'
import { whenText } from '../times.ts'
import { elapsedText } from './elapsed.ts'
import { cutToWidth, cutPainted, widthOf } from '../width.ts'
import { readableTitle } from '../../domain/task-title.ts'

export interface LiveView {
  goal: GoalView
  /** The activity of the runs in progress, by run id. */
  activities: ReadonlyMap<string, ActivityView>
  /** The engine is not responding. */
  silent: boolean
}

export interface FrameOptions {
  columns: number
  rows: number
  now: Date
  paint: Paint
}

type LiveTask = TaskView

const goalWords = (goal: GoalView): string => {
  if (isLanding(goal)) return `landing on ${safe(goal.targetBranch ?? 'your branch')}`
  if (goal.state === 'active') return 'in progress'
  return goal.state === 'awaiting_human' ? 'waiting for you' : goal.state
}

const waitWords = (task: LiveTask, now: Date): string => {
  const step = task.nextStep
  // A time that has passed is shown as now: the next pass of the engine acts on it.
  const when = step?.at === undefined ? '' : ` ${whenText(Math.max(Date.parse(step.at), now.getTime()), now)}`
  if (task.status === 'blocked(quota_wait)') return `the limit of ${safe(task.harness)} resets${when}`
  if (task.status === 'failed') return `next attempt${when}`
  return `${safe(step?.text ?? 'waiting')}${when}`
}

const runText = ({ phase, loop }: NonNullable<LiveTask['run']>): string =>
  loop == null ? phaseWords[phase] : `${loopText(loop)}: ${phaseWords[phase]}`

/** What a task does or waits for, in plain words. */
export const taskActivityText = (task: LiveTask, now: Date): string => {
  if (task.status === 'running') return task.run === null ? 'preparing' : runText(task.run)
  if (task.status === 'blocked(awaiting_human)') return 'waiting for you'
  return waitWords(task, now)
}

const tokensText = (tokens: number): string => (tokens > 0 ? `${tokens.toLocaleString('en-US')} tokens` : '')

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' · ')

/** The second line of a task: the check that runs, or the last words of its agent. */
const detailOf = (task: LiveTask, activity: ActivityView | undefined): string => {
  if (task.status !== 'running' || activity === undefined) return ''
  if (task.run?.phase === 'verify') return activity.check === null ? '' : `$ ${safe(activity.check)}`
  return [activity.report, activity.last].flatMap((text) => (text === null ? [] : [safe(text)])).join('  ·  ')
}

/** Titles are cut to this width, which is enough to recognise a task, before the text beside them is cut. */
const minTitle = 16
const headWidth = 6
const gap = 2

interface Row {
  task: LiveTask
  doing: string
  detail: string
}

const rowOf = (task: LiveTask, { activities }: LiveView, now: Date): Row => {
  const activity = task.run === null ? undefined : activities.get(task.run.id)
  const facts =
    task.status === 'running' && task.run !== null
      ? [elapsedText(task.run.startedAt, now), tokensText(activity?.tokens ?? 0)]
      : []
  return { task, doing: joined([taskActivityText(task, now), ...facts]), detail: detailOf(task, activity) }
}

const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(widthOf))

/** The width of the title column, the same in all rows, so that the second column is aligned. */
const titleWidth = (rows: readonly Row[], columns: number): number => {
  const left = columns - headWidth - gap - widest(rows.map(({ doing }) => doing))
  return Math.min(widest(rows.map(({ task }) => safe(readableTitle(task.title)))), Math.max(minTitle, left))
}

const rowLines = ({ task, doing, detail }: Row, width: number, { columns, paint }: FrameOptions): string[] => {
  const title = cutToWidth(safe(readableTitle(task.title)), width)
  const shown = cutToWidth(doing, columns - headWidth - width - gap)
  const colour = task.status === 'running' ? paint.good : task.status.includes('awaiting_human') ? paint.warn : String
  const head = `${String(task.number).padStart(headWidth - 2)}. ${title}${' '.repeat(width - widthOf(title) + gap)}`
  const below = cutToWidth(detail, columns - headWidth)
  return [`${head}${colour(shown)}`, ...(below === '' ? [] : [`${' '.repeat(headWidth)}${below}`])]
}

/** Running tasks come first. */
const order = (task: LiveTask): number => (task.status === 'running' ? 0 : task.status.startsWith('blocked') ? 1 : 2)

const endedStatuses = new Set(['done', 'cancelled'])

/** As many tasks as fit in `rows`, and how many are left out. */
const fitting = (groups: string[][], rows: number): { lines: string[]; left: number } => {
  const lines: string[] = []
  for (const [at, group] of groups.entries()) {
    if (lines.length + group.length > rows) return { lines, left: groups.length - at }
    lines.push(...group)
  }
  return { lines, left: 0 }
}

const headLine = ({ goal }: LiveView, { columns, now, paint }: FrameOptions): string => {
  // A task that another one continues is not counted beside it.
  const needed = goal.tasks.filter(isWork)
  const done = needed.filter(({ status }) => status === 'done').length
  const count = needed.length > 1 ? `${done} of ${needed.length} tasks done` : ''
  const facts = cutToWidth(joined([goalWords(goal), elapsedText(goal.createdAt, now), count]), columns - 4)
  const title = cutToWidth(safe(goal.title), columns - widthOf(facts) - 2)
  return `${paint.bold(title)}  ${facts}`
}

export const frame = (view: LiveView, options: FrameOptions): string[] => {
  const live = view.goal.tasks
    .filter(({ status }) => !endedStatuses.has(status))
    .toSorted((a, b) => order(a) - order(b) || a.number - b.number)
  const note = view.silent ? [options.paint.warn('The engine is not responding; waiting for it.')] : []
  const rows = live.map((task) => rowOf(task, view, options.now))
  const width = titleWidth(rows, options.columns)
  const groups = rows.map((row) => rowLines(row, width, options))
  const room = options.rows - 3 - note.length
  const { lines, left } = fitting(groups, room)
  const more = left === 0 ? [] : [`      … and ${left} more ${left === 1 ? 'task' : 'tasks'}`]
  return [headLine(view, options), ...lines, ...more, ...note].map((text) => cutPainted(text, options.columns))
}
