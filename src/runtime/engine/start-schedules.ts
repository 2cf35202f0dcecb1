/**
 * A job of the leader: begins the goals of schedules whose time has come, or whose trigger has an occasion. Times that passed while no
 * engine ran are one time: the goal begins once, at the next start. So are the heads of a branch: the goal begins for the newest.
 */
import { isGoalClosed } from '../../domain/goal.ts'
import { nextTime, type Schedule } from '../../domain/schedule.ts'
import { AppError, messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { dueSchedules, recordScheduledGoal, recordScheduleProblem, recordTriggerPoll } from '../../store/schedule.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { createGoal } from '../goal/create-goal.ts'
import { readGoalFile, type ScheduledGoal } from '../goal/schedule.ts'
import { readTrigger, triggerPollMs, withOccasion, type Occasion } from '../goal/read-trigger.ts'

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

/** With an occasion, for a trigger. */
const begin = async (context: Context, schedule: Schedule, nextAt: Date, occasion?: Occasion): Promise<void> => {
  const { input, options } = goalNow(context, schedule)
  const seen = occasion?.commit ?? null
  await createGoal(
    context,
    occasion === undefined ? input : withOccasion(input, occasion),
    occasion === undefined ? options : { ...options, start: occasion.start },
    (tx, goalId) => recordScheduledGoal(tx, schedule, { goalId, nextAt, seen }),
  )
}

/** The goal before, while it is not over: it would be changed by two at a time. */
const openGoal = async ({ db }: Context, { goalId }: Schedule): Promise<string | undefined> => {
  const goal = goalId === null ? undefined : await getGoal(db, goalId)
  return goal === undefined || isGoalClosed(goal.state) ? undefined : `${goal.id} is ${goal.state.replaceAll('_', ' ')}`
}

/** True = it does, and that is recorded. */
const isHeldUp = async (context: Context, schedule: Schedule, nextAt: Date): Promise<boolean> => {
  const open = await openGoal(context, schedule)
  if (open === undefined) return false
  const problem = `the goal before is not over: ${open}`
  await context.db.transaction((tx) => recordScheduleProblem(tx, schedule, { problem, nextAt, isSkip: true }))
  return true
}

const endsByItself = (error: unknown): boolean => error instanceof AppError && error.code === 'REMOTE_UNAVAILABLE'

const fail = (context: Context, schedule: Schedule, error: unknown, nextAt: Date): Promise<void> =>
  context.db.transaction((tx) =>
    recordScheduleProblem(tx, schedule, { problem: messageOf(error), nextAt, isSkip: false }),
  )

const isOfPass = (context: Context, error: unknown): boolean => error instanceof StaleError || endsPass(context, error)

const atItsTime = async (context: Context, schedule: Schedule): Promise<void> => {
  const now = await storeNow(context.db)
  const next = nextTime(schedule, now)
  if (await isHeldUp(context, schedule, next)) return
  try {
    await begin(context, schedule, next)
  } catch (error) {
    if (isOfPass(context, error)) throw error
    const soon = new Date(now.getTime() + retryMs)
    await fail(context, schedule, error, endsByItself(error) && soon < next ? soon : next)
  }
}

const onTrigger = async (context: Context, schedule: Schedule): Promise<void> => {
  const now = await storeNow(context.db)
  const nextAt = new Date(now.getTime() + triggerPollMs(context, schedule))
  const poll = (seen: string | null, problem: string): Promise<void> =>
    context.db.transaction((tx) => recordTriggerPoll(tx, schedule, { seen, problem, nextAt }))
  try {
    const { occasion, seen } = await readTrigger(context, schedule)
    if (occasion === undefined) return await poll(seen, '')
    if (!(await isHeldUp(context, schedule, nextAt))) await begin(context, schedule, nextAt, occasion)
  } catch (error) {
    if (isOfPass(context, error)) throw error
    // An outage is shown, and needs no person: a forge that is asked each minute has many.
    if (endsByItself(error)) return poll(schedule.seen, messageOf(error))
    await fail(context, schedule, error, nextAt)
  }
}

export const startSchedules = async (context: Context): Promise<void> => {
  for (const schedule of await dueSchedules(context.db)) {
    if (context.stopping.aborted) return
    const handle = schedule.trigger === null ? atItsTime : onTrigger
    await handle(context, schedule).catch((error: unknown) => {
      // It was removed, or another engine has begun it.
      if (endsPass(context, error) || !(error instanceof StaleError)) throw error
    })
  }
}
