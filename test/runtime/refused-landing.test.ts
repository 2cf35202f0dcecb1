/** A goal that could not be landed: what is to be done again must be off its branch before anything of it starts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Goal } from '../../src/domain/goal.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { isLandingRetryDue, refuseLanding } from '../../src/runtime/landing/refused-landing.ts'
import { landGoal } from '../../src/runtime/people/ask-landing.ts'
import { resumeGoals, retryGoal } from '../../src/runtime/people/commands.ts'
import { sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { readEvents, storeNow } from '../../src/store/event.ts'
import { getGoal, progressGoal } from '../../src/store/goal.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let context: Context
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.reset()
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  context = { ...store.context, log }
})

const refusal = { reason: 'git-failed', detail: 'git failed', paths: [] }
const now = async ({ id }: Goal): Promise<Goal> => (await getGoal(store.db, id)) as Goal
const questions = ({ id }: Goal) => listEscalations(store.db, { goalId: id, pendingOnly: true })

const goalWith = async (sentBack: boolean): Promise<Goal> => {
  const { goal } = await store.goal()
  await store.db.transaction((tx) => progressGoal(tx, goal.id, { landing: { outdated: true, sentBack } }))
  return goal
}

it.each([
  ['whose work was sent back stays outdated', true],
  ['of which nothing was sent back goes on where it is', false],
])('one %s', async (_what, sentBack) => {
  const goal = await goalWith(sentBack)
  // What the caller knows of it may be older.
  await refuseLanding(context, goal, refusal)
  expect((await now(goal)).landing).toMatchObject({ outdated: sentBack, refused: refusal })
})

describe('one whose sent-back work does not go off its branch', () => {
  const refuse = async (goal: Goal, times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) await refuseLanding(context, goal, refusal)
  }

  it('pauses with one question after five tries, told once, and goes on when it is resumed', async () => {
    const goal = await goalWith(true)
    await refuse(goal, 4)
    expect((await now(goal)).state).toBe('active')
    expect(await questions(goal)).toEqual([])
    await refuse(goal, 1)
    expect((await now(goal)).state).toBe('paused')
    expect(await questions(goal)).toMatchObject([
      { kind: 'blocker', taskId: null, choices: [{ kind: 'resume' }, { kind: 'cancel' }] },
    ])
    const told = await store.db.query({ text: `select 1 from event where type = 'goal.not_landed'`, values: [] })
    expect(told).toHaveLength(1)
    await resumeGoals(context, goal.id)
    expect(await now(goal)).toMatchObject({ state: 'active', landing: { sentBack: true, tries: 0, refused: null } })
    expect(await questions(goal)).toEqual([])
    await refuse(goal, 4)
    expect(await questions(goal)).toEqual([])
  })

  it('asks at once where no further try changes anything', async () => {
    const goal = await goalWith(true)
    await refuseLanding(context, goal, {
      reason: 'conflict',
      detail: 'commit abc conflicts with main',
      paths: ['a.txt'],
    })
    const [asked] = await questions(goal)
    expect(asked?.question).toContain('commit abc conflicts with main: a.txt')
    expect(asked?.details).toContain(`resolve the conflict by hand, then unstuck resume ${goal.id}`)
  })

  it('is answered by a retry as well', async () => {
    const goal = await goalWith(true)
    const other = (await store.goal()).goal
    await store.ask(
      (await store.db.query<{ id: string }>({ text: 'select id from task where goal_id = $1', values: [goal.id] }))[0]!
        .id,
    )
    await refuse(goal, 5)
    await retryGoal(context, goal.id)
    expect(await now(goal)).toMatchObject({ state: 'active', landing: { tries: 0 } })
    expect(await questions(goal)).toEqual([])
    expect((await now(other)).state).toBe('active')
  })

  it('is tried again only after a rest that grows', async () => {
    const goal = await goalWith(true)
    expect(await isLandingRetryDue(context, await now(goal))).toBe(true)
    const at = async (secondsAgo: number): Promise<boolean> =>
      isLandingRetryDue(context, {
        ...(await now(goal)),
        changedAt: new Date((await storeNow(store.db)).getTime() - secondsAgo * 1000),
      })
    await refuse(goal, 1)
    expect([await at(8), await at(11), await at(-3600)]).toEqual([false, true, true])
    await refuse(goal, 2)
    expect([await at(38), await at(41)]).toEqual([false, true])
  })
})

it('a landing is refused with the number of open tasks, and kept where the finished goal goes to a newer base', async () => {
  const { goal } = await store.goal()
  await expect(landGoal(context, goal.id)).rejects.toMatchObject({
    code: 'ILLEGAL',
    message: expect.stringContaining('1 of the 1 tasks'),
  })
  await store.db.query(sql`update task set state = 'done' where goal_id = ${goal.id}`)
  await store.db.query(sql`update goal set target_branch = 'main' where id = ${goal.id}`)
  await expect(landGoal(context, goal.id)).rejects.toMatchObject({ code: 'ILLEGAL' })
  await store.db.transaction((tx) => progressGoal(tx, goal.id, { landing: { unverified: true } }))
  expect((await landGoal(context, goal.id)).landing.asked).toBe(true)
  const events = await readEvents(store.db, { after: 0, goalId: goal.id, limit: 100 })
  expect(events.find(({ type }) => type === 'goal.landing_asked')?.payload).toMatchObject({ comesLater: true })
})
