/**
 * A schedule: a goal that begins again and again at times that a cron expression names, in the time zone of the person. Pure; croner does
 * the calendar: a time that the clocks leave out in spring is taken an hour later, and one that comes twice in autumn counts once.
 */
import { Cron } from 'croner'
import { AppError } from '../errors.ts'
import type { Trigger } from './trigger.ts'

export interface Schedule {
  id: string
  /** What begins the goal; null = the times of `cron`. */
  trigger: Trigger | null
  /** Five fields; '' with a trigger. */
  cron: string
  /** IANA name, such as Europe/Berlin; '' with a trigger. */
  timeZone: string
  title: string
  /** The goal file, relative to the repository or absolute; it is read each time. Null = the goal is as it was given. */
  file: string | null
  /** The goal with its options as they were accepted. */
  request: unknown
  /** The branch of the folder that a trigger follows; null = the default branch of the remote, or there is no trigger. */
  branch: string | null
  /** The commit for which a trigger last began a goal, or since which it counts; null = none. */
  seen: string | null
  /** With a trigger: when the branch is looked at next. */
  nextAt: Date
  /** When it last began a goal; null = never. */
  lastAt: Date | null
  /** That goal. */
  goalId: string | null
  /** Why no goal began at the last time; '' = one did, or no time has come yet. */
  problem: string
  addedBy: string
  createdAt: Date
}

/** As people see it: the stored goal may be long. */
export type ShownSchedule = Omit<Schedule, 'request'>

export const shownSchedule = ({ request: _request, ...shown }: Schedule): ShownSchedule => shown

const fields = [
  { name: 'minute', allowed: '0-59' },
  { name: 'hour', allowed: '0-23' },
  { name: 'day of the month', allowed: '1-31' },
  { name: 'month', allowed: '1-12, jan-dec' },
  { name: 'day of the week', allowed: '0-7 (0 and 7 are Sunday), sun-sat' },
] as const

const example = 'for example "0 2 * * *" for every day at 02:00'

const parsed = (cron: string, timeZone: string): Cron => new Cron(cron, { timezone: timeZone, paused: true })

/** Found by leaving all other fields open. The words of croner count days and months from zero. */
const isField = (text: string, at: number): boolean => {
  try {
    parsed(fields.map((_, index) => (index === at ? text : '*')).join(' '), 'UTC')
    return true
  } catch {
    return false // it says so by throwing
  }
}

export const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false // the name is unknown
  }
}

/** The first time after `from`. Throws INPUT_INVALID for an expression that never comes. */
export const nextTime = ({ cron, timeZone }: Pick<Schedule, 'cron' | 'timeZone'>, from: Date): Date => {
  const next = parsed(cron, timeZone).nextRun(from)
  if (next === null) throw new AppError('INPUT_INVALID', `cron: "${cron}" never comes; correct the day or the month`)
  return next
}

/** The expression with single spaces. Throws INPUT_INVALID with the field that is wrong. */
export const checkCron = (text: string, timeZone: string, now: Date): string => {
  if (!isTimeZone(timeZone))
    throw new AppError('INPUT_INVALID', `timeZone: "${timeZone}" is unknown; give a name such as Europe/Berlin`)
  const parts = text.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== fields.length)
    throw new AppError(
      'INPUT_INVALID',
      `cron: "${text}": five fields are needed (${fields.map(({ name }) => name).join(', ')}), and it has ${parts.length}; ${example}`,
    )
  for (const [at, { name, allowed }] of fields.entries()) {
    const part = parts[at] ?? ''
    if (!isField(part, at))
      throw new AppError(
        'INPUT_INVALID',
        `cron: the ${name} "${part}" is not valid; allowed: ${allowed}, * for each, lists (1,3), ranges (1-5) and steps (*/2)`,
      )
  }
  const cron = parts.join(' ')
  nextTime({ cron, timeZone }, now)
  return cron
}
