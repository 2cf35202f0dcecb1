/** The schemas of the inbox and of several answers at once, and their types as clients receive them. */
import { z } from 'zod'
import { confidences, proposalCategories, proposalSeverities, proposalSteps } from '../../recovery/proposal/proposal.ts'
import { riskKinds } from '../../recovery/proposal/risk-rules.ts'
import { answered, escalationFields } from './entities.ts'
import { count, id, names, text, time } from './parts.ts'

/** The failure of the run that led to the question. `output`: the end of what the failed check printed. */
const failure = z.strictObject({ code: text, evidence: text, command: text.nullable(), output: text.nullable() })

const proposedCommand = z.strictObject({
  step: z.enum(proposalSteps),
  ...{ command: text, workingDir: text, timeoutSeconds: z.number(), confidence: z.enum(confidences) },
  /** The simple commands in it, as written. */
  parts: names,
  /** What it would do besides repairing. `grave`: something can be lost or cannot be taken back. */
  risks: z.array(z.strictObject({ kind: z.enum(riskKinds), grave: z.boolean(), text, part: text })),
})

/** What an agent proposes against a problem of the environment. */
const proposal = z.strictObject({
  id: text,
  category: z.enum(proposalCategories).nullable(),
  severity: z.enum(proposalSeverities).nullable(),
  ...{ rootCause: text, expected: text, evidence: names },
  /** Why its error pattern does not fit the failure; null = it fits. */
  doubt: text.nullable(),
  /** The wrong field of an invalid proposal. */
  problem: text.nullable(),
  commands: z.array(proposedCommand),
})

export const inboxQuestion = z.strictObject({
  ...escalationFields,
  /** Its place in the inbox, from 1. */
  number: count,
  goal: z.strictObject({ id: id('g'), title: text }),
  task: z.strictObject({ id: id('t'), number: count, title: text }).nullable(),
  run: z.strictObject({ id: id('r'), number: count }).nullable(),
  failure: failure.nullable(),
  proposal: proposal.nullable(),
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

/** What the choice `approve_always` would change. */
export const alwaysChange = z.strictObject({
  path: text,
  command: text,
  /** A patch; '' = the file lists the command already. */
  diff: text,
  /** For the answer: it is refused if the file has changed since. */
  seen: text,
})
export type AlwaysChangeView = z.infer<typeof alwaysChange>

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
