/** What the demo prints for people: short lines that fit into 80 columns, and the report at the end. Pure. */
import { basename } from 'node:path'
import { safe } from '../render.ts'
import type { Outcome, Seen } from './observe.ts'
import type { Chapter } from './story.ts'

export interface DemoReport {
  ok: boolean
  seconds: number
  tasks: Outcome[]
  commits: string[]
  /** The user's branch is where the goal is, and its tests pass there. */
  landed: boolean
  /** What is missing for `ok`. */
  missing: string[]
  /** Null when it was removed. */
  folder: string | null
}

const width = 80

const fit = (line: string): string => (line.length <= width ? line : `${line.slice(0, width - 1)}…`)

/** Breaks a line at its spaces; what follows stands under the text, not under the label. */
const wrap = (line: string): string[] => {
  if (line.length <= width) return [line]
  const indent = ' '.repeat(/^\s*(?:\w+\s{2,}|- )?/.exec(line)?.[0].length ?? 0)
  const space = line.lastIndexOf(' ', width)
  const at = space > indent.length ? space : width
  return [line.slice(0, at), ...wrap(`${indent}${line.slice(at).trimStart()}`)]
}

const secondsOf = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export const opening = (chapters: Chapter[], root: string): string[] =>
  [
    'Six tasks, each of which fails in its own way. The agents are small programs;',
    'no model is asked. The first start makes a store and takes some seconds.',
    '',
    ...chapters.map((chapter) => `  ${chapter.number}. ${chapter.fault}`),
    '',
    `In ${root}`,
    '',
  ].map(fit)

const text = (event: Seen, key: string): string => {
  const value = event.payload[key]
  return typeof value === 'string' || typeof value === 'number' ? safe(String(value)) : ''
}

const sentences: Record<string, (event: Seen) => string> = {
  'run.started': (event) => `attempt ${text(event, 'number')} with the harness ${text(event, 'harness')}`,
  'recovery.started': (event) =>
    `${text(event, 'label')} -> ${(event.payload.action as { name?: string } | undefined)?.name ?? ''}`,
  recovery: (event) => `recovery ${text(event, 'status')}: ${text(event, 'detail')}`,
  'run.reattached': () => 'the engine is back and re-attached to its agent',
  'merge.reverified': (event) => `rebased, checks ${event.payload.passed === true ? 'passed' : 'failed'} again`,
  'task.escalated': (event) => `waits for a person: ${text(event, 'label')}`,
  'task.done': (event) =>
    text(event, 'commit') === '' ? 'done' : `done, merged as ${text(event, 'commit').slice(0, 7)}`,
}

/** One line of progress, or undefined for events that only machines want. */
export const progress = (chapter: Chapter | undefined, event: Seen, elapsedMs: number): string | undefined => {
  const sentence = sentences[event.type]
  if (sentence === undefined || chapter === undefined) return undefined
  return fit(`${secondsOf(elapsedMs).padStart(7)}  task ${chapter.number}: ${sentence(event)}`)
}

/** The call as a user types it. */
export const callLine = (cwd: string, args: string[], elapsedMs: number): string =>
  fit(`${secondsOf(elapsedMs).padStart(7)}  ${basename(cwd)}$ unstuck ${args.map((text) => basename(text)).join(' ')}`)

export const killLine = (pid: number, elapsedMs: number): string =>
  fit(`${secondsOf(elapsedMs).padStart(7)}  kill -9 of the engine (pid ${pid}) with agents at work`)

const outcomeLines = (outcome: Outcome): string[] => {
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

export const closing = (report: DemoReport): string[] => {
  const done = report.tasks.filter((task) => task.done).length
  const recoveries = report.tasks.filter((task) => task.recovered !== null).length
  return [
    '',
    ...report.tasks.flatMap(outcomeLines),
    '',
    `Commits on main of the repository (git log --oneline)${report.landed ? '; its tests are green' : ''}:`,
    ...report.commits.map((commit) => `  ${commit}`),
    report.folder === null ? 'All folders are removed; --keep leaves them.' : `Folders: ${report.folder}`,
    ...(report.missing.length === 0 ? [] : ['', 'Missing:', ...report.missing.map((entry) => `  - ${safe(entry)}`)]),
    '',
    `${done} of ${report.tasks.length} tasks done, ${recoveries} recoveries, in ${report.seconds.toFixed(1)} s`,
  ].flatMap(wrap)
}
