import { expect, it } from 'vitest'
import type { ReportView } from '../api/contract.ts'
import { createPaint, reportLines } from './render.ts'

const recovery = (status: ReportView['recovered'][number]['status']) => ({
  playbook: 'p',
  label: 'l',
  status,
  action: 'A',
  task: 't-1',
  ms: null,
  detail: '',
})

it('counts a recovery in progress neither as helpful nor as useless', () => {
  const report: ReportView = {
    ...{ since: '2026-11-24T20:00:00.000Z', until: '2026-11-24T21:00:00.000Z', landed: [], ready: [], waiting: [] },
    recovered: (['success', 'success', 'failed', 'acting', 'acting', 'acting'] as const).map(recovery),
    ...{ retrying: [], spent: { tokens: 0, costUsd: 0, seconds: 0 } },
  }
  expect(reportLines(createPaint(false), report)).toContain('Recoveries: 2 helped, 3 in progress, 1 did not help')
})
