/**
 * A job of the leader: begins the goals of schedules whose time has come. Times that passed while no engine ran are one time: the goal
 * begins once, at the next start.
 */
import { isGoalClosed } from '../../domain/goal.ts'
import { nextTime, type Schedule } from '../../domain/schedule.ts'
import { AppError, messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { dueSchedules, recordScheduledGoal, recordScheduleProblem } from '../../store/schedule.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { createGoal } from '../goal/create-goal.ts'
import { readGoalFile, type ScheduledGoal } from '../goal/schedule.ts'

/** What ends by itself is tried again in so many milliseconds, instead of at the next time of the schedule. */
const retryMs = 60_000

/** Throws INPUT_INVALID for a file that is wrong, or that asks for a folder that was not there when a person added the schedule. */
const goalNow = (context: Context, { request, file }: Schedule): ScheduledGoal => {
  const { input, options } = request as ScheduledGoal
  if (file === null) return { input, options }
  const read = readGoalFile(context, file)
  const more = read.allowedDirs.find((dir) => !input.allowedDirs.includes(dir))
  if (more !== undefined)
    throw new AppError(
      'INPUT_INVALID',
      `${file} asks for the folder ${more}, which it did not when the schedule was added; to allow it, remove the schedule and add it again`,
    )
  return { input: read, options }
}

const begin = async (context: Context, schedule: Schedule, nextAt: Date): Promise<void> => {
  const { input, options } = goalNow(context, schedule)
  await createGoal(context, input, options, (tx, goalId) => recordScheduledGoal(tx, schedule, { goalId, nextAt }))
}

/** The goal before, while it is not over: it would be changed by two at a time. */
const openGoal = async ({ db }: Context, { goalId }: Schedule): Promise<string | undefined> => {
  const goal = goalId === null ? undefined : await getGoal(db, goalId)
  return goal === undefined || isGoalClosed(goal.state) ? undefined : `${goal.id} is ${goal.state.replaceAll('_', ' ')}`
}

const handle = async (context: Context, schedule: Schedule): Promise<void> => {
  const now = await storeNow(context.db)
  const next = nextTime(schedule, now)
  const record = (problem: string, nextAt: Date, isSkip = false): Promise<void> =>
    context.db.transaction((tx) => recordScheduleProblem(tx, schedule, { problem, nextAt, isSkip }))
  const open = await openGoal(context, schedule)
  if (open !== undefined) return record(`the goal before is not over: ${open}`, next, true)
  try {
    await begin(context, schedule, next)
  } catch (error) {
    if (error instanceof StaleError || endsPass(context, error)) throw error
    const endsByItself = error instanceof AppError && error.code === 'REMOTE_UNAVAILABLE'
    const soon = new Date(now.getTime() + retryMs)
    await record(messageOf(error), endsByItself && soon < next ? soon : next)
  }
}

export const startSchedules = async (context: Context): Promise<void> => {
  for (const schedule of await dueSchedules(context.db)) {
    if (context.stopping.aborted) return
    await handle(context, schedule).catch((error: unknown) => {
      // It was removed, or another engine has begun it.
      if (endsPass(context, error) || !(error instanceof StaleError)) throw error
    })
  }
}
