/** The schema of the switch of the judge. */
import { z } from 'zod'
import { count, text, time } from './parts.ts'

export const judgeSwitch = z.strictObject({
  state: z.enum(['idle', 'armed', 'off']),
  changedBy: text,
  changedAt: time,
  pendingJudgeTaskCount: count,
  openPrCount: count,
})
export type JudgeSwitchJson = z.infer<typeof judgeSwitch>
