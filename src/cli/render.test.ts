import { expect, it } from 'vitest'
import type { GoalView, ReportView, StatusView } from '../api/contract.ts'
import { createPaint, reportLines, statusLines } from './render.ts'

const recovery = (status: ReportView['recovered'][number]['status']) => ({
  playbook: 'p',
  label: 'l',
  status,
  action: 'A',
  did: 'did it',
  task: 't-1',
  ms: null,
  detail: '',
})

it('counts a recovery in progress neither as helpful nor as useless', () => {
  const report: ReportView = {
    ...{
      since: '2026-11-24T20:00:00.000Z',
      until: '2026-11-24T21:00:00.000Z',
      landed: [],
      ready: [],
      failing: [],
      waiting: [],
    },
    recovered: (['success', 'success', 'failed', 'acting', 'acting', 'acting'] as const).map(recovery),
    ...{ reworked: [], retrying: [], suggestions: [], spent: { tokens: 900, costUsd: 0.5, seconds: 90 } },
    spentOnReviews: { tokens: 0, costUsd: 0, seconds: 0 },
  }
  const lines = reportLines(createPaint(false), report)
  expect(lines).toContain('Recoveries: 2 helped, 3 in progress, 1 did not help')
  expect(lines.some((line) => line.startsWith('Continued'))).toBe(false)
  expect(lines.at(-1)).toMatch(/^Spent: 900 tokens/)
  const spentOnReviews = { tokens: 200, costUsd: 0.1, seconds: 30 }
  expect(reportLines(createPaint(false), { ...report, spentOnReviews }).at(-1)).toMatch(
    /^ {2}of this on reviews: 200 tokens, 0\.10 US dollars/,
  )
  const reworked = [{ task: 't-1', child: 't-2', title: '[Rework] Make it', because: 'npm test: exit 1' }]
  expect(reportLines(createPaint(false), { ...report, reworked })).toEqual(
    expect.arrayContaining(['Continued by a new task: 1', '  [Rework] Make it [t-2]: npm test: exit 1']),
  )
  const long = [{ ...reworked[0], because: `it ended:\n${'at x\n'.repeat(200)}` }] as typeof reworked
  const line = reportLines(createPaint(false), { ...report, reworked: long }).find((text) => text.includes('[t-2]'))
  expect(line).toMatch(/^ {2}\[Rework\] Make it \[t-2\]: it ended: at x .*…$/)
})

it('says that no engine is running while a goal needs one', () => {
  const goal = (state: GoalView['state']) => ({
    ...{
      id: 'g-1',
      title: 'A goal',
      state,
      reason: '',
      tasks: [{ number: 1, status: 'running', title: 'A task', id: 't-1', run: null, nextStep: null }],
      stillFailing: [],
      mergeCommand: null,
      partCommand: null,
    },
    ...{ targetBranch: null, landing: { target: null } },
  })
  const lines = (state: GoalView['state'], gone: boolean): string => {
    const status = { goals: [goal(state)], endedLeftOut: 0, limits: [], undelivered: [], engines: [], notices: [] }
    const shown = { ...status, escalations: [], suggestions: [], at: '2026-11-24T21:00:00.000Z' }
    return statusLines(createPaint(false), shown as unknown as StatusView, { isEngineGone: gone }).join('\n')
  }
  expect(lines('active', true)).toContain('! no engine is running: nothing starts, is judged or lands')
  expect(lines('active', true)).toContain('1. interrupted')
  expect(lines('active', false)).not.toContain('no engine')
  expect(lines('active', false)).toContain('1. running')
  expect(lines('done', true)).not.toContain('no engine')
})
