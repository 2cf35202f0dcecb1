/** The schema of a requeue: how a task continued after a run for which no recovery was left. */
import { z } from 'zod'
import { count, id, text, time } from './parts.ts'

export const requeue = z.strictObject({
  id: text,
  goalId: id('g'),
  taskId: id('t'),
  runId: id('r').nullable(),
  epoch: count,
  reason: text,
  cause: text,
  at: time,
})
export type RequeueJson = z.infer<typeof requeue>
