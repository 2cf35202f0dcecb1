/** The schema of `GET /quota`. */
import { z } from 'zod'
import { accountLimit } from './views.ts'
import { count, spend, text, time } from './parts.ts'

export const quota = z.strictObject({
  at: time,
  /** What was used on each harness, by when a run ended or a reviewer was asked. Empty = nothing within a day. */
  harnesses: z.array(z.strictObject({ harness: text, lastHour: spend, lastDay: spend })),
  /** Accounts on which no agent is launched before `until`. */
  limits: z.array(accountLimit),
  /** How many tasks wait for the end of a limit. */
  waiting: count,
  /** `limits.hourTokens`: null = there is none. While `until` is not null no task starts before it. */
  hourTokens: z.strictObject({ limit: count.nullable(), used: z.number(), until: time.nullable() }),
})
export type QuotaView = z.infer<typeof quota>
