/** The schema of a schedule, and its type as clients receive it. */
import { z } from 'zod'
import { triggers } from '../../domain/trigger.ts'
import { id, text, time } from './parts.ts'

export const scheduleSchema = z.strictObject({
  id: id('s'),
  /** What begins the goal; null = the times of `cron`. */
  trigger: z.enum(triggers).nullable(),
  /** Five fields; empty with a trigger, as `timeZone`. */
  cron: text,
  timeZone: text,
  title: text,
  /** The goal file that is read each time, relative to the repository or absolute; null = a sentence. */
  file: text.nullable(),
  /** The branch of the folder that a trigger follows; null = the default branch of the remote, or there is no trigger. */
  branch: text.nullable(),
  /** The commit for which a trigger last began a goal, or since which it counts. */
  seen: text.nullable(),
  /** With a trigger: when the branch is looked at next. */
  nextAt: time,
  /** When it last began a goal, and that goal. */
  lastAt: time.nullable(),
  goalId: text.nullable(),
  /** Why no goal began at the last time; empty = one did, or no time has come yet. */
  problem: text,
  addedBy: text,
  createdAt: time,
})
export type ScheduleJson = z.infer<typeof scheduleSchema>
