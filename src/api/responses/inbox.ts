/** The schemas of the inbox and of several answers at once, and their types as clients receive them. */
import { z } from 'zod'
import { answered, escalationFields } from './entities.ts'
import { count, id, text, time } from './parts.ts'

/** The failure of the run that led to the question. `output`: the end of what the failed check printed. */
const failure = z.strictObject({ code: text, evidence: text, command: text.nullable(), output: text.nullable() })

export const inboxQuestion = z.strictObject({
  ...escalationFields,
  /** Its place in the inbox, from 1. */
  number: count,
  goal: z.strictObject({ id: id('g'), title: text }),
  task: z.strictObject({ id: id('t'), number: count, title: text }).nullable(),
  run: z.strictObject({ id: id('r'), number: count }).nullable(),
  failure: failure.nullable(),
})
export type InboxQuestion = z.infer<typeof inboxQuestion>

export const inbox = z.strictObject({
  at: time,
  count,
  /** Questions with the same cause are together; the oldest question comes first. */
  groups: z.array(
    z.strictObject({ id: text, kind: escalationFields.kind, cause: text, questions: z.array(inboxQuestion) }),
  ),
})
export type InboxView = z.infer<typeof inbox>

export const answerResults = z.strictObject({
  results: z.array(
    z.strictObject({
      id: text,
      /** The question after the answer; null = refused. */
      answered: answered.nullable(),
      error: z.strictObject({ code: text, message: text }).nullable(),
    }),
  ),
})
export type AnswerResults = z.infer<typeof answerResults>
