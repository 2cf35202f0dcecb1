/** What links goals to the forge, on a real store. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { mustSucceed, type Db } from '../../src/store/db.ts'
import {
  countOpenPullRequests,
  goalsOfIssues,
  goalsToRestart,
  linkIssue,
  orderRestart,
  recordPullRequest,
} from '../../src/store/forge-link.ts'
import { moveGoal } from '../../src/store/goal.ts'
import { activeGoal, empty } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(async () => db.close())
beforeEach(async () => empty(db))

it('an issue has one goal, and a new one only after that was cancelled', async () => {
  const first = await activeGoal(db, 'g-first', [])
  await activeGoal(db, 'g-second', [])
  const issue = { id: '7', url: 'https://forge.example/7' }
  expect(await db.transaction((tx) => linkIssue(tx, first.id, issue))).toBe(true)
  expect(await db.transaction((tx) => linkIssue(tx, 'g-second', issue))).toBe(false)
  await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, first, 'cancelled', 'by hand')))
  expect([...(await goalsOfIssues(db))]).toEqual([['7', 'cancelled']])
  expect(await db.transaction((tx) => linkIssue(tx, 'g-second', issue))).toBe(true)
  expect([...(await goalsOfIssues(db))]).toEqual([['7', 'active']])
})

it('an order to begin again is kept when its goal fails first, and is carried out once', async () => {
  const first = await activeGoal(db, 'g-first', [])
  await activeGoal(db, 'g-second', [])
  const issue = { id: '7', url: 'https://forge.example/7' }
  await db.transaction((tx) => linkIssue(tx, first.id, issue))
  await db.transaction((tx) => orderRestart(tx, first.id))
  await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, first, 'work_cancelled', 'by hand')))
  expect(await goalsToRestart(db)).toEqual([{ goalId: 'g-first', issue: '7' }])
  expect(await db.transaction((tx) => linkIssue(tx, 'g-second', issue))).toBe(true)
  expect(await goalsToRestart(db)).toEqual([])
})

it('the pull request of a goal that was cancelled does not wait for anybody', async () => {
  const goal = await activeGoal(db, 'g-first', [])
  const ready = await db.transaction(async (tx) => {
    await recordPullRequest(tx, goal.id, {
      number: 1,
      url: 'https://forge.example/1',
      state: 'open',
      mergeCommit: null,
    })
    return mustSucceed(await moveGoal(tx, goal, 'all_done', 'done'))
  })
  expect(await countOpenPullRequests(db)).toBe(1)
  await db.transaction(async (tx) => mustSucceed(await moveGoal(tx, ready, 'cancelled', 'by hand')))
  expect(await countOpenPullRequests(db)).toBe(0)
})
