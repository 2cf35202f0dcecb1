/** The schema of judgements, and their type as clients receive it. */
import { z } from 'zod'
import { judgeModes, judgementStates, risks, severities, verdictWords } from '../../domain/judgement.ts'
import { count, id, spend, text, time } from './parts.ts'

const point = z.strictObject({
  ...{ path: text.nullable(), line: count.exactOptional(), severity: z.enum(severities), what: text, why: text },
})

/** `commit` is the head commit that was judged; a verdict is final for it. */
export const judgementSchema = z.strictObject({
  id: text,
  number: count,
  goalId: id('g'),
  taskId: id('t'),
  runId: id('r'),
  commit: text.nullable(),
  version: count,
  mode: z.enum(judgeModes),
  state: z.enum(judgementStates),
  engineId: text.nullable(),
  expiresAt: time.nullable(),
  retryAt: time.nullable(),
  failures: count,
  verdict: z.enum(verdictWords).nullable(),
  reason: text,
  risk: z.enum(risks).nullable(),
  points: z.array(point),
  summary: text,
  harness: text.nullable(),
  model: text.nullable(),
  decidedBy: text.nullable(),
  spend,
  spentAt: time.nullable(),
  createdAt: time,
  changedAt: time,
  decidedAt: time.nullable(),
})
export type JudgementJson = z.infer<typeof judgementSchema>
