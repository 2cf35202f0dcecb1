/** Schedules as a person adds, sees and removes them. What becomes of one at its time: src/runtime/engine/start-schedules.ts. */
import { isAbsolute, join } from 'node:path'
import { checkCron, nextTime, shownSchedule, type ShownSchedule } from '../../domain/schedule.ts'
import { AppError, messageOf } from '../../errors.ts'
import { storeNow } from '../../store/event.ts'
import { deleteSchedule, insertSchedule, listSchedules } from '../../store/schedule.ts'
import type { Context } from '../core/context.ts'
import { checkGoal } from './check-goal.ts'
import type { GoalOptions } from './create-goal.ts'
import { readGoal, type GoalInput } from './goal-input.ts'

export interface ScheduledGoal {
  input: GoalInput
  options: GoalOptions
}

export interface WantedSchedule {
  cron: string
  timeZone: string
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

/** Throws INPUT_INVALID with the field that is wrong, before anything is stored. */
export const addSchedule = async (context: Context, wanted: WantedSchedule): Promise<ShownSchedule> => {
  const { timeZone, goal, file, by = '' } = wanted
  const now = await storeNow(context.db)
  const cron = checkCron(wanted.cron, timeZone, now)
  if (goal.options.issue !== undefined)
    throw new AppError('INPUT_INVALID', 'goal.options.issue: an issue becomes one goal, so it has no schedule')
  if (file !== undefined) readGoalFile(context, file)
  checkGoal(context.ports.files, context.repository.root, goal)
  if ((await listSchedules(context.db)).length >= mostSchedules)
    throw new AppError('ILLEGAL', `there are ${mostSchedules} schedules already; remove one: unstuck schedule list`)
  const nextAt = nextTime({ cron, timeZone }, now)
  const added = await context.db.transaction((tx) =>
    insertSchedule(tx, {
      ...{ id: context.newId('s'), cron, timeZone, title: goal.input.title, file: file ?? null, request: goal },
      ...{ nextAt, addedBy: by },
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
