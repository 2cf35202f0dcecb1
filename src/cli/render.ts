/** Text for people: short tables, plain sentences, colours only on a terminal. */
import { stripVTControlCharacters } from 'node:util'
import type { GoalView, ReportView, StatusView, TaskView } from '../api/contract.ts'
import { questionLines } from '../domain/question-lines.ts'
import { redText } from '../domain/still-red.ts'
import { durationText, localTimes, timeText, whenText } from './times.ts'
import { cut } from './width.ts'

export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
}

const code =
  (open: number, close: number) =>
  (text: string): string =>
    `\u001b[${open}m${text}\u001b[${close}m`
const plain = (text: string): string => text

/** Magenta instead of yellow, which cannot be read on a light background. */
export const createPaint = (colours: boolean): Paint =>
  colours
    ? { bold: code(1, 22), dim: code(2, 22), good: code(32, 39), bad: code(31, 39), warn: code(35, 39) }
    : { bold: plain, dim: plain, good: plain, bad: plain, warn: plain }

/** Text of agents and tools is shown without anything that could move the cursor, recolour or retitle the terminal. */
export const safe = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}]/gu, (char) => (char === '\n' || char === '\t' ? ' ' : ''))

const placeText = (paint: Paint, place: string): string => {
  if (place === 'done') return paint.good(place)
  if (place === 'failed' || place === 'cancelled') return paint.bad(place)
  return place.includes('awaiting_human') ? paint.warn(place) : place
}

/** A time that has come and is not acted on yet is not "ago". */
const dueText = (at: string, now: string): string => (Date.parse(at) > Date.parse(now) ? whenText(at, now) : 'now')

const stepText = (task: TaskView, now: string): string => {
  const step = task.nextStep
  if (step === null) return 'STUCK: run "unstuck doctor" and report this'
  if (step.owner === 'nobody') return ''
  if (step.at === undefined) return step.text
  if (task.place === 'blocked(quota_wait)') {
    const seconds = (Date.parse(step.at) - Date.parse(now)) / 1000
    return `task retry: quota ${durationText(seconds).replace(/^(\d+) s$/, '$1s')}, at ${timeText(step.at, now)}: ${step.text}`
  }
  return `${step.text} ${dueText(step.at, now)}`
}

export const taskLine = (paint: Paint, task: TaskView, now: string, attempt = ''): string => {
  const step = stepText(task, now)
  const { outcome = null, notes = [] } = (task.place === 'done' ? task.run : null) ?? {}
  const shown = `${outcomeText(outcome)}${notes.map((text) => `\n      ${paint.dim(`noted: ${safe(text)}`)}`).join('')}`
  return `  ${String(task.number).padStart(2)}. ${placeText(paint, task.place).padEnd(26)} ${cut(safe(task.title), 60)} ${paint.dim(`[${task.id}]`)}${attempt}${shown}${step === '' ? '' : `\n      ${paint.dim(localTimes(safe(step), now))}`}`
}

/** Said only where the checks did not show that the work holds. */
const outcomeText = (outcome: ReportView['landed'][number]['outcome']): string => {
  if (outcome === null || outcome === 'verified') return ''
  return outcome === 'nothing to verify' ? ' nothing to verify: no check ran' : ' not verified'
}

const stillFailingLine = (paint: Paint, red: GoalView['stillFailing']): string[] =>
  red.length === 0 ? [] : [`  ${paint.warn('still failing, as before the work:')} ${safe(redText(red))}`]

/** Where the work is, once all of it is done: "landed" is said only of what is on the user's branch. */
const landingLines = (paint: Paint, goal: GoalView): string[] => {
  if (goal.mergeCommand !== null)
    return [
      `  ready, and not on ${safe(goal.targetBranch ?? 'a branch of yours')} yet; to land it: ${paint.bold(goal.mergeCommand)}`,
    ]
  return goal.state === 'done' && goal.targetBranch !== null
    ? [paint.good(`  landed on ${safe(goal.targetBranch)}`)]
    : []
}

export const goalLines = (paint: Paint, goal: GoalView, now: string): string[] => [
  `${paint.bold(safe(goal.title))} ${paint.dim(`[${goal.id}]`)} ${placeText(paint, goal.state)}${goal.reason === '' ? '' : paint.dim(` (${localTimes(safe(goal.reason), now)})`)}`,
  ...goal.tasks.map((task) => taskLine(paint, task, now)),
  ...stillFailingLine(paint, goal.stillFailing),
  ...landingLines(paint, goal),
]

/** Said only where there is something to say: one engine that works needs no line. */
const engineLines = (paint: Paint, engines: StatusView['engines']): string[] => {
  const shown = engines.filter(({ state }) => state !== 'offline')
  const plain =
    shown.length <= 1 && shown.every(({ state, waiting, silent }) => state === 'online' && waiting === null && !silent)
  if (plain) return []
  return shown.map((engine) => {
    const state = engine.silent ? paint.warn('gives no sign of life') : (engine.waiting ?? engine.state)
    return `engine ${engine.id} on ${safe(engine.host)}: ${safe(state)}${engine.leads ? ', leads' : ''} ${paint.dim(`(${engine.roles.join(', ')}; ${safe(engine.harnesses.join(', '))})`)}`
  })
}

/** A question to the person who reads this. */
export const questionText = (paint: Paint, question: Parameters<typeof questionLines>[0]): string[] =>
  questionLines(question).map((text, at) => (at === 0 ? `${paint.warn('?')} ${safe(text)}` : `    ${safe(text)}`))

export const statusLines = (paint: Paint, status: StatusView): string[] => {
  if (status.goals.length + status.endedLeftOut === 0) return ['No goal yet. Try: unstuck run "<what you want done>"']
  const questions = status.escalations.flatMap((entry) => questionText(paint, entry))
  const limits = status.limits.map(
    ({ account, harnesses, evidence, until }) =>
      `${paint.warn('limit')} of ${safe(harnesses.join(', '))} until ${timeText(until, status.at)}: ${cut(safe(evidence), 200)} ${paint.dim(`[${account}]`)}`,
  )
  return [
    ...status.goals.flatMap((goal) => [...goalLines(paint, goal, status.at), '']),
    ...(status.endedLeftOut === 0
      ? []
      : [
          paint.dim(
            `${status.endedLeftOut} older ${status.endedLeftOut === 1 ? 'goal has' : 'goals have'} ended: unstuck status --ended ${status.goals.length + status.endedLeftOut}`,
          ),
        ]),
    ...limits,
    ...engineLines(paint, status.engines),
    ...questions,
  ]
}

const spentText = (spent: ReportView['spent']): string =>
  `${Math.round(spent.tokens)} tokens, ${spent.costUsd.toFixed(2)} US dollars, ${durationText(spent.seconds)} of agent time`

const recoveryWords: Record<string, string> = { success: 'worked', failed: 'without effect', acting: 'still acting' }

/** A wait that still acts has neither helped nor failed yet. */
const recoveredText = (all: ReportView['recovered']): string => {
  const count = (status: string): number => all.filter((entry) => entry.status === status).length
  return `Recovered: ${count('success')}, still acting: ${count('acting')}, without effect: ${count('failed')}`
}

export const reportLines = (paint: Paint, report: ReportView): string[] => [
  paint.bold(`Since ${whenText(report.since, report.until)}`),
  `Landed: ${report.landed.length}`,
  ...report.landed.flatMap((entry) => [
    `  ${paint.good('+')} ${safe(entry.title)} ${paint.dim((entry.commit ?? '').slice(0, 12))}${outcomeText(entry.outcome)}`,
    ...stillFailingLine(paint, entry.stillFailing).map((text) => `  ${text}`),
  ]),
  `Ready, not on your branch yet: ${report.ready.length}`,
  ...report.ready.map((entry) => `  ${safe(entry.title)}: ${paint.bold(entry.command)}`),
  recoveredText(report.recovered),
  ...report.recovered.map(
    (entry) =>
      `  ${entry.status === 'success' ? paint.good('✓') : entry.status === 'failed' ? paint.bad('✗') : '…'} ${entry.label}: ${entry.action}, ${recoveryWords[entry.status] ?? entry.status}${entry.ms === null ? '' : ` after ${durationText(entry.ms / 1000)}`} ${paint.dim(safe(entry.detail))}`,
  ),
  `Waiting for you: ${report.waiting.length}`,
  ...report.waiting.map((entry) => `  ${paint.warn('?')} ${safe(entry.question)}`),
  ...(report.retrying.length === 0
    ? []
    : [
        `Retrying: ${report.retrying.map((entry) => `${safe(entry.title)} ${dueText(entry.at, report.until)}`).join(', ')}`,
      ]),
  `Spent: ${spentText(report.spent)}`,
]
