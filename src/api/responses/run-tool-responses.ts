/** Responses of the routes that the agent of a run may use. */
import { z } from 'zod'

const text = z.string()

/** The command that will be judged; nothing has run yet. */
export const proposed = z.strictObject({ accepted: z.literal(true), command: text })
export const reported = z.strictObject({ recorded: text })
export const agentQuestion = z.strictObject({
  question: text,
  state: z.enum(['open', 'answered', 'closed']),
  answer: text.nullable(),
  /** How long the tool of the agent waits for the answer. */
  waitSeconds: z.number(),
})
export type AgentQuestionView = z.infer<typeof agentQuestion>
