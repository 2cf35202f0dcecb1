/** Building blocks of the response schemas. */
import { z } from 'zod'

export const text = z.string()
export const time = z.iso.datetime()
export const count = z.number().int().min(0)
export const names = z.array(text)
export const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}-[a-z0-9]+$`))
export const spend = z.strictObject({ tokens: z.number(), costUsd: z.number(), seconds: z.number() })
export const limits = z.strictObject({
  runSeconds: z.number().exactOptional(),
  runTokens: z.number().exactOptional(),
  runCostUsd: z.number().exactOptional(),
  goalSeconds: z.number().exactOptional(),
  goalTokens: z.number().exactOptional(),
  goalCostUsd: z.number().exactOptional(),
})
/**
 * The next start of a task, or the next question to its reviewer (`awaiting_judge`; its `count` is the failures in a row). `inSeconds` is by
 * the clock of the store, so a client whose clock is wrong counts down correctly.
 */
export const retry = z.strictObject({
  ...{ reason: text, at: time, inSeconds: count, count },
  limit: z.number().int().min(-1).meta({ description: 'How often at most for this reason; -1 = no limit of its own' }),
})
