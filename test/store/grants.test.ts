/** Granted and learned paths on a real store: what counts, for whom and how long, each change with its event. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { LearnedEvidence } from '../../src/domain/path-grant.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import {
  generatedPatterns,
  learnedPatterns,
  liveGrantsFor,
  plannedHints,
  recordGrant,
  recordLearned,
  touchGrants,
  touchLearned,
  type GrantRequest,
} from '../../src/runtime/core/granted-paths.ts'
import { firstRow, sql, type Db, type Queryable } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import {
  expireLearnedPaths,
  forgetLearnedPath,
  getLearnedPath,
  listLearnedPaths,
} from '../../src/store/learned-path.ts'
import {
  expirePathGrants,
  getPathGrant,
  listPathGrants,
  revokePathGrant,
  secondsToExpiry,
} from '../../src/store/path-grant.ts'
import type { NewTask } from '../../src/store/task.ts'
import { activeGoal, agents, claimed, empty, end, task } from './scene.ts'
import { openTestDb } from '../support/test-db.ts'

const limit = { days: 30 }
const all = { ...limit, all: true }
const live = { ...limit, all: false }
const request: GrantRequest = {
  path: 'Makefile',
  scope: 'task',
  by: 'rule',
  rule: 'command_rule',
  why: 'make test reads it',
}
const evidence: LearnedEvidence = { untrackedInBase: true, madeBy: ['npm test'], at: '2026-01-01T00:00:00.000Z' }

let made = 0
const contextWith = (config: object = {}) => ({
  config: () => configSchema.parse(config),
  newId: (prefix: string) => `${prefix}-${(made += 1)}`,
})
const context = contextWith()

let db: Db
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db?.close())
beforeEach(() => empty(db))

const eventsOf = async (type: string): Promise<Record<string, unknown>[]> =>
  (await readEvents(db, { after: 0, limit: 1000 })).filter((event) => event.type === type).map(({ payload }) => payload)

/** What `work` sees and writes so many days from now. */
const inDays = <T>(days: number, work: (tx: Queryable) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    const at = new Date(Date.now() + days * 86_400_000).toISOString()
    await tx.query(sql`select set_config('unstuck.now', ${at}, true)`)
    return work(tx)
  })

const running = async (...tasks: Partial<NewTask>[]): Promise<{ task: Task; run: Run }[]> => {
  await activeGoal(db, 'g', tasks)
  const names = tasks.map((_, index) => `a${index + 1}`)
  await agents(db, ...names)
  const found = []
  for (const name of names) found.push(await claimed(db, name))
  return found.toSorted((one, other) => one.task.number - other.task.number)
}
const one = async (extra: Partial<NewTask> = {}): Promise<{ task: Task; run: Run }> =>
  (await running({ allowedPaths: ['src/**'], ...extra }))[0] as { task: Task; run: Run }

const granted = async (on: { task: Task; run: Run }, extra: Partial<GrantRequest> = {}) => {
  const outcome = await db.transaction((tx) => recordGrant(tx, { context, ...on }, { ...request, ...extra }))
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.value
}
const learned = (on: { task: Task; run: Run }, path: string, extra: Partial<LearnedEvidence> = {}) =>
  db.transaction((tx) => recordLearned(tx, { context, ...on }, { path, evidence: { ...evidence, ...extra } }))

describe('a grant', () => {
  it('says who, why, when and for whom, in its row and in its event', async () => {
    const on = await one()
    const grant = await granted(on)
    expect(await listPathGrants(db, live)).toMatchObject([
      {
        ...{ id: grant.id, path: 'Makefile', scope: 'task', taskId: on.task.id, runId: on.run.id, role: 'worker' },
        ...{ rule: 'command_rule', why: 'make test reads it', grantedBy: 'rule', uses: 1, ended: null },
        sourceText: 'task 1\nnpm test\nnpm run lint',
      },
    ])
    const [row] = await listPathGrants(db, live)
    expect(Number(row?.endsAt) - Number(row?.lastUsedAt)).toBe(30 * 86_400_000)
    expect(await eventsOf('policy.granted')).toEqual([
      {
        ...{ grant: grant.id, path: 'Makefile', scope: 'task', areas: [], to: `task ${on.task.id}` },
        ...{ why: 'make test reads it', rule: 'command_rule', by: 'rule' },
      },
    ])
  })

  it('that already exists is used instead of repeated, and a run counts once', async () => {
    const on = await one()
    const first = await granted(on)
    expect((await granted(on)).id).toBe(first.id)
    await end(db, on.run, 'interrupted', 'interrupted')
    const again = await claimed(db, 'a1')
    expect((await granted(again)).id).toBe(first.id)
    await db.transaction((tx) => touchGrants(tx, { context, ...again }, ['Makefile']))
    expect(await listPathGrants(db, all)).toMatchObject([{ uses: 2 }])
    expect(await eventsOf('policy.granted')).toHaveLength(1)
  })

  it('of a run counts for that run alone, and ends with it', async () => {
    const on = await one()
    await granted(on, { scope: 'run' })
    expect(await liveGrantsFor(db, context, on.task, on.run)).toEqual(['Makefile'])
    expect(await liveGrantsFor(db, context, on.task)).toEqual([])
    await end(db, on.run, 'interrupted', 'interrupted')
    const next = await claimed(db, 'a1')
    expect(await liveGrantsFor(db, context, next.task, next.run)).toEqual([])
    expect(await listPathGrants(db, all)).toMatchObject([{ ended: 'its run has ended' }])
  })

  it('of a task counts for its later runs and for the task that continues it, not for another one', async () => {
    const [on, other] = await running({ allowedPaths: ['src/**'] }, { allowedPaths: ['docs/**'] })
    if (on === undefined || other === undefined) throw new Error('two tasks run')
    await granted(on)
    expect(await liveGrantsFor(db, context, on.task)).toEqual(['Makefile'])
    expect(await liveGrantsFor(db, context, other.task)).toEqual([])
    await db.query(sql`update task set rework = ${JSON.stringify({ parent: on.task.id, depth: 1, because: 'x' })}::jsonb
      where id = ${other.task.id}`)
    await db.query(sql`update task set state = 'cancelled', superseded_by = ${other.task.id} where id = ${on.task.id}`)
    expect(await liveGrantsFor(db, context, other.task)).toEqual(['Makefile'])
    await db.query(sql`update task set superseded_by = null where id = ${on.task.id}`)
    expect(await liveGrantsFor(db, context, other.task)).toEqual([])
    expect(await listPathGrants(db, all)).toMatchObject([{ ended: 'its task has ended' }])
  })

  it('of an area counts for every task whose area overlaps', async () => {
    const on = await one({ targetArea: 'src/parser' })
    await granted(on, { scope: 'area' })
    const applies = (...areas: string[]) => liveGrantsFor(db, context, { id: 'none', areas, deniedPaths: [] })
    expect(await applies('src/parser/lexer')).toEqual(['Makefile'])
    expect(await applies('docs', 'src')).toEqual(['Makefile'])
    expect(await applies('src/parsers')).toEqual([])
    expect(await applies('docs')).toEqual([])
    expect(await applies()).toEqual([])
  })

  it('of an area becomes one of the task, if the task has no area', async () => {
    const on = await one({ allowedPaths: ['**'] })
    expect(await granted(on, { scope: 'area' })).toMatchObject({ scope: 'task', areas: [] })
    expect(await liveGrantsFor(db, context, on.task)).toEqual(['Makefile'])
  })

  it('counts no more once it is revoked, and is revoked once', async () => {
    const on = await one()
    const { id } = await granted(on)
    expect(await db.transaction((tx) => revokePathGrant(tx, id, 'ada'))).toMatchObject({ revokedBy: 'ada' })
    expect(await db.transaction((tx) => revokePathGrant(tx, id, 'eve'))).toBeUndefined()
    expect(await liveGrantsFor(db, context, on.task, on.run)).toEqual([])
    await db.transaction((tx) => touchGrants(tx, { context, ...on }, ['Makefile']))
    expect(await listPathGrants(db, live)).toEqual([])
    expect(await getPathGrant(db, id, limit)).toMatchObject({ ended: 'revoked', revokedBy: 'ada' })
    expect(await eventsOf('policy.revoked')).toMatchObject([{ path: 'Makefile', by: 'ada' }])
    // The path may be granted again, by a new row.
    expect((await granted(on)).id).not.toBe(id)
  })

  it('ends after thirty days without use by the clock of the store; a use by a later run begins them again', async () => {
    const on = await one()
    const { id } = await granted(on)
    await end(db, on.run, 'interrupted', 'interrupted')
    const next = await claimed(db, 'a1')
    await inDays(29, (tx) => touchGrants(tx, { context, ...next }, ['src/a.ts', 'Makefile']))
    expect(await inDays(31, (tx) => expirePathGrants(tx, limit))).toEqual([])
    expect(await inDays(58, (tx) => liveGrantsFor(tx, context, on.task))).toEqual(['Makefile'])
    // It counts no more before the job has run.
    expect(await inDays(59.1, (tx) => liveGrantsFor(tx, context, on.task))).toEqual([])
    expect(await inDays(59.1, (tx) => getPathGrant(tx, id, limit))).toMatchObject({ ended: 'not used for 30 days' })
    expect(await inDays(59.1, (tx) => expirePathGrants(tx, limit))).toMatchObject([{ id }])
    expect(await inDays(59.2, (tx) => expirePathGrants(tx, limit))).toEqual([])
    expect(await eventsOf('policy.revoked')).toMatchObject([{ grant: id, by: 'not used for 30 days' }])
  })

  it('is not used by a run that changed other paths', async () => {
    const on = await one()
    const { id } = await granted(on, { path: 'tools' })
    await end(db, on.run, 'interrupted', 'interrupted')
    const next = await claimed(db, 'a1')
    await db.transaction((tx) => touchGrants(tx, { context, ...next }, ['toolsmith.ts', 'src/tools']))
    expect(await getPathGrant(db, id, limit)).toMatchObject({ uses: 1 })
    await db.transaction((tx) => touchGrants(tx, { context, ...next }, ['tools/build.ts']))
    expect(await getPathGrant(db, id, limit)).toMatchObject({ uses: 2 })
  })
})

describe('no rule and no model can grant', () => {
  const strict = contextWith({ deniedPaths: ['infra', 'deploy/**'] })
  it.each([
    ['infra/main.tf', '"infra" is in deniedPaths'],
    ['INFRA/main.tf', '"infra" is in deniedPaths'],
    ['deploy/a.yml', '"deploy/**" is in deniedPaths'],
    ['docs/private/a.md', 'the task denies "docs/private"'],
    ['.unstuck/config.json', 'your configuration'],
    ['.env', 'those of secrets'],
    ['keys/server.pem', 'those of secrets'],
    ['.git/hooks/pre-commit', 'belongs to git'],
    ['../x', '".."'],
    ['/etc/passwd', 'absolute'],
    ['src/*.ts', 'only a person'],
    ['a\u202Eb', 'cannot be seen'],
  ])('%j', async (path, why) => {
    const on = await one({ deniedPaths: ['docs/private'] })
    const outcome = await db.transaction((tx) => recordGrant(tx, { context: strict, ...on }, { ...request, path }))
    expect(outcome).toEqual({ ok: false, reason: expect.stringContaining(why) })
    const asLearned = await db.transaction((tx) => recordLearned(tx, { context: strict, ...on }, { path, evidence }))
    expect(asLearned).toMatchObject({ ok: false })
    expect(await listPathGrants(db, all)).toEqual([])
    expect(await listLearnedPaths(db, all)).toEqual([])
  })

  it('and what is denied later counts no more', async () => {
    const on = await one()
    await granted(on, { path: 'infra/main.tf' })
    expect(await liveGrantsFor(db, context, on.task)).toEqual(['infra/main.tf'])
    expect(await liveGrantsFor(db, strict, on.task)).toEqual([])
    expect(await liveGrantsFor(db, context, { ...on.task, deniedPaths: ['infra'] })).toEqual([])
  })
})

describe('a learned path', () => {
  it('has its evidence, is announced once, and counts the runs that saw it', async () => {
    const on = await one()
    expect(await learned(on, 'coverage')).toEqual({ ok: true, value: true })
    expect(await learned(on, 'coverage')).toEqual({ ok: true, value: false })
    expect(await getLearnedPath(db, 'coverage', limit)).toMatchObject({ seen: 1, evidence, ended: null })
    await end(db, on.run, 'interrupted', 'interrupted')
    const next = await claimed(db, 'a1')
    for (let time = 1; time <= 2; time += 1)
      await db.transaction((tx) => touchLearned(tx, { context, ...next }, ['coverage/lcov.info', 'coverages']))
    expect(await getLearnedPath(db, 'coverage', limit)).toMatchObject({ seen: 2, runId: next.run.id })
    expect(await eventsOf('policy.learned')).toEqual([
      {
        path: 'coverage',
        evidence: 'it was made by `npm test` and it is not in the base commit',
        madeBy: ['npm test'],
      },
    ])
  })

  it('is added to the generated paths of the configuration', async () => {
    const on = await one()
    await learned(on, 'coverage')
    const own = contextWith({
      policyRecovery: { generatedPaths: ['out/**', 'coverage'], extraGeneratedPaths: ['*.log'] },
    })
    expect(await generatedPatterns(db, own)).toEqual(['out/**', 'coverage', '*.log'])
    expect(await learnedPatterns(db, own)).toEqual(['coverage'])
  })

  it('that a person undid is learned again only from another command', async () => {
    const on = await one()
    await learned(on, 'coverage')
    expect(await db.transaction((tx) => forgetLearnedPath(tx, 'coverage', 'ada'))).toMatchObject({ undoneBy: 'ada' })
    expect(await learnedPatterns(db, context)).toEqual([])
    expect(await learned(on, 'coverage')).toEqual({ ok: true, value: false })
    expect(await learnedPatterns(db, context)).toEqual([])
    expect(await getLearnedPath(db, 'coverage', limit)).toMatchObject({ ended: 'undone', undoneBy: 'ada' })
    expect(await learned(on, 'coverage', { madeBy: ['npm test', 'npm run bench'] })).toEqual({
      ok: true,
      value: true,
    })
    expect(await learnedPatterns(db, context)).toEqual(['coverage'])
    expect(await eventsOf('policy.forgotten')).toEqual([{ path: 'coverage', by: 'ada' }])
    expect(await eventsOf('policy.learned')).toHaveLength(2)
  })

  it('ends when no run saw it for thirty days, and is then learned again from the same command', async () => {
    const on = await one()
    await learned(on, 'coverage')
    expect(await inDays(29, (tx) => expireLearnedPaths(tx, limit))).toEqual([])
    expect(await inDays(30.1, (tx) => learnedPatterns(tx, context))).toEqual([])
    expect(await inDays(30.1, (tx) => expireLearnedPaths(tx, limit))).toMatchObject([{ path: 'coverage' }])
    expect(await eventsOf('policy.forgotten')).toEqual([{ path: 'coverage', by: 'not seen for 30 days' }])
    expect(await getLearnedPath(db, 'coverage', limit)).toMatchObject({
      ended: 'not seen for 30 days',
      expired: true,
    })
    expect(await learned(on, 'coverage')).toEqual({ ok: true, value: true })
    expect(await learnedPatterns(db, context)).toEqual(['coverage'])
  })

  it('is due when the oldest of all is', async () => {
    expect(await secondsToExpiry(db, limit)).toBeUndefined()
    const on = await one()
    await learned(on, 'coverage')
    await inDays(-10, (tx) => recordGrant(tx, { context, ...on }, request))
    const seconds = (await secondsToExpiry(db, limit)) ?? 0
    expect(seconds).toBeGreaterThan(19.9 * 86_400)
    expect(seconds).toBeLessThan(20.1 * 86_400)
  })
})

it('hints come from runs that passed with paths of a rule or a model, each with its task', async () => {
  const found = await running(
    { allowedPaths: ['src/**'], title: 'Build it', role: 'tester' },
    { allowedPaths: ['docs/**'] },
    { allowedPaths: ['lib/**'] },
  )
  const [passed, failed, revoked] = found as [(typeof found)[0], (typeof found)[0], (typeof found)[0]]
  await granted(passed)
  await granted(passed, { path: 'CMakeLists.txt', by: 'model' })
  await granted(failed)
  const { id } = await granted(revoked)
  await db.transaction((tx) => revokePathGrant(tx, id, 'ada'))
  await end(db, passed.run, 'succeeded', 'run_succeeded')
  await end(db, failed.run, 'failed', 'run_failed')
  await end(db, revoked.run, 'succeeded', 'run_succeeded')
  const at = (await firstRow<{ ended_at: Date }>(db, sql`select ended_at from run where id = ${passed.run.id}`))
    ?.ended_at
  const needed = { title: 'Build it', instructions: 'do it', commands: ['npm test', 'npm run lint'] }
  const hint = { role: 'tester', count: 1, task: needed, at }
  expect(await plannedHints(db)).toEqual([
    { ...hint, path: 'CMakeLists.txt' },
    { ...hint, path: 'Makefile' },
  ])
  expect((await task(db, passed.task.id)).allowedPaths).toEqual(['src/**'])
})
