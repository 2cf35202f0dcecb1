/** The schemas of the remaining responses: what a change returns where that is no stored entity, logins, and failures. */
import { z } from 'zod'
import { count, names, text, time } from './parts.ts'

export const restored = z.strictObject({ files: count })
export const cleaned = z.array(
  z.strictObject({
    kind: z.enum([
      'workspace',
      'packages',
      'snapshot',
      'ref',
      'checks',
      'remote ref',
      'branch',
      'package store',
      'tree',
      'caches',
    ]),
    id: text,
    reason: text,
    bytes: count.exactOptional(),
    /** Why it could not be removed and is still there. */
    problem: text.exactOptional(),
  }),
)
export const stored = z.array(z.strictObject({ kind: text, count, bytes: count, reason: text }))
export const stopping = z.strictObject({ stopping: z.literal(true) })
export const draining = z.strictObject({ draining: z.literal(true), running: count })
/** A URL that logs a browser in once. */
export const loginUrl = z.strictObject({ url: text, expiresAt: time })
export type LoginUrl = z.infer<typeof loginUrl>
/** What a page sends with each request, until the engine stops or the login expires. */
export const sessionSchema = z.strictObject({ token: text, expiresAt: time })
export type SessionView = z.infer<typeof sessionSchema>
/** A page keeps the key in memory and never sends it. */
export const sessionKey = z.strictObject({ id: text, key: text })
export type SessionKey = z.infer<typeof sessionKey>
export const challenge = z.strictObject({ nonce: text, proof: text })
export type Challenge = z.infer<typeof challenge>
export const refusalReported = z.strictObject({})
export const openapi = z.looseObject({ openapi: z.literal('3.1.0') })
export const failure = z.strictObject({ error: z.strictObject({ code: text, message: text }) })

/** `taken`: names of variables; `retried`: ids of tasks. */
export const takenLogin = z.strictObject({ taken: names, retried: names })
export type TakenLoginJson = z.infer<typeof takenLogin>
