import { expect, it } from 'vitest'
import type { Run } from '../../src/api/contract.ts'
import type { BoardGoal } from './board.ts'
import { reportHtml, reportRows, spentOf } from './goal-report.ts'

const goal = {
  ...{ id: 'g-a', title: '<b>Goal</b>', state: 'active', reason: '', branch: 'unstuck/goal/g-a' },
  spend: { tokens: 1500, costUsd: 0.5, seconds: 90 },
  limits: { goalCostUsd: 2 },
  tasks: [
    { id: 't-a', number: 1, title: 'Done', status: 'done', recoveries: 1, run: { proof: 'noticed by npm test' } },
    {
      id: 't-b',
      number: 2,
      title: 'x<script>\u001b',
      status: 'blocked(awaiting_human)',
      recoveries: 0,
      nextStep: { text: 'answer' },
    },
  ],
} as unknown as BoardGoal

const runs = [
  { taskId: 't-a', spend: { tokens: 1000, costUsd: 0.2, seconds: 1 } },
  { taskId: 't-a', spend: { tokens: 500, costUsd: 0.3, seconds: 1 } },
] as unknown as Run[]

it('each task has its result and what its runs cost', () => {
  expect(reportRows(goal, runs)).toMatchObject([
    { status: 'done', result: 'noticed by npm test', runs: 2, recoveries: 1, tokens: 1500, costUsd: 0.5 },
    { status: 'blocked: awaiting human', result: 'answer', runs: 0, tokens: 0 },
  ])
})

it('spend is a share only where there is a budget', () => {
  expect(spentOf(goal).map(({ text, share }) => [text, share])).toEqual([
    ['1,500', undefined],
    ['$0.50 of $2.00', 0.25],
    ['90 s', undefined],
  ])
})

it('the page has no markup of a title, and no script', () => {
  const html = reportHtml(goal, reportRows(goal, runs), '1 January')
  expect(html).toContain('&lt;b&gt;Goal&lt;/b&gt;')
  expect(html).toContain('x&lt;script&gt;⟨ESC⟩')
  expect(html).not.toMatch(/<script|<b>/)
})
