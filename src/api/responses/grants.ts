/** The schemas of granted and learned paths, and their types as clients receive them. */
import { z } from 'zod'
import { grantScopes } from '../../domain/path-grant.ts'
import { roles } from '../../domain/task.ts'
import { count, id, names, text, time } from './parts.ts'

const ends = {
  endsAt: time,
  /** Why it no longer counts; null = it does. */
  ended: text.nullable(),
}

export const grantSchema = z.strictObject({
  id: id('p'),
  path: text,
  scope: z.enum(grantScopes),
  areas: names,
  role: z.enum(roles).nullable(),
  goalId: text.nullable(),
  taskId: text.nullable(),
  runId: text.nullable(),
  rule: text,
  why: text,
  grantedBy: text,
  sourceText: text,
  grantedAt: time,
  lastUsedAt: time,
  revokedAt: time.nullable(),
  revokedBy: text.nullable(),
  /** How many runs changed the path. */
  uses: count,
  ...ends,
})
export type GrantJson = z.infer<typeof grantSchema>

export const learnedPath = z.strictObject({
  path: text,
  evidence: z.strictObject({
    untrackedInBase: z.boolean(),
    madeBy: names,
    ignored: z.boolean().exactOptional(),
    at: text,
  }),
  taskId: text.nullable(),
  runId: text.nullable(),
  seen: count,
  learnedAt: time,
  lastSeenAt: time,
  undoneAt: time.nullable(),
  undoneBy: text.nullable(),
  expired: z.boolean(),
  ...ends,
})
export type LearnedPathJson = z.infer<typeof learnedPath>

export const grantList = z.strictObject({
  /** Days without use after which an entry ends. */
  days: count,
  grants: z.array(grantSchema),
  learned: z.array(learnedPath),
})
export type GrantList = z.infer<typeof grantList>
