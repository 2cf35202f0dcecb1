/** What the demo prints for people: progress lines of at most 80 columns, and the report at the end. Pure. */
import { basename } from 'node:path'
import { actionText, type StoredAction } from '../../domain/action-text.ts'
import { safe, wordsOf } from '../render.ts'
import type { Observation, DemoOutcome } from './observe.ts'
import type { Chapter } from './story.ts'

export interface DemoReport {
  ok: boolean
  seconds: number
  tasks: DemoOutcome[]
  commits: string[]
  /** The user's branch has the work of the goal, and its tests pass there. */
  landed: boolean
  /** The reasons why `ok` is false. */
  missing: string[]
  /** Null if the folder was removed. */
  folder: string | null
}

const width = 80

const fit = (line: string): string => (line.length <= width ? line : `${line.slice(0, width - 1)}…`)

/** Wraps a line at spaces; later rows are indented to the text, not to the label. */
const wrap = (line: string): string[] => {
  if (line.length <= width) return [line]
  const indent = ' '.repeat(/^\s*(?:\w+\s{2,}|- )?/.exec(line)?.[0].length ?? 0)
  const space = line.lastIndexOf(' ', width)
  const at = space > indent.length ? space : width
  return [line.slice(0, at), ...wrap(`${indent}${line.slice(at).trimStart()}`)]
}

const secondsOf = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export const openingLines = (chapters: Chapter[], root: string): string[] =>
  [
    'Six tasks, each of which fails in its own way. The agents are small programs;',
    'no model is used. The first start creates a store, which takes a few seconds.',
    '',
    ...chapters.map((chapter) => `  ${chapter.number}. ${chapter.fault}`),
    '',
    `Folder: ${root}`,
    '',
  ].map(fit)

const text = (event: Observation, key: string): string => {
  const value = event.payload[key]
  return typeof value === 'string' || typeof value === 'number' ? safe(String(value)) : ''
}

const sentences: Record<string, (event: Observation) => string> = {
  'run.started': (event) => `attempt ${text(event, 'number')} started with ${text(event, 'harness')}`,
  'recovery.started': (event) =>
    `saw ${wordsOf(text(event, 'label'))}: ${safe(actionText(event.payload.action as StoredAction))}`,
  recovery: (event) =>
    `${event.payload.status === 'success' ? 'recovered' : 'not recovered'}: ${text(event, 'detail')}`,
  'run.reattached': () => 'the restarted engine re-attached to the agent',
  'merge.reverified': (event) =>
    `rebased and verified again: the checks ${event.payload.passed === true ? 'passed' : 'failed'}`,
  'task.escalated': (event) => `waiting for a person: ${wordsOf(text(event, 'label'))}`,
  'task.done': (event) =>
    text(event, 'commit') === '' ? 'done' : `done, merged as ${text(event, 'commit').slice(0, 7)}`,
}

/** One line of progress; undefined for events that do not matter to a reader. */
export const progressLine = (
  chapter: Chapter | undefined,
  event: Observation,
  elapsedMs: number,
): string | undefined => {
  const sentence = sentences[event.type]
  if (sentence === undefined || chapter === undefined) return undefined
  return fit(`${secondsOf(elapsedMs).padStart(7)}  task ${chapter.number}: ${sentence(event)}`)
}

/** The command as a user would type it. */
export const callLine = (cwd: string, args: string[], elapsedMs: number): string =>
  fit(`${secondsOf(elapsedMs).padStart(7)}  ${basename(cwd)}$ unstuck ${args.map((text) => basename(text)).join(' ')}`)

export const killLine = (pid: number, elapsedMs: number): string =>
  fit(`${secondsOf(elapsedMs).padStart(7)}  kill -9 ${pid}: the engine, while agents are working`)

const outcomeLines = (outcome: DemoOutcome): string[] => {
  const place = outcome.place === 'folder' ? 'in place' : (outcome.commit?.slice(0, 7) ?? '')
  const head = `${outcome.number}. ${outcome.title}: ${outcome.done ? `done, ${place}` : 'NOT DONE'}`
  const { recovered, problem } = outcome
  if (recovered === null) return [head, `   problem    ${safe(problem ?? '')}`]
  return [
    head,
    `   failed     ${safe(recovered.failed)}`,
    `   recovered  in ${secondsOf(recovered.ms)} by ${recovered.by}`,
    `   shown by   ${safe(recovered.how)}`,
    ...(problem === null ? [] : [`   problem    ${safe(problem)}`]),
  ]
}

export const closingLines = (report: DemoReport): string[] => {
  const done = report.tasks.filter((task) => task.done).length
  const recoveries = report.tasks.filter((task) => task.recovered !== null).length
  return [
    '',
    ...report.tasks.flatMap(outcomeLines),
    '',
    `Commits on main of the repository (git log --oneline)${report.landed ? '; its tests pass' : ''}:`,
    ...report.commits.map((commit) => `  ${commit}`),
    report.folder === null ? 'All folders were removed; --keep keeps them.' : `Folders: ${report.folder}`,
    ...(report.missing.length === 0 ? [] : ['', 'Missing:', ...report.missing.map((entry) => `  - ${safe(entry)}`)]),
    '',
    `${done} of ${report.tasks.length} tasks done, ${recoveries} recoveries, in ${report.seconds.toFixed(1)} s`,
  ].flatMap(wrap)
}
