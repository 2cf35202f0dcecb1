/**
 * What a start opens: the planner only when there is a requirement and nothing older to finish, the others when there is work for them.
 * The rule and its texts are those of the founding document on the flow (§1). Pure.
 */

/** What waits before new work is planned. */
export interface Backlog {
  hasRequirementContent: boolean
  /** Open issues that are, or become, tasks. */
  issueTaskBacklogCount: number
  openPrCount: number
  /** Tasks whose finished work waits for the judge. */
  pendingJudgeTaskCount: number
  /** Tasks by state, of goals that have not ended. */
  local: { queued: number; running: number; failed: number; blocked: number }
}

/** How many agents the owner lets work at a time. */
export interface Slots {
  worker: number
  tester: number
  docser: number
}

export interface Recommendation {
  startPlanner: boolean
  startDispatcher: boolean
  startJudge: boolean
  startCycleManager: boolean
  /** 0 or 1. */
  plannerCount: number
  workerCount: number
  testerCount: number
  docserCount: number
  /** Always four: the issues, the judge, the cap of planners, the planner of this start. */
  reasons: string[]
  warnings: string[]
}

const localBacklogCount = ({ local }: Backlog): number => local.queued + local.running + local.failed + local.blocked

export const recommendStart = (backlog: Backlog, slots: Slots): Recommendation => {
  const { hasRequirementContent, issueTaskBacklogCount, openPrCount, pendingJudgeTaskCount } = backlog
  const hasIssueBacklog = issueTaskBacklogCount > 0
  const hasJudgeBacklog = openPrCount > 0 || pendingJudgeTaskCount > 0
  const hasLocalBacklog = localBacklogCount(backlog) > 0
  const startPlanner = hasRequirementContent && !hasIssueBacklog && !hasJudgeBacklog
  const startDispatcher = startPlanner || hasIssueBacklog || hasLocalBacklog
  const startJudge = hasJudgeBacklog || startDispatcher
  const issues = `Issue backlog detected (${issueTaskBacklogCount})`
  const skipped = 'Planner is skipped for this launch'
  const count = (configured: number): number => (startDispatcher ? configured : 0)
  return {
    ...{ startPlanner, startDispatcher, startJudge },
    startCycleManager: startJudge || backlog.local.blocked > 0,
    plannerCount: startPlanner ? 1 : 0,
    ...{ workerCount: count(slots.worker), testerCount: count(slots.tester), docserCount: count(slots.docser) },
    reasons: [
      hasIssueBacklog ? issues : 'No issue backlog',
      hasJudgeBacklog
        ? `Judge backlog detected (openPrCount ${openPrCount}, pendingJudgeTaskCount ${pendingJudgeTaskCount})`
        : 'No judge backlog',
      'At most one planner runs',
      startPlanner ? 'Planner is enabled for this launch' : skipped,
    ],
    warnings: [
      ...(hasIssueBacklog ? [issues] : []),
      ...(startPlanner || !hasRequirementContent ? [] : [skipped]),
      ...(startJudge ? [] : ['There is nothing to start: no requirement, and no backlog']),
    ],
  }
}

export interface Preflight {
  preflight: Backlog
  recommendations: Recommendation
}

/** What the forge shows; zero where there is none, or where it did not answer, which a warning says. */
export interface ForgeBacklog {
  issueTaskBacklogCount: number
  openPrCount: number
  warnings: string[]
}

/** The whole answer, from what the store and the forge hold and how many agents may work at a time. `docserMaxSlots`: -1 = no limit. */
export const preflightOf = (
  content: string,
  { local, pendingJudgeTaskCount }: Pick<Backlog, 'local' | 'pendingJudgeTaskCount'>,
  { issueTaskBacklogCount, openPrCount, warnings }: ForgeBacklog,
  { maxParallel, lanes: { docserMaxSlots } }: { maxParallel: number; lanes: { docserMaxSlots: number } },
): Preflight => {
  const preflight: Backlog = {
    ...{ hasRequirementContent: content.trim() !== '', issueTaskBacklogCount, openPrCount },
    ...{ pendingJudgeTaskCount, local },
  }
  const docser = docserMaxSlots === -1 ? maxParallel : Math.min(docserMaxSlots, maxParallel)
  const found = recommendStart(preflight, { worker: maxParallel, tester: maxParallel, docser })
  return { preflight, recommendations: { ...found, warnings: [...found.warnings, ...warnings] } }
}
