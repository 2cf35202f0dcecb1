/** What reviewers of finished work use is counted wherever use is summed, and stays apart from the use of the work. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { json, sql, type Db } from '../../src/store/db.ts'
import { addJudgementSpend, insertJudgement } from '../../src/store/judgement.ts'
import { hourTokensNow } from '../../src/store/queue.ts'
import { spentByHarness, spentSince } from '../../src/store/spent.ts'
import { activeGoal, agents, claimed, end } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
const work = { tokens: 700, costUsd: 0.5, seconds: 60 }
const review = { tokens: 90, costUsd: 0.25, seconds: 5 }
const none = { tokens: 0, costUsd: 0, seconds: 0 }

beforeAll(async () => {
  db = await openTestDb()
  await activeGoal(db, 'g', [{}])
  await agents(db, 'a-1')
  const { run } = await claimed(db, 'a-1')
  await db.query(sql`update run set spend = ${json(work)}::jsonb where id = ${run.id}`)
  await end(db, run, 'succeeded', 'run_succeeded')
  await db.transaction(async (tx) => {
    const claim = { id: 'j-1', mode: 'llm', trigger: 'claimed', harness: 'reviewer' } as const
    const judgement = await insertJudgement(tx, { ...run, commit: 'c'.repeat(40) }, claim)
    if (judgement === undefined) throw new Error('no judgement')
    await addJudgementSpend(tx, judgement, review)
    await addJudgementSpend(tx, judgement, review)
  })
})
afterAll(() => db.close())

const reviews = { tokens: 180, costUsd: 0.5, seconds: 10 }

test('a sum names the part of the reviewers', async () => {
  expect(await spentSince(db)).toEqual({ spent: { tokens: 880, costUsd: 1, seconds: 70 }, spentOnReviews: reviews })
  expect(await spentByHarness(db)).toEqual([
    { harness: 'codex', purpose: 'work', tokens: 700, usd: 0.5 },
    { harness: 'reviewer', purpose: 'review', tokens: 180, usd: 0.5 },
  ])
})

test('the tokens of a review count for the limit per hour, until an hour after it', async () => {
  expect(await hourTokensNow(db, 180)).toMatchObject({ limit: 180, used: 180 })
  expect(await hourTokensNow(db, 181)).toBeUndefined()
})

test('a report has what was used since, and a later decision about the work moves no cost', async () => {
  await db.query(sql`update run set ended_at = ended_at - interval '2 hours'`)
  const [row] = await db.query<{ at: Date }>(sql`select unstuck_now() - interval '1 hour' as at`)
  expect(await spentSince(db, row?.at)).toEqual({ spent: reviews, spentOnReviews: reviews })
  await db.query(sql`update judgement set spent_at = spent_at - interval '2 hours', changed_at = unstuck_now()`)
  expect(await spentSince(db, row?.at)).toEqual({ spent: none, spentOnReviews: none })
  expect(await hourTokensNow(db, 1)).toBeUndefined()
})
