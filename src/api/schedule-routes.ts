/** Rows of the table of routes about schedules. */
import { z } from 'zod'
import { actorRequest, noQuery, scheduleRequest } from './contract.ts'
import { scheduleSchema } from './responses/schedule.ts'
import { change, read } from './route-rows.ts'

export const scheduleRoutes = {
  listSchedules: read('/schedules', 'Schedules, those that come next first', noQuery, z.array(scheduleSchema)),
  addSchedule: {
    ...change(
      '/schedules',
      'Adds a schedule, which begins a goal at times, or on a push or a failed check of the branch',
      scheduleRequest,
      scheduleSchema,
    ),
    status: 201 as const,
    errors: ['ILLEGAL'] as const,
  },
  removeSchedule: {
    ...change(
      '/schedules/:id/remove',
      'Removes a schedule; the goals that it began go on',
      actorRequest,
      scheduleSchema,
    ),
    errors: ['NOT_FOUND'] as const,
  },
} as const
