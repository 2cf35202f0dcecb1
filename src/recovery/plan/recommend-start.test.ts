import { describe, expect, it } from 'vitest'
import { recommendStart, type Backlog } from './recommend-start.ts'

const slots = { worker: 3, tester: 2, docser: 1 }
const none: Backlog = {
  ...{ hasRequirementContent: false, issueTaskBacklogCount: 0, openPrCount: 0, pendingJudgeTaskCount: 0 },
  local: { queued: 0, running: 0, failed: 0, blocked: 0 },
}
const all = [false, true]

/** R: a requirement, I: issues, P: pull requests or work before the judge, L: tasks. */
const backlogOf = (r: boolean, i: boolean, p: 'none' | 'open' | 'judge', l: boolean): Backlog => ({
  ...{ hasRequirementContent: r, issueTaskBacklogCount: i ? 4 : 0 },
  ...{ openPrCount: p === 'open' ? 2 : 0, pendingJudgeTaskCount: p === 'judge' ? 3 : 0 },
  local: { ...none.local, queued: l ? 1 : 0 },
})

describe('what a start opens', () => {
  const rows = all.flatMap((r) =>
    all.flatMap((i) => (['none', 'open', 'judge'] as const).flatMap((p) => all.map((l) => [r, i, p, l] as const))),
  )
  it.each(rows)('R %s, I %s, P %s, L %s', (r, i, p, l) => {
    const found = recommendStart(backlogOf(r, i, p, l), slots)
    // startPlanner = hasRequirementContent && !hasIssueBacklog && !hasJudgeBacklog
    const planner = r && !i && p === 'none'
    const agents = planner || i || l
    expect(found).toMatchObject({
      ...{ startPlanner: planner, plannerCount: planner ? 1 : 0, startDispatcher: agents },
      ...{ workerCount: agents ? 3 : 0, testerCount: agents ? 2 : 0, docserCount: agents ? 1 : 0 },
      ...{ startJudge: p !== 'none' || agents, startCycleManager: p !== 'none' || agents },
    })
    expect(found.reasons).toHaveLength(4)
    expect(found.reasons[0]).toBe(i ? 'Issue backlog detected (4)' : 'No issue backlog')
    expect(found.reasons[3]).toBe(planner ? 'Planner is enabled for this launch' : 'Planner is skipped for this launch')
    expect(found.warnings.includes('Issue backlog detected (4)')).toBe(i)
    expect(found.warnings.includes('Planner is skipped for this launch')).toBe(r && !planner)
  })

  it.each(['queued', 'running', 'failed', 'blocked'] as const)('a %s task is local backlog', (state) => {
    const found = recommendStart({ ...none, local: { ...none.local, [state]: 1 } }, slots)
    expect(found).toMatchObject({ startPlanner: false, startDispatcher: true, startCycleManager: true, workerCount: 3 })
  })

  it('finishes issues before it plans: the warning, the reason, and no planner', () => {
    const { warnings, reasons } = recommendStart(backlogOf(true, true, 'none', false), slots)
    expect(warnings).toEqual(['Issue backlog detected (4)', 'Planner is skipped for this launch'])
    expect([reasons[0], reasons[3]]).toEqual(warnings)
  })

  it('counts open pull requests and work before the judge: openPrCount > 0', () => {
    const { reasons, startJudge, startDispatcher } = recommendStart({ ...none, openPrCount: 2 }, slots)
    expect(reasons[1]).toBe('Judge backlog detected (openPrCount 2, pendingJudgeTaskCount 0)')
    expect([startJudge, startDispatcher]).toEqual([true, false])
  })

  it('says that there is nothing to start', () => {
    expect(recommendStart(none, slots).warnings).toEqual(['There is nothing to start: no requirement, and no backlog'])
  })
})
