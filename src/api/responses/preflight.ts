/** The schema of what a start would open, and its type as clients receive it. */
import { z } from 'zod'
import { count, names } from './parts.ts'

export const preflight = z.strictObject({
  preflight: z.strictObject({
    hasRequirementContent: z.boolean(),
    ...{ issueTaskBacklogCount: count, openPrCount: count, pendingJudgeTaskCount: count },
    local: z.strictObject({ queued: count, running: count, failed: count, blocked: count }),
  }),
  recommendations: z.strictObject({
    ...{ startPlanner: z.boolean(), startDispatcher: z.boolean(), startJudge: z.boolean() },
    ...{ startCycleManager: z.boolean(), plannerCount: count },
    ...{ workerCount: count, testerCount: count, docserCount: count },
    reasons: names,
    warnings: names,
  }),
})
export type PreflightJson = z.infer<typeof preflight>
