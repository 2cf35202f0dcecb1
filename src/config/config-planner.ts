/** The section of the configuration about the division of goals into tasks. */
import { z } from 'zod'
import { oneOf, wholeNumber } from './config-values.ts'
import { mostReplans } from '../domain/replan.ts'

export const plannerSection = z.strictObject({
  mode: oneOf(['auto', 'always', 'never']).default('auto').meta({
    meaning:
      'Which goals a planner divides into tasks. `auto`: those that ask for it (`--plan`, `--review-plan`). `always`: each goal that is one task of an agent. `never`: none, and `--plan` is refused.',
  }),
  replans: wholeNumber(0, mostReplans).default(mostReplans).meta({
    meaning:
      'How often the finished tasks of a planned goal are compared with what it asks for; what is missing becomes tasks. 0 = never.',
  }),
})
