/** The schemas of what a change answers with, where that is no row of the store, and of a failure. */
import { z } from 'zod'
import type { Challenge, LoginUrl, SessionKey, SessionView } from '../contract.ts'
import { count, of, text, time } from './parts.ts'

export const restored = z.strictObject({ files: count })
export const cleaned = z.array(
  z.strictObject({
    kind: z.enum(['workspace', 'packages', 'snapshot', 'ref', 'checks', 'remote ref']),
    id: text,
    reason: text,
    bytes: count.exactOptional(),
  }),
)
export const stopping = z.strictObject({ stopping: z.literal(true) })
export const draining = z.strictObject({ draining: z.literal(true), running: count })
export const loginUrl = of<LoginUrl>()(z.strictObject({ url: text, expiresAt: time }))
export const session = of<SessionView>()(z.strictObject({ token: text, expiresAt: time }))
export const sessionKey = of<SessionKey>()(z.strictObject({ id: text, key: text }))
export const challenge = of<Challenge>()(z.strictObject({ nonce: text, proof: text }))
export const openapi = z.looseObject({ openapi: z.literal('3.1.0') })
export const failure = z.strictObject({ error: z.strictObject({ code: text, message: text }) })
