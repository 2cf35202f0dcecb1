/** The schemas of what a change answers with, where that is no row of the store, and of a failure. */
import { z } from 'zod'
import type { LoginUrl } from '../contract.ts'
import { count, of, text, time } from './parts.ts'

export const restored = z.strictObject({ files: count })
export const cleaned = z.array(
  z.strictObject({
    kind: z.enum(['workspace', 'packages', 'snapshot', 'ref', 'remote ref']),
    id: text,
    reason: text,
    bytes: count.exactOptional(),
  }),
)
export const stopping = z.strictObject({ stopping: z.literal(true) })
export const draining = z.strictObject({ draining: z.literal(true), running: count })
export const loginUrl = of<LoginUrl>()(z.strictObject({ url: text, expiresAt: time }))
export const openapi = z.looseObject({ openapi: z.literal('3.1.0') })
export const failure = z.strictObject({ error: z.strictObject({ code: text, message: text }) })
