import { expect, it } from 'vitest'
import type { GoalState } from '../../domain/goal.ts'
import { sortIssues, type OpenIssue } from './sort-issues.ts'

const issue = (number: number, more: Partial<OpenIssue> = {}): OpenIssue => ({
  ...{ id: String(number), title: `Issue ${number}`, body: '', labels: ['unstuck'], author: 'ada', isByMember: true },
  ...more,
})
const labelled = { label: 'unstuck', authors: [] }
const sorted = (
  issues: OpenIssue[],
  {
    goals = [],
    pullRequests = [],
    open = issues.map(({ id }) => Number(id)),
    rules = labelled,
  }: {
    goals?: [number, GoalState][]
    pullRequests?: { title: string; body: string }[]
    open?: number[]
    rules?: { label: string; authors: string[] }
  } = {},
): string[] =>
  sortIssues(
    issues,
    {
      goals: new Map(goals.map(([number, state]) => [String(number), state])),
      pullRequests,
      open: new Set(open.map(String)),
    },
    rules,
  ).map(({ id, fate }) => `${id} ${fate}`)

it('starts an issue with the label of the owner, as a worker where it names no role', () => {
  const [fate] = sortIssues([issue(1)], { goals: new Map(), pullRequests: [], open: new Set(['1']) }, labelled)
  expect(fate).toMatchObject({ id: '1', fate: 'start', read: { role: 'worker', allowedPaths: ['**'] } })
})

it('counts an issue whose goal has not ended, and leaves one whose goal is done or was cancelled', () => {
  const states: [number, GoalState][] = [
    [1, 'active'],
    [2, 'failed'],
    [3, 'ready'],
    [4, 'done'],
    [5, 'cancelled'],
  ]
  expect(
    sorted(
      [1, 2, 3, 4, 5].map((number) => issue(number)),
      { goals: states },
    ),
  ).toEqual([...['1 backlog', '2 backlog', '3 backlog', '4 left', '5 left']])
})

it('leaves an issue that an open pull request closes, and no other that it only mentions', () => {
  const pullRequests = [{ title: 'A change', body: 'Fixes #1, see #2' }]
  expect(sorted([issue(1), issue(2), issue(12)], { pullRequests })).toEqual(['1 left', '2 start', '12 start'])
})

it('leaves an issue of a stranger, unless the owner named the author', () => {
  const stranger = issue(1, { author: 'Mallory', isByMember: false })
  expect(sorted([stranger])).toEqual(['1 left'])
  expect(sorted([stranger], { rules: { label: 'unstuck', authors: ['mallory'] } })).toEqual(['1 start'])
})

it('lets an issue wait for the open ones that it depends on, and for no closed one', () => {
  expect(sorted([issue(1), issue(2, { body: 'Depends on #1' }), issue(3, { body: 'Depends on #99' })])).toEqual([
    ...['1 start', '2 backlog', '3 start'],
  ])
})

it('lets an issue wait for an open one without the label', () => {
  expect(sorted([issue(2, { body: 'Depends on #1' })], { open: [1, 2] })).toEqual(['2 backlog'])
})

it('without a label takes only issues that name a role', () => {
  const rules = { label: '', authors: [] }
  expect(sorted([issue(1, { labels: [] }), issue(2, { labels: ['role:docser'] })], { rules })).toEqual([
    '1 backlog',
    '2 start',
  ])
})
