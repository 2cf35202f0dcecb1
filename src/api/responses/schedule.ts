/** The schema of a schedule, and its type as clients receive it. */
import { z } from 'zod'
import { id, text, time } from './parts.ts'

export const scheduleSchema = z.strictObject({
  id: id('s'),
  /** Five fields. */
  cron: text,
  timeZone: text,
  title: text,
  /** The goal file that is read each time, relative to the repository or absolute; null = a sentence. */
  file: text.nullable(),
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
