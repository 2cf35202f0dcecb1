/** The schemas of responses about the other repositories of this user. */
import { z } from 'zod'
import { count, text } from './parts.ts'

const states = ['starting', 'served', 'own', 'detached', 'broken', 'set aside', 'stopped'] as const

export const siblings = z.array(
  z.strictObject({
    id: text,
    /** Its folder or URL. */
    repository: text,
    isHere: z.boolean(),
    state: z.enum(states),
    /** Of its pages; null = no engine serves it. */
    url: text.nullable(),
    problem: z.strictObject({ code: text, message: text }).nullable(),
    /** Null = another process knows. `running`: agents. */
    counts: z.strictObject({ goals: count, questions: count, running: count }).nullable(),
  }),
)
export type SiblingsView = z.infer<typeof siblings>

/** Works once where it logs in. */
export const siblingAddress = z.strictObject({ url: text })
export type SiblingAddress = z.infer<typeof siblingAddress>
