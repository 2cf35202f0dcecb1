/** Text for people: short tables, plain sentences, colours only on a terminal. */
import { stripVTControlCharacters } from 'node:util'
import type { GoalView, ReportView, StatusView, TaskView } from '../api/contract.ts'
import { questionLines } from '../domain/question-lines.ts'
import { redText } from '../domain/still-red.ts'

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

export const createPaint = (colours: boolean): Paint =>
  colours
    ? { bold: code(1, 22), dim: code(2, 22), good: code(32, 39), bad: code(31, 39), warn: code(33, 39) }
    : { bold: plain, dim: plain, good: plain, bad: plain, warn: plain }

/** Text of agents and tools is shown without anything that could move the cursor, recolour or retitle the terminal. */
export const safe = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}]/gu, (char) => (char === '\n' || char === '\t' ? ' ' : ''))

export const clockOf = (iso: string): string => new Date(iso).toTimeString().slice(0, 8)

/** With its day, unless that is today. */
const dayClockOf = (iso: string, now: string): string => {
  const [day, today] = [new Date(iso).toDateString(), new Date(now).toDateString()]
  return day === today ? clockOf(iso) : `${clockOf(iso)} on ${day}`
}

export const secondsText = (seconds: number): string => {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 6) / 10} h`
}

const placeText = (paint: Paint, place: string): string => {
  if (place === 'done') return paint.good(place)
  if (place === 'failed' || place === 'cancelled') return paint.bad(place)
  return place.includes('awaiting_human') ? paint.warn(place) : place
}

const stepText = (task: TaskView, now: string): string => {
  const step = task.nextStep
  if (step === null) return 'STUCK: run "unstuck doctor" and report this'
  if (step.owner === 'nobody') return ''
  if (step.at === undefined) return step.text
  const seconds = (Date.parse(step.at) - Date.parse(now)) / 1000
  // Who reads this in the evening wants to know whether it goes on tonight.
  if (task.place === 'blocked(quota_wait)')
    return `task retry: quota ${secondsText(seconds).replace(' ', '')}, at ${dayClockOf(step.at, now)}: ${step.text}`
  return `${step.text} in ${secondsText(seconds)}`
}

export const taskLine = (paint: Paint, task: TaskView, now: string): string => {
  const step = stepText(task, now)
  const { outcome = null, notes = [] } = (task.place === 'done' ? task.run : null) ?? {}
  const shown = `${outcomeText(outcome)}${notes.map((text) => `\n      ${paint.dim(`noted: ${safe(text)}`)}`).join('')}`
  return `  ${String(task.number).padStart(2)}. ${placeText(paint, task.place).padEnd(26)} ${safe(task.title).slice(0, 60)} ${paint.dim(`[${task.id}]`)}${shown}${step === '' ? '' : `\n      ${paint.dim(safe(step))}`}`
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
  `${paint.bold(safe(goal.title))} ${paint.dim(`[${goal.id}]`)} ${placeText(paint, goal.state)}${goal.reason === '' ? '' : paint.dim(` (${safe(goal.reason)})`)}`,
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
      `${paint.warn('limit')} of ${safe(harnesses.join(', '))} until ${dayClockOf(new Date(until).toISOString(), status.at)}: ${safe(evidence).slice(0, 200)} ${paint.dim(`[${account}]`)}`,
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
  `${Math.round(spent.tokens)} tokens, ${spent.costUsd.toFixed(2)} US dollars, ${secondsText(spent.seconds)} of agent time`

export const reportLines = (paint: Paint, report: ReportView): string[] => [
  paint.bold(`Since ${report.since}`),
  `Landed: ${report.landed.length}`,
  ...report.landed.flatMap((entry) => [
    `  ${paint.good('+')} ${safe(entry.title)} ${paint.dim((entry.commit ?? '').slice(0, 12))}${outcomeText(entry.outcome)}`,
    ...stillFailingLine(paint, entry.stillFailing).map((text) => `  ${text}`),
  ]),
  `Ready, not on your branch yet: ${report.ready.length}`,
  ...report.ready.map((entry) => `  ${safe(entry.title)}: ${paint.bold(entry.command)}`),
  `Recovered: ${report.recovered.filter((entry) => entry.status === 'success').length} of ${report.recovered.length}`,
  ...report.recovered.map(
    (entry) =>
      `  ${entry.status === 'success' ? paint.good('✓') : entry.status === 'failed' ? paint.bad('✗') : '…'} ${entry.label}: ${entry.action}, ${entry.status}${entry.ms === null ? '' : ` after ${secondsText(entry.ms / 1000)}`} ${paint.dim(safe(entry.detail))}`,
  ),
  `Waiting for you: ${report.waiting.length}`,
  ...report.waiting.map((entry) => `  ${paint.warn('?')} ${safe(entry.question)}`),
  ...(report.retrying.length === 0
    ? []
    : [`Retrying: ${report.retrying.map((entry) => `${safe(entry.title)} at ${clockOf(entry.at)}`).join(', ')}`]),
  `Spent: ${spentText(report.spent)}`,
]
