/** Handlers for schedules. */
import { shownSchedule } from '../domain/schedule.ts'
import type { Context } from '../runtime/core/context.ts'
import { addSchedule, removeSchedule } from '../runtime/goal/schedule.ts'
import { listSchedules } from '../store/schedule.ts'
import type { HandlerCall } from './call.ts'

export const scheduleHandlers = (context: Context) => ({
  listSchedules: async () => (await listSchedules(context.db)).map(shownSchedule),
  addSchedule: async ({ body }: HandlerCall<'addSchedule'>) => addSchedule(context, body),
  removeSchedule: async ({ id, body: { by } }: HandlerCall<'removeSchedule'>) => removeSchedule(context, id, by),
})
