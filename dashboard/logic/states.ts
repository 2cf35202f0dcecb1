/** The states of goals, tasks and runs in the words of a person, each with the tone of its mark. See DESIGN.md. Pure. */
import type { BoardTask } from './board.ts'
import { words } from './text.ts'

/** Where a task belongs on a page; the first one is what a reader has to see first. */
export const taskGroups = ['needs you', 'running', 'failed', 'waiting', 'queued', 'done', 'cancelled'] as const
export type TaskGroup = (typeof taskGroups)[number]

export type Tone = 'busy' | 'good' | 'bad' | 'warn' | 'calm'

const known: Readonly<Record<string, readonly [word: string, tone: Tone]>> = {
  running: ['running', 'busy'],
  active: ['in progress', 'busy'],
  acting: ['in progress', 'busy'],
  planning: ['being planned', 'busy'],
  done: ['done', 'good'],
  success: ['success', 'good'],
  ready: ['ready to land', 'good'],
  verified: ['verified', 'good'],
  failed: ['failed', 'bad'],
  'not verified': ['not verified', 'bad'],
  paused: ['paused', 'warn'],
  awaiting_human: ['needs you', 'bad'],
  'blocked(awaiting_human)': ['needs you', 'bad'],
  'blocked(awaiting_judge)': ['in review', 'warn'],
  'blocked(quota_wait)': ['waits for a limit', 'warn'],
  'blocked(needs_rework)': ['to be corrected', 'warn'],
  'blocked(issue_linking)': ['waits for an issue', 'warn'],
}

/** A state that this page does not know yet is named as it is. */
export const stateWord = (state: string): string =>
  known[state]?.[0] ?? words(state).replace('(', ': ').replace(')', '')

export const stateTone = (state: string): Tone => known[state]?.[1] ?? 'calm'

type Placed = Pick<BoardTask, 'status' | 'state' | 'nextStep'>

/** An agent that asks, and a task that was given up, need a person although their states do not say so. */
export const groupOf = ({ status, state, nextStep }: Placed): TaskGroup => {
  const isPersons = nextStep?.owner === 'person'
  if (status === 'blocked(awaiting_human)' || (isPersons && (state === 'running' || state === 'cancelled')))
    return 'needs you'
  return state === 'blocked' ? 'waiting' : state
}

export const groupTone = (group: TaskGroup): Tone => {
  switch (group) {
    case 'needs you':
    case 'failed':
      return 'bad'
    case 'running':
      return 'busy'
    case 'waiting':
      return 'warn'
    case 'done':
      return 'good'
    case 'queued':
    case 'cancelled':
      return 'calm'
  }
}

/** The state of a task in the words of a person. */
export const taskWord = (task: Placed): string =>
  groupOf(task) === 'needs you' ? (task.status === 'cancelled' ? 'given up' : 'needs you') : stateWord(task.status)

/** What happens when the clock of a task ends. */
export const dueWord = (status: string): string => {
  switch (status) {
    case 'failed':
      return 'retry'
    case 'blocked(issue_linking)':
      return 'question'
    case 'blocked(awaiting_judge)':
      return 'asked again'
    default:
      return 'continues'
  }
}

/** The commands for which the pages have a button. */
const withButton =
  /(?:[:;,] |^)(?:(?:to [^:;]*|[^:;]*for it): )?unstuck (?:answer|approve|reject|resume|retry|cancel|give-back|edit|status)\b[^;]*/g

/** A text of the engine without the commands that a button of the page carries out. */
export const withoutCommands = (text: string): string => text.replaceAll(withButton, '').trim()

/** Why a task does not move, or what it does; '' = its state says all of it. */
export const whyText = (task: Pick<BoardTask, 'status' | 'state' | 'nextStep' | 'retry' | 'run'>): string => {
  const { status, nextStep, retry, run } = task
  if (nextStep === null) return 'no next step is known, which is a bug: run unstuck doctor'
  if (status === 'failed' && retry !== null) {
    const number = retry.limit > 0 ? ` (retry ${retry.count} of ${retry.limit})` : ''
    return `${words(retry.reason)}${number}`
  }
  if (groupOf(task) === 'needs you' && status !== 'running') return run?.failure?.text ?? withoutCommands(nextStep.text)
  return nextStep.text === 'ended' ? '' : withoutCommands(nextStep.text)
}
