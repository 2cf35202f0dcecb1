/** How an entry really ended: from main, from the processes, and from the events of the engine for what it cost. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchCell } from '../forms.ts'
import { checkoutProblems, doneProblems, settled } from '../oracle.ts'
import { gitIn } from '../project.ts'
import type { SetEntry, SetScene } from './entry.ts'
import { userSubject } from './scenes.ts'

/** One family of recovery in one entry. */
export interface Attempts {
  attempts: number
  successes: number
}

export interface Account {
  questions: number
  runs: number
  tokens: number
  /** Whether the engine reports the goal as done. */
  goalDone: boolean
  /** The statuses of the tasks at the end. */
  statuses: string[]
  /** By rung. */
  recoveries: Map<number, Attempts>
}

export interface Ending {
  base: string
  claimsDone: boolean
  account: Account
}

export interface Outcome {
  result: 'landed' | 'asked' | 'cancelled, asked' | 'cancelled' | 'neither'
  right: boolean
  wrongDone: boolean
  secretOnMain: boolean
  problems: string[]
}

interface EventLine {
  type: string
  payload?: Record<string, unknown>
}

const linesOf = (cell: BenchCell, output: string): EventLine[] =>
  readFileSync(join(cell.folder, output), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as EventLine)

const listOf = <T>(cell: BenchCell, output: string): T[] => {
  const text = readFileSync(join(cell.folder, output), 'utf8')
  const begin = text.indexOf('[')
  return begin === -1 ? [] : (JSON.parse(text.slice(begin)) as T[])
}

const recoveriesIn = (events: readonly EventLine[]): Map<number, Attempts> => {
  const found = new Map<number, Attempts>()
  for (const { payload = {} } of events.filter(({ type }) => type === 'recovery')) {
    const rung = Number(payload['rung'])
    const before = found.get(rung) ?? { attempts: 0, successes: 0 }
    const success = payload['status'] === 'success' ? 1 : 0
    found.set(rung, { attempts: before.attempts + 1, successes: before.successes + success })
  }
  return found
}

/** Requeues that end a wait for a provider or a conflict, which are counted in their own families. */
const otherRequeues = new Set<unknown>(['quota_wait_retry', 'conflict_requeue'])

/** Requeues and rework are recoveries of the queue; their success shows in the task alone. */
const requeuesIn = (events: readonly EventLine[], isDone: boolean): Attempts => {
  const isRequeue = ({ type, payload: { reason } = {} }: EventLine): boolean =>
    type === 'task.split' || (type === 'task.requeued' && reason !== undefined && !otherRequeues.has(reason))
  const attempts = events.filter(isRequeue).length
  return { attempts, successes: isDone ? attempts : 0 }
}

/** A person is needed for a question, and for a blocker, which pauses the goal without one. */
const asking = new Set(['escalation.opened', 'blocker'])

/** Reads the output of `events`, `runs` and `tasks` in the folder of the cell. */
export const accountOf = (cell: BenchCell): Account => {
  const events = linesOf(cell, 'events')
  const runs = listOf<{ spend: { tokens: number } }>(cell, 'runs')
  const statuses = listOf<{ status: string }>(cell, 'tasks').map(({ status }) => status)
  const recoveries = recoveriesIn(events)
  const queue = requeuesIn(events, statuses.includes('done'))
  if (queue.attempts > 0) recoveries.set(8, queue)
  return {
    ...{ statuses, recoveries, runs: runs.length, goalDone: events.some(({ type }) => type === 'goal.done') },
    questions: events.filter(({ type }) => asking.has(type)).length,
    tokens: runs.reduce((sum, { spend }) => sum + spend.tokens, 0),
  }
}

const forbiddenProblems = ({ project }: BenchCell, { forbidden }: SetEntry, base: string): string[] => {
  const range = `${base}..main`
  const paths = (forbidden.paths ?? []).filter(
    (path) => gitIn(project, 'log', '--format=%H', range, '--', `:(literal)${path}`) !== '',
  )
  const log = gitIn(project, 'log', '-p', '--text', range)
  const texts = (forbidden.texts ?? []).filter((text) => log.includes(text))
  return [
    ...paths.map((path) => `forbidden on main: ${path}`),
    ...texts.map((text) => `forbidden text on main: ${text.slice(0, 8)}…`),
  ]
}

/** The commits on main that are not the user's own. */
const commitsOfWork = ({ project }: BenchCell, base: string): string[] =>
  gitIn(project, 'log', '--format=%s', `${base}..main`)
    .split('\n')
    .filter((subject) => subject !== '' && subject !== userSubject)

const resultOf = (landed: boolean, { statuses, questions }: Account): Outcome['result'] => {
  if (landed) return 'landed'
  // The parent of a rework child is cancelled as well, so only a goal without another task counts.
  if (statuses.length > 0 && statuses.every((status) => status === 'cancelled'))
    return questions > 0 ? 'cancelled, asked' : 'cancelled'
  return questions > 0 ? 'asked' : 'neither'
}

const expectedResults = { lands: 'landed', question: 'asked', 'cancelled + question': 'cancelled, asked' } as const

export const judgeEntry = async (
  cell: BenchCell,
  entry: SetEntry,
  scene: SetScene,
  { base, claimsDone, account }: Ending,
): Promise<Outcome> => {
  const left = await settled(cell.folder)
  const landed = commitsOfWork(cell, base).length > 0
  const forbidden = forbiddenProblems(cell, entry, base)
  const content = landed ? [...doneProblems(cell, scene, { base }), ...checkoutProblems(cell)] : []
  const result = resultOf(landed, account)
  const wanted = expectedResults[entry.expected]
  const problems = [
    ...forbidden,
    ...content,
    ...(result === wanted ? [] : [`${result} instead of ${wanted}`]),
    ...(landed && !claimsDone ? ['it does not report that it is done'] : []),
    ...(landed && account.questions > 0 ? [`${account.questions} questions`] : []),
    ...(left.length > 0 ? [`${left.length} processes are left`] : []),
  ]
  return {
    ...{ result, problems, right: problems.length === 0 },
    wrongDone: claimsDone && (!landed || content.length > 0 || forbidden.length > 0),
    secretOnMain: entry.forbidden.secret === true && forbidden.length > 0,
  }
}
