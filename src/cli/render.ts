/** Renders goals, tasks, questions and reports as text for people. */
import { isWork } from '../domain/task.ts'
import { stripVTControlCharacters } from 'node:util'
import type { GoalView, ReportView, StatusView, TaskView } from '../api/contract.ts'
import { isWithoutWork } from '../domain/goal.ts'
import { nothingToDo } from '../domain/proof.ts'
import { questionLines } from '../domain/question-lines.ts'
import { failuresText } from '../domain/preexisting-failures.ts'
import { countsText, foldGoals } from './fold-status.ts'
import { durationText, localTimes, timeText, whenText } from './times.ts'
import { visibleText } from '../visible-text.ts'
import { cutToWidth } from './width.ts'
import { readableTitle } from '../domain/task-title.ts'

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

/** Warnings are magenta, because yellow is unreadable on a light background. */
export const createPaint = (colours: boolean): Paint =>
  colours
    ? { bold: code(1, 22), dim: code(2, 22), good: code(32, 39), bad: code(31, 39), warn: code(35, 39) }
    : { bold: plain, dim: plain, good: plain, bad: plain, warn: plain }

/** Text of agents and tools in one line: without colours and movements of the cursor, with hidden characters spelled. */
export const safe = (text: string): string => visibleText(stripVTControlCharacters(text)).replace(/[\n\t]/g, ' ')

const statusText = (paint: Paint, status: string): string => {
  if (status === 'done') return paint.good(status)
  if (status === 'failed' || status === 'cancelled') return paint.bad(status)
  return status.includes('awaiting_human') ? paint.warn(status) : status
}

/** "now" for a time that has passed: the engine is about to act on it, so "ago" would be wrong. */
const dueText = (at: string, now: string): string => (Date.parse(at) > Date.parse(now) ? whenText(at, now) : 'now')

const stepText = (task: TaskView, now: string): string => {
  const step = task.nextStep
  if (step === null) return 'no next step is known, which is a bug: run "unstuck doctor" and report its output'
  // A task that has ended has nothing to wait for, but another task may continue its work.
  if (step.owner === 'nobody') return step.text === 'ended' ? '' : step.text
  if (step.at === undefined) return step.text
  if (task.status === 'blocked(quota_wait)') {
    const seconds = (Date.parse(step.at) - Date.parse(now)) / 1000
    return `task retry: quota ${durationText(seconds).replace(/^(\d+) s$/, '$1s')}, at ${timeText(step.at, now)}: ${step.text}`
  }
  return `${step.text} ${dueText(step.at, now)}`
}

/** How a task or run that an engine left at work is shown while no engine runs: its agent ends with the engine, or soon after. */
export const leftAtWork = 'interrupted'

interface TaskLineOptions {
  attempt?: string
  isEngineGone?: boolean
}

export const taskLine = (
  paint: Paint,
  task: TaskView,
  now: string,
  { attempt = '', isEngineGone = false }: TaskLineOptions = {},
): string => {
  const isInterrupted = isEngineGone && task.status === 'running'
  const step = isInterrupted ? 'it continues with: unstuck up' : stepText(task, now)
  const { outcome = null, proof = null, notes = [] } = (task.status === 'done' ? task.run : null) ?? {}
  // Unstuck gave it up; an answer to its question revives it.
  const isStuck = task.status === 'cancelled' && task.nextStep?.owner === 'person'
  const status = isInterrupted ? leftAtWork : isStuck ? 'given up' : task.status
  // Nothing was achieved that would deserve the colour of success.
  const painted = (proof === nothingToDo ? status : statusText(paint, status)).padEnd(26)
  const shown = `${shownOutcome(outcome, proof)}${notes.map((text) => `\n      ${paint.dim(`note: ${safe(text)}`)}`).join('')}`
  return `  ${String(task.number).padStart(2)}. ${painted} ${cutToWidth(safe(readableTitle(task.title)), 60)} ${paint.dim(`[${task.id}]`)}${attempt}${shown}${step === '' ? '' : `\n      ${paint.dim(localTimes(safe(step), now))}`}`
}

/** What the checks say of the work. Empty if they only passed. */
const shownOutcome = (outcome: ReportView['landed'][number]['outcome'], proof: string | null): string => {
  if (proof !== null) return ` ${safe(proof)}`
  if (outcome === null || outcome === 'verified') return ''
  return outcome === 'nothing to verify' ? ' nothing to verify: no check ran' : ' not verified'
}

const stillFailingLine = (paint: Paint, red: GoalView['stillFailing']): string[] =>
  red.length === 0 ? [] : [`  ${paint.warn('still failing, as before the work:')} ${safe(failuresText(red))}`]

const failingTargetLine = (paint: Paint, { landing: { target } }: GoalView): string[] => {
  if (target?.state !== 'failed') return []
  const undo = target.taskId === null ? '' : `; to undo it: ${paint.bold(`unstuck revert ${target.taskId}`)}`
  return [`  ${paint.bad(safe(target.detail))}${undo}`]
}

/** What is done can land although the rest is stuck. */
const partText = (paint: Paint, { tasks, targetBranch }: GoalView, command: string): string => {
  const done = tasks.filter((task) => isWork(task) && task.status === 'done').length
  const what = done === 1 ? '1 task is done; to land it' : `${done} tasks are done; to land them`
  return `  ${what} on ${safe(targetBranch ?? 'a branch of yours')}: ${paint.bold(command)}`
}

/** Says where the finished work is. "Landed" means that it is on the user's branch. */
const landingLines = (paint: Paint, goal: GoalView): string[] => {
  if (goal.mergeCommand !== null)
    return [`  ready to land on ${safe(goal.targetBranch ?? 'a branch of yours')}: ${paint.bold(goal.mergeCommand)}`]
  // An engine that is older than this command has no such field.
  if (typeof goal.partCommand === 'string') return [partText(paint, goal, goal.partCommand)]
  // Commits that a rebase left out, because the target had them already, are no reason to say so.
  if (goal.state === 'done' && isWithoutWork(goal) && goal.tasks.every(({ run }) => run?.commit == null))
    return ['  no file differs, so nothing landed']
  return goal.state === 'done' && goal.targetBranch !== null
    ? [paint.good(`  landed on ${safe(goal.targetBranch)}`), ...failingTargetLine(paint, goal)]
    : []
}

/** An engine that is older than this command lists all tasks. */
const moreTasksLine = (paint: Paint, { id, moreTasks = {} }: GoalView): string[] =>
  Object.keys(moreTasks).length === 0
    ? []
    : [paint.dim(`      and ${countsText(moreTasks)}: unstuck tasks --goal ${id}`)]

export const goalLines = (paint: Paint, goal: GoalView, now: string, isEngineGone = false): string[] => [
  `${paint.bold(safe(goal.title))} ${paint.dim(`[${goal.id}]`)} ${statusText(paint, goal.state)}${goal.reason === '' ? '' : paint.dim(` (${localTimes(safe(goal.reason), now)})`)}`,
  ...goal.tasks.map((task) => taskLine(paint, task, now, { isEngineGone })),
  ...moreTasksLine(paint, goal),
  ...stillFailingLine(paint, goal.stillFailing),
  ...landingLines(paint, goal),
]

/** Empty for the usual case of a single engine that works. */
const engineLines = (paint: Paint, engines: StatusView['engines']): string[] => {
  const shown = engines.filter(({ state }) => state !== 'offline')
  const plain =
    shown.length <= 1 && shown.every(({ state, waiting, silent }) => state === 'online' && waiting === null && !silent)
  if (plain) return []
  return shown.map((engine) => {
    const state = engine.silent ? paint.warn('not responding') : (engine.waiting ?? engine.state)
    return `engine ${engine.id} on ${safe(engine.host)}: ${safe(state)}${engine.leads ? ', leader' : ''} ${paint.dim(`(${engine.roles.join(', ')}; ${safe(engine.harnesses.join(', '))})`)}`
  })
}

/** A question with its choices, as lines. */
export const questionText = (paint: Paint, question: Parameters<typeof questionLines>[0]): string[] =>
  questionLines(question).map((text, at) => (at === 0 ? `${paint.warn('?')} ${safe(text)}` : `    ${safe(text)}`))

/** What the owner could let run without a question; nothing is added by itself. */
const suggestionLines = (paint: Paint, suggestions: StatusView['suggestions']): string[] =>
  suggestions.flatMap(({ command, worked, line }) => [
    `${paint.good('+')} The command ${paint.bold(safe(command))} repaired the same failure ${worked} times and never failed.`,
    `    To let it run without a question, add to recovery.auto_approve in .unstuck/config.json: ${safe(line)}`,
  ])

/** Without an engine the next steps of tasks are what an engine would do. */
export const noEngineLines = (
  paint: Paint,
  { goals, schedules = [] }: Pick<StatusView, 'goals'> & Partial<StatusView>,
): string[] =>
  goals.some(({ state }) => state === 'active') || schedules.length > 0
    ? [`${paint.warn('!')} no engine is running: nothing starts, is judged or lands. To start it: unstuck up`]
    : []

const olderLine = (paint: Paint, { goals, endedLeftOut: count }: StatusView): string[] => {
  if (count === 0) return []
  const what = `${count.toLocaleString('en-US')} older ${count === 1 ? 'goal has' : 'goals have'} ended`
  return [paint.dim(`${what}: unstuck status --ended ${goals.length + count}`)]
}

/** Goals that have not ended and are only counted. */
const foldedLine = (paint: Paint, more: Record<string, number>): string[] =>
  Object.keys(more).length === 0 ? [] : [paint.warn(`and goals that are ${countsText(more)}: unstuck status --full`)]

const scheduleLines = (paint: Paint, { schedules = [], at }: Partial<StatusView> & { at: string }): string[] =>
  schedules.map(({ id, title, trigger, nextAt, problem }) => {
    const why = problem === '' ? '' : `; ${paint.warn('began no goal:')} ${cutToWidth(safe(problem), 200)}`
    return `${paint.dim('scheduled')} ${safe(title)} ${paint.dim(`[${id}]`)} ${trigger === null ? whenText(nextAt, at) : `on ${trigger}`}${why}`
  })

export const statusLines = (
  paint: Paint,
  status: StatusView,
  { isEngineGone = false, isWhole = false }: { isEngineGone?: boolean; isWhole?: boolean } = {},
): string[] => {
  if (status.goals.length + status.endedLeftOut === 0)
    return [
      ...status.notices.map((notice) => `${paint.warn('!')} ${safe(notice)}`),
      ...scheduleLines(paint, status),
      ...(isEngineGone ? noEngineLines(paint, status) : []),
      'There are no goals yet. Try: unstuck run "<what you want done>"',
    ]
  const { shown, more } = foldGoals(status, isWhole)
  const questions = status.escalations.flatMap((entry) => questionText(paint, entry))
  const limits = status.limits.map(
    ({ account, harnesses, evidence, until }) =>
      `${paint.warn('limit')} of ${safe(harnesses.join(', '))} until ${timeText(until, status.at)}: ${cutToWidth(safe(evidence), 200)} ${paint.dim(`[account ${account}]`)}`,
  )
  return [
    ...shown.flatMap((goal) => [...goalLines(paint, goal, status.at, isEngineGone), '']),
    ...foldedLine(paint, more),
    ...olderLine(paint, status),
    ...scheduleLines(paint, status),
    ...limits,
    ...status.undelivered.map(
      ({ channel, waiting, givenUp, problem }) =>
        `${paint.warn('notify')} ${channel}: ${waiting === 0 ? `${givenUp} given up` : `${waiting} not delivered yet`}: ${cutToWidth(safe(problem), 200)} ${paint.dim('(unstuck notify list)')}`,
    ),
    ...engineLines(paint, status.engines),
    ...(isEngineGone ? noEngineLines(paint, status) : []),
    ...status.notices.map((notice) => `${paint.warn('!')} ${safe(notice)}`),
    ...questions,
    ...suggestionLines(paint, status.suggestions),
  ]
}

const spentText = (spent: ReportView['spent']): string =>
  `${Math.round(spent.tokens)} tokens, ${spent.costUsd.toFixed(2)} US dollars, ${durationText(spent.seconds)} of agent time`

const causes: Record<string, string> = { red_before: 'tests that failed before the work' }

/** `provider_overloaded` as "provider overloaded": labels and kinds are stored as codes. */
export const wordsOf = (code: string): string => causes[code] ?? code.toLowerCase().replaceAll('_', ' ')

const recoveryWords: Record<string, string> = { success: 'helped', failed: 'did not help', acting: 'in progress' }

/** Counts recoveries in progress separately: they have neither helped nor failed yet. */
const recoveredText = (all: ReportView['recovered']): string => {
  const count = (status: string): number => all.filter((entry) => entry.status === status).length
  return `Recoveries: ${count('success')} helped, ${count('acting')} in progress, ${count('failed')} did not help`
}

const recoveryLine = (paint: Paint, { status, label, did, ms, detail }: ReportView['recovered'][number]): string => {
  const mark = status === 'success' ? paint.good('✓') : status === 'failed' ? paint.bad('✗') : '…'
  const after = ms === null ? '' : ` after ${durationText(ms / 1000)}`
  const result = `${recoveryWords[status] ?? status}${after}${detail === '' ? '' : `: ${safe(detail)}`}`
  return `  ${mark} ${wordsOf(label)}: ${safe(did)}; ${paint.dim(result)}`
}

export const reportLines = (paint: Paint, report: ReportView): string[] => [
  paint.bold(`Since ${whenText(report.since, report.until)}`),
  `Landed: ${report.landed.length}`,
  ...report.landed.flatMap((entry) => [
    `  ${paint.good('+')} ${safe(readableTitle(entry.title))} ${paint.dim((entry.commit ?? '').slice(0, 12))}${shownOutcome(entry.outcome, entry.proof)}`,
    ...stillFailingLine(paint, entry.stillFailing).map((text) => `  ${text}`),
  ]),
  ...(report.failing.length === 0 ? [] : [`Failing on your branch since it landed: ${report.failing.length}`]),
  ...report.failing.map(
    (entry) =>
      `  ${paint.bad('✗')} ${safe(readableTitle(entry.title))}: ${safe(entry.detail)}${entry.command === null ? '' : `; to undo it: ${paint.bold(entry.command)}`}`,
  ),
  `Ready to land on your branch: ${report.ready.length}`,
  ...report.ready.map((entry) => `  ${safe(readableTitle(entry.title))}: ${paint.bold(entry.command)}`),
  recoveredText(report.recovered),
  ...report.recovered.map((entry) => recoveryLine(paint, entry)),
  ...(report.reworked.length === 0 ? [] : [`Continued by a new task: ${report.reworked.length}`]),
  ...report.reworked.map(
    (entry) =>
      `  ${safe(readableTitle(entry.title))} ${paint.dim(`[${entry.child}]`)}: ${cutToWidth(safe(entry.because), 200)}`,
  ),
  `Waiting for you: ${report.waiting.length}`,
  ...report.waiting.map((entry) => `  ${paint.warn('?')} ${safe(entry.question)}`),
  ...(report.retrying.length === 0
    ? []
    : [
        `Retrying: ${report.retrying.map((entry) => `${safe(readableTitle(entry.title))} ${dueText(entry.at, report.until)}`).join(', ')}`,
      ]),
  ...suggestionLines(paint, report.suggestions),
  `Spent: ${spentText(report.spent)}`,
  ...(report.spentOnReviews.seconds === 0 ? [] : [`  of this on reviews: ${spentText(report.spentOnReviews)}`]),
]
