/** The schema of what the page about recovery shows, and its type as clients receive it. */
import { z } from 'zod'
import { count, id, text, time } from './parts.ts'

const tried = { attempts: count, successes: count, lostSeconds: z.number() }

export const recoveryFigures = z.strictObject({
  since: time,
  /** Tasks that are done since then. */
  done: count,
  /** Of these, those about which no person was asked. */
  withoutPerson: count,
  /** About tasks. */
  questions: count,
  /** `day`: days since `since`, from 0; one without recoveries is left out. */
  days: z.array(z.strictObject({ day: z.number(), successes: count, failures: count })),
  classes: z.array(
    z.strictObject({
      label: text,
      rung: z.number(),
      ...tried,
      /** Null = none helped. */ medianSeconds: z.number().nullable(),
    }),
  ),
  /** Equal failures are one. `text`: as it was last seen; `taskId`: the last of its tasks. */
  worst: z.array(z.strictObject({ label: text, text, ...tried, tasks: count, taskId: id('t') })),
})
export type RecoveryFigures = z.infer<typeof recoveryFigures>
