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
