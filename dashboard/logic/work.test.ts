import { describe, expect, it } from 'vitest'
import { failedTask, goal, task } from './fixture.ts'
import { byCause, causeOf, filterQuery, noFilter, optionsOf, parseFilter, workCards, workColumns } from './work.ts'
import type { WorkFilter } from './work.ts'

const due = (id: string, minute: number) =>
  task({
    ...{ id, status: 'failed', state: 'failed' },
    nextStep: { owner: 'cycle manager', text: 'retry', at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString() },
  })

const tasks = [
  task({ id: 't-done', number: 1, status: 'done', state: 'done', changedAt: '2026-01-01T00:00:00.000Z' }),
  task({ id: 't-newer', number: 2, status: 'done', state: 'done', changedAt: '2026-01-02T00:00:00.000Z' }),
  due('t-late', 9),
  due('t-soon', 3),
  failedTask('t-one', 'expected 1 to be 2', { number: 5 }),
  failedTask('t-two', 'expected 1 to be 2', { number: 6, harness: 'claude' }),
  failedTask('t-else', 'cannot find module "x"', { number: 7 }),
]
const open = goal('active', tasks)
const ended = { ...goal('done', [task({ id: 't-old', status: 'done', state: 'done' })]), id: 'g-b', title: 'Old' }
const goals = [open, ended]

const ids = (filter: Partial<WorkFilter>): string[] =>
  workCards(goals, { ...noFilter, ...filter }).map((card) => card.task.id)

describe('the order', () => {
  it('by state: what needs a person, then what is due first, then of what has ended the newest', () => {
    expect(ids({})).toEqual(['t-one', 't-two', 't-else', 't-soon', 't-late', 't-newer', 't-done'])
  })
  it('turns round', () => {
    expect(ids({ down: true })).toEqual(ids({}).toReversed())
  })
  it('by another column', () => {
    expect(ids({ sort: 'harness' })[0]).toBe('t-two')
    expect(ids({ sort: 'changed' })[0]).toBe('t-newer')
  })
})

it.each<[Partial<WorkFilter>, string[]]>([
  [{ state: 'failed' }, ['t-soon', 't-late']],
  [{ harness: 'claude' }, ['t-two']],
  [{ text: 'expected 1' }, ['t-one', 't-two']],
  [{ text: 'EXPECTED #6' }, ['t-two']],
  [{ text: 'needs you module' }, ['t-else']],
  [{ goal: 'g-b' }, ['t-old']],
  [{ goal: 'g-none' }, []],
])('the filter %j', (filter, left) => {
  expect(ids(filter)).toEqual(left)
})

it('goals that have ended are left out until they are asked for', () => {
  expect(ids({})).not.toContain('t-old')
  expect(ids({ goals: 'all' })).toContain('t-old')
})

it('the address holds every choice, and is plain for none', () => {
  expect(filterQuery(noFilter)).toBe('')
  expect(parseFilter('')).toEqual(noFilter)
  const filter: WorkFilter = {
    ...{ view: 'board', text: 'a & b=c', goal: 'g-a', state: 'needs you', cause: 'test_failure x', harness: 'codex' },
    ...{ goals: 'all', group: 'cause', sort: 'changed', down: true },
  }
  expect(parseFilter(filterQuery(filter))).toEqual(filter)
})

it('an address with values that do not exist is read as far as it goes', () => {
  expect(parseFilter('state=blocked&view=cards&sort=-x&group=y&text=a')).toEqual({ ...noFilter, text: 'a', down: true })
})

describe('equal failures', () => {
  it('are together with their number, the most common first, the tasks without one last', () => {
    const groups = byCause(workCards(goals, noFilter))
    expect(groups.map(({ cause, cards }) => [cause?.text, cards.length])).toEqual([
      ['expected 1 to be 2', 2],
      ['cannot find module "x"', 1],
      [undefined, 4],
    ])
  })
  it('are what the filter offers, and it leaves only them', () => {
    const [first] = optionsOf(goals, noFilter).causes
    expect(first?.text).toBe('2× expected 1 to be 2')
    expect(ids({ cause: first?.value ?? '' })).toEqual(['t-one', 't-two'])
  })
  it('are over once the task is done', () => {
    const done = failedTask('t-a', 'expected 1 to be 2', { status: 'done', state: 'done', nextStep: null })
    expect(causeOf({ task: done, goal: open })).toBeUndefined()
  })
})

it('every task is in the column of its state, and every state has one', () => {
  expect(workColumns(workCards(goals, noFilter)).map(({ group, cards }) => [group, cards.length])).toEqual([
    ['needs you', 3],
    ['running', 0],
    ['failed', 2],
    ['waiting', 0],
    ['queued', 0],
    ['done', 2],
    ['cancelled', 0],
  ])
})
