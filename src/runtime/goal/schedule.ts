/** Schedules as a person adds, sees and removes them. What becomes of one at its time: src/runtime/engine/start-schedules.ts. */
import { isAbsolute, join } from 'node:path'
import { checkCron, nextTime, shownSchedule, type Schedule, type ShownSchedule } from '../../domain/schedule.ts'
import type { Trigger } from '../../domain/trigger.ts'
import { AppError, messageOf } from '../../errors.ts'
import { storeNow } from '../../store/event.ts'
import { deleteSchedule, insertSchedule, listSchedules } from '../../store/schedule.ts'
import type { Context } from '../core/context.ts'
import { checkGoal } from './check-goal.ts'
import { checkTrigger } from './check-trigger.ts'
import type { GoalOptions } from './create-goal.ts'
import { readGoal, type GoalInput } from './goal-input.ts'
import { branchToFollow, readHead } from './read-trigger.ts'

export interface ScheduledGoal {
  input: GoalInput
  options: GoalOptions
}

export interface WantedSchedule {
  /** With a time zone, or instead of them a trigger. */
  cron?: string | undefined
  timeZone?: string | undefined
  trigger?: string | undefined
  goal: ScheduledGoal
  /** The goal file that is read each time; absent = the goal is as it is given here. */
  file?: string | undefined
  by?: string | undefined
}

/** More are taken for a mistake of a program. */
const mostSchedules = 100

const largestFile = 1024 * 1024

/** The goal that a file asks for now. Throws `AppError` with what is wrong with the file. */
export const readGoalFile = ({ ports, repository }: Context, file: string): GoalInput => {
  const path = isAbsolute(file) ? file : join(repository.root, file)
  const { files } = ports
  const found = files.existsSync(path) ? files.statSync(path) : undefined
  if (found?.isFile() !== true)
    throw new AppError(
      'INPUT_INVALID',
      `${file}: the goal file is not there; put it back, or remove the schedule and add it again`,
    )
  if (found.size > largestFile)
    throw new AppError('INPUT_INVALID', `${file} is larger than 1 MiB; split it into several goals`)
  try {
    return readGoal(file, () => Buffer.from(files.readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('INPUT_INVALID', `${file} cannot be read (${messageOf(error)}); make it readable again`)
  }
}

type When = Pick<Schedule, 'trigger' | 'cron' | 'timeZone' | 'branch' | 'seen' | 'nextAt'>

const atTimes = (cron: string, timeZone: string, now: Date): When => {
  const checked = { cron: checkCron(cron, timeZone, now), timeZone }
  return { ...checked, trigger: null, branch: null, seen: null, nextAt: nextTime(checked, now) }
}

/** What is on the branch by now is no push. A head that is red by now needs its repair. */
const onTrigger = async (context: Context, trigger: Trigger, now: Date): Promise<When> => {
  const branch = await branchToFollow(context)
  const { commit } = await readHead(context, branch)
  return { trigger, cron: '', timeZone: '', branch, seen: trigger === 'push' ? commit : null, nextAt: now }
}

const whenOf = async (context: Context, wanted: WantedSchedule, now: Date): Promise<When> => {
  const { trigger, cron, timeZone } = wanted
  if (trigger === undefined) {
    if (cron !== undefined && timeZone !== undefined) return atTimes(cron, timeZone, now)
    throw new AppError('INPUT_INVALID', 'cron: a schedule needs a cron expression with its timeZone, or a trigger')
  }
  const checked = checkTrigger(trigger, context.config().forge)
  if (cron === undefined && timeZone === undefined) return onTrigger(context, checked, now)
  throw new AppError('INPUT_INVALID', 'cron: a trigger has no cron expression and no timeZone; leave one of them out')
}

/** Throws INPUT_INVALID with the field that is wrong, before anything is stored. */
export const addSchedule = async (context: Context, wanted: WantedSchedule): Promise<ShownSchedule> => {
  const { goal, file, by = '' } = wanted
  const when = await whenOf(context, wanted, await storeNow(context.db))
  if (goal.options.issue !== undefined)
    throw new AppError('INPUT_INVALID', 'goal.options.issue: an issue becomes one goal, so it has no schedule')
  if (file !== undefined) readGoalFile(context, file)
  checkGoal(context.ports.files, context.repository.root, goal)
  if ((await listSchedules(context.db)).length >= mostSchedules)
    throw new AppError('ILLEGAL', `there are ${mostSchedules} schedules already; remove one: unstuck schedule list`)
  const added = await context.db.transaction((tx) =>
    insertSchedule(tx, {
      ...when,
      ...{ id: context.newId('s'), title: goal.input.title, file: file ?? null, request: goal, addedBy: by },
    }),
  )
  return shownSchedule(added)
}

/** The goals that it began go on. Throws NOT_FOUND. */
export const removeSchedule = async (context: Context, id: string, by = ''): Promise<ShownSchedule> => {
  const removed = await context.db.transaction((tx) => deleteSchedule(tx, id, by))
  if (removed === undefined)
    throw new AppError('NOT_FOUND', `there is no schedule ${id}; "unstuck schedule list" lists them`)
  return shownSchedule(removed)
}
