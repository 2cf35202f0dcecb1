import { expect, it } from 'vitest'
import { columnsOf, isGoalOver, ownerText, progressOf, type BoardGoal, type BoardTask } from './board.ts'

const task = (change: Partial<BoardTask>): BoardTask => ({
  id: 't-a',
  goalId: 'g-a',
  number: 1,
  title: 'Cache the tokens',
  instructions: '',
  kind: 'code',
  role: 'worker',
  allowedPaths: [],
  deniedPaths: [],
  commands: [],
  originalCommands: [],
  commandSource: 'task',
  dependsOn: [],
  targetArea: null,
  harness: 'codex',
  model: null,
  priority: 0,
  ...{ status: 'queued', place: 'queued' },
  state: 'queued',
  retry: null,
  hint: null,
  pendingEdit: null,
  takenOver: null,
  contextFiles: [],
  judge: null,
  plan: null,
  review: null,
  link: null,
  rework: null,
  supersededBy: null,
  ready: true,
  epoch: 0,
  countFrom: '2026-01-01T00:00:00.000Z',
  countFromEpoch: 0,
  version: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  changedAt: '2026-01-01T00:00:00.000Z',
  nextStep: null,
  run: null,
  lane: 'feature',
  areas: [],
  engineId: null,
  recoveries: 0,
  actions: [],
  ...change,
})

const goal = (state: BoardGoal['state'], tasks: BoardTask[]): BoardGoal => ({
  id: 'g-a',
  title: 'Speed up the parser',
  requirement: '',
  state,
  repoMode: 'local',
  targetBranch: 'main',
  baseCommit: null,
  headCommit: null,
  branchPrefix: 'unstuck/',
  autoMerge: false,
  judge: null,
  landing: {
    asked: false,
    outdated: false,
    unverified: false,
    sentBack: false,
    tries: 0,
    refused: null,
    broken: null,
    target: null,
  },
  allowedDirs: [],
  grants: [],
  limits: {},
  spend: { tokens: 0, costUsd: 0, seconds: 0 },
  reason: '',
  version: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  changedAt: '2026-01-01T00:00:00.000Z',
  endedAt: null,
  branch: 'unstuck/goal/g-a',
  tasks,
  stillFailing: [],
  mergeCommand: null,
  partCommand: null,
  actions: [],
})

const failedAt = (id: string, at: string): BoardTask =>
  task({ id, state: 'failed', status: 'failed', nextStep: { owner: 'cycle manager', text: 'retry', at } })

it('every task stands in the column of its state, and every state has one', () => {
  const columns = columnsOf(
    [goal('active', [task({}), task({ id: 't-b', state: 'blocked', status: 'blocked(awaiting_human)' })])],
    '',
  )
  expect(columns.map(({ state, cards }) => [state, cards.map((card) => card.task.id)])).toEqual([
    ['queued', ['t-a']],
    ['running', []],
    ['blocked', ['t-b']],
    ['failed', []],
    ['done', []],
    ['cancelled', []],
  ])
})

it('what is due first stands first, what ended last stands first', () => {
  const done = (id: string, changedAt: string): BoardTask => task({ id, state: 'done', status: 'done', changedAt })
  const tasks = [
    failedAt('t-late', '2026-01-02'),
    failedAt('t-soon', '2026-01-01'),
    done('t-old', '1'),
    done('t-new', '2'),
  ]
  const columns = columnsOf([goal('active', tasks)], '')
  expect(columns.flatMap(({ cards }) => cards.map((card) => card.task.id))).toEqual([
    't-soon',
    't-late',
    't-new',
    't-old',
  ])
})

it.each([
  ['codex CACHE', 1],
  ['parser #1', 1],
  ['t-a', 1],
  ['claude', 0],
])('the filter %j leaves %i card', (filter, count) => {
  const cards = columnsOf([goal('active', [task({})])], filter).flatMap((column) => column.cards)
  expect(cards).toHaveLength(count)
})

it('a goal that waits to be merged is still on the board', () => {
  expect(
    (['ready', 'paused', 'active', 'failed', 'done', 'cancelled'] as const).map((state) => isGoalOver(goal(state, []))),
  ).toEqual([false, false, false, true, true, true])
})

it('names who acts next without the parts of the engine', () => {
  expect(['person', 'executor', 'cycle manager', 'merge queue'].map(ownerText)).toEqual([
    'You',
    'The agent',
    'Unstuck',
    'Unstuck',
  ])
})

it('a task that another one continues is not counted beside it', () => {
  const tasks = [
    task({ id: 't-a', status: 'cancelled', state: 'cancelled', supersededBy: 't-c' }),
    task({ id: 't-b', status: 'cancelled', state: 'cancelled' }),
    task({ id: 't-c', status: 'done', state: 'done' }),
  ]
  expect(progressOf(goal('active', tasks))).toEqual({ done: 1, all: 2 })
})

it('the plan of a goal is counted only where nothing else is', () => {
  const plan = task({ id: 't-p', status: 'done', state: 'done', plan: 'run' })
  expect(progressOf(goal('active', [plan, task({ id: 't-a' })]))).toEqual({ done: 0, all: 1 })
  expect(progressOf(goal('done', [plan]))).toEqual({ done: 1, all: 1 })
})

it('a task that waits for its rework stands with its due time among the blocked ones', () => {
  const at = '2026-01-01T00:02:00.000Z'
  const waits = { owner: 'cycle manager', text: 'its work did not pass; it starts again on its own work', at }
  const tasks = [task({ state: 'blocked', status: 'blocked(needs_rework)', nextStep: waits })]
  const column = columnsOf([goal('active', tasks)], 'needs_rework').find(({ state }) => state === 'blocked')
  expect(column?.cards.map((card) => card.task.nextStep?.at)).toEqual([at])
})
