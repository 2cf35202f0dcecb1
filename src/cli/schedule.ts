/** The work of `unstuck schedule`: adds, lists and removes schedules. */
import { relative, resolve } from 'node:path'
import type { ScheduleJson } from '../api/contract.ts'
import { loadConfig } from '../config/config.ts'
import { checkCron, isTimeZone } from '../domain/schedule.ts'
import { AppError, exitCodes } from '../errors.ts'
import { checkTrigger } from '../runtime/goal/check-trigger.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { connect } from './engine/connect.ts'
import { homeOf, type Home } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printJson, printLine, type Io } from './io.ts'
import { createPaint, safe, type Paint } from './render.ts'
import { goalArgument, isGoalFile } from './run/request.ts'
import { acceptedRequest, withGivenVariables } from './run/run.ts'
import { whenText } from './times.ts'
import { userName } from './user-name.ts'

export interface ScheduleOptions extends JsonOption {
  /** What begins the goal instead of a cron expression. */
  on?: string
  timeZone?: string
  merge?: boolean
  plan?: boolean
  harness?: string
}

/** `TZ` may also hold a rule or a file, which no calendar knows by name. */
const zoneHere = ({ environment: { TZ = '' } }: Io): string =>
  isTimeZone(TZ) ? TZ : Intl.DateTimeFormat().resolvedOptions().timeZone

/** A goal file inside the repository is stored relative to it, so that the repository may be moved. Undefined = the goal is a sentence. */
const fileOf = (io: Io, { repository }: Home, argument: string): { file?: string } => {
  if (!isGoalFile(io, argument)) return {}
  const path = resolve(io.cwd, argument)
  const inside = relative(repository.root, path)
  return { file: repository.url !== undefined || /^\.\.(?:\/|$)/.test(inside) ? path : inside }
}

const whenOf = ({ trigger, branch, cron, timeZone, nextAt }: ScheduleJson, now: Date): string =>
  trigger === null
    ? `${safe(cron)} (${timeZone}); next ${whenText(nextAt, now)}`
    : `on ${trigger} of ${branch === null ? 'the default branch of the remote' : safe(branch)}`

const lines = (paint: Paint, schedule: ScheduleJson, now: Date): string[] => {
  const { id, title, file, lastAt, goalId, problem } = schedule
  const last = lastAt === null || goalId === null ? [] : [`last ${whenText(lastAt, now)}: goal ${goalId}`]
  return [
    `${paint.bold(safe(title))} ${paint.dim(`[${id}]`)}${file === null ? '' : paint.dim(` ${safe(file)}`)}`,
    `    ${whenOf(schedule, now)}`,
    ...last.map((text) => `    ${text}`),
    ...(problem === '' ? [] : [`    ${paint.warn('began no goal:')} ${safe(problem)}`]),
  ]
}

/** What begins the goal, and the words that are left for it. */
const timesOf = (io: Io, [cron = '', ...words]: string[], { timeZone = zoneHere(io) }: ScheduleOptions, now: Date) => {
  // Before anything else: the mistake is more likely here than in the goal.
  checkCron(cron, timeZone, now)
  return { words, body: { cron, timeZone } }
}

const isCron = (text: string, now: Date): boolean => {
  try {
    checkCron(text, 'UTC', now)
    return true
  } catch {
    return false // it is a word of the goal
  }
}

const triggerOf = async (io: Io, words: string[], { on = '', timeZone }: ScheduleOptions, now: Date) => {
  const [first = ''] = words
  if (isCron(first, now))
    throw new AppError('USAGE', `a schedule has times or a trigger; leave "${safe(first)}" or --on out`)
  if (timeZone !== undefined)
    throw new AppError('USAGE', '--time-zone belongs to a cron expression; leave it or --on out')
  const { root } = (await homeOf(io)).repository
  return { words, body: { trigger: checkTrigger(on, loadConfig({ root, environment: io.environment }).forge) } }
}

export const scheduleAddCommand = async (io: Io, given: string[], options: ScheduleOptions): Promise<number> => {
  const { on, timeZone: _timeZone, json, ...chosen } = options
  const now = new Date()
  const { words, body: when } = await (on === undefined
    ? timesOf(io, given, options, now)
    : triggerOf(io, given, options, now))
  if (words.length === 0)
    throw new AppError('USAGE', 'the goal is missing: unstuck schedule add "0 2 * * *" "<goal>", or --on push "<goal>"')
  const accepted = await acceptedRequest(io, words, { ...chosen, allowDir: [] })
  const { home, config, request } = accepted
  const { client } = await connect(io, { start: true })
  const goal = await withGivenVariables(io, { request, client, home, config })
  const body = { ...when, goal, ...fileOf(io, home, goalArgument(io, words)), by: userName() }
  const added = await client.post<ScheduleJson>('/schedules', body)
  if (json === true) {
    printJson(io, added)
    return exitCodes.ok
  }
  for (const text of lines(createPaint(io.colours), added, now)) printLine(io, text)
  printLine(io, 'A goal begins only while an engine runs; one that was missed begins at the next start of the engine.')
  printLine(io, 'The engine that runs now stays. To have one after a restart of the machine: unstuck service install')
  printLine(io, `To remove the schedule: unstuck schedule remove ${added.id}`)
  return exitCodes.ok
}

export const scheduleListCommand = async (io: Io, { json }: JsonOption): Promise<number> => {
  const { found, isEngineGone } = await readOnly(io, async ({ client, isEngineGone }) => ({
    ...{ found: await client.get<ScheduleJson[]>('/schedules'), isEngineGone },
  }))
  if (json === true) {
    printJson(io, found)
    return exitCodes.ok
  }
  const paint = createPaint(io.colours)
  if (found.length === 0) printLine(io, 'Nothing is scheduled. Try: unstuck schedule add "0 2 * * *" "<goal>"')
  for (const schedule of found) for (const text of lines(paint, schedule, new Date())) printLine(io, text)
  if (found.length > 0 && isEngineGone)
    printLine(io, `${paint.warn('!')} no engine is running, so nothing begins. To start it: unstuck up`)
  return exitCodes.ok
}

export const scheduleRemoveCommand = async (io: Io, id: string, { json }: JsonOption): Promise<number> => {
  if (!/^s-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a schedule (s-…); "unstuck schedule list" lists them`)
  const removed = await (await connectToExisting(io)).post<ScheduleJson>(`/schedules/${id}/remove`, { by: userName() })
  if (json === true) printJson(io, removed)
  else printLine(io, `The schedule "${safe(removed.title)}" is removed. Goals that it began go on.`)
  return exitCodes.ok
}
