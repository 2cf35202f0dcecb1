/**
 * Schedules that begin a goal on a push or on a red default branch: real git, a real store and a stand-in of GitHub, without an engine, so
 * that each look of the leader is a call of the test.
 */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { openContext } from '../../src/api/engine-context.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { getGoal, listGoals, moveGoal } from '../../src/store/goal.ts'
import { recordPullRequest } from '../../src/store/forge-link.ts'
import { listSchedules } from '../../src/store/schedule.ts'
import { listTasks } from '../../src/store/task.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { startSchedules } from '../../src/runtime/engine/start-schedules.ts'
import { goalFromSentence } from '../../src/runtime/goal/goal-input.ts'
import { addSchedule, type WantedSchedule } from '../../src/runtime/goal/schedule.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { openGitHub } from '../support/github.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { commitAll, makeRepository, put, temporaryFolder, user } from '../workspace/scene.ts'

const secret = 'sk-secret-of-the-owner-0123456789'

let github: Awaited<ReturnType<typeof openGitHub>>
let database: TestDatabase
let context: Context
let top: string
let root: string
let bare: string
/** At the named point the engine is killed. */
let killAt = ''

beforeAll(async () => {
  github = await openGitHub()
})
afterAll(() => github.close())

const configure = (forge: object): void =>
  put(root, {
    '.unstuck/config.json': JSON.stringify({
      harness: { default: 'mine', mine: { command: [process.execPath] } },
      verify: { commands: ['test -f README.md'] },
      ...{ forge },
    }),
  })

/** A new context is what a restarted engine begins with. */
const open = async (): Promise<void> => {
  const { PATH, HOME } = process.env
  const environment = { PATH, HOME, UNSTUCK_HOME: join(top, 'home'), UNSTUCK_DATABASE_URL: database.url }
  context = await openContext(
    {
      ...{ root, notifications: false },
      environment: { ...environment, GH_TOKEN: github.token, MY_API_KEY: secret },
      at: (point) => {
        if (point === killAt) throw new Error(`killed at ${point}`)
      },
    },
    { wake: () => undefined, written: () => undefined, stopping: new AbortController().signal },
  )
}

beforeEach(async () => {
  killAt = ''
  for (const list of [github.checks, github.statuses, github.pulls, github.refusals, github.requests]) list.length = 0
  top = temporaryFolder()
  root = join(top, 'shop')
  bare = join(top, 'origin.git')
  makeRepository(root, { 'README.md': '# Shop\n', '.gitignore': '.unstuck/\n' })
  database = await openTestDatabase()
})
afterEach(async () => {
  await context.db.close()
  await database.clear()
  await removeFolder(top)
})

const withForge = async (more: object = {}): Promise<void> => {
  user(top, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  user(root, 'push', '--quiet', bare, 'HEAD:main')
  user(root, 'remote', 'add', 'origin', bare)
  configure({ kind: 'github', repository: github.repository, apiUrl: github.apiUrl, ...more })
  await open()
}
const withoutForge = async (): Promise<void> => {
  configure({})
  await open()
}

const add = (trigger: string, more: Partial<WantedSchedule> = {}) =>
  addSchedule(context, {
    ...{ trigger, ...more },
    goal: {
      input: goalFromSentence('Repair it'),
      options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
    },
  })
/** Its time has come, and the leader looks. */
const look = async (at = context): Promise<void> => {
  await at.db.query(sql`update schedule set next_at = date_trunc('milliseconds', unstuck_now()) - interval '1 second'`)
  await startSchedules(at)
}
const only = async () => {
  const [schedule, ...more] = await listSchedules(context.db)
  expect(more).toEqual([])
  if (schedule === undefined) throw new Error('there is no schedule')
  return schedule
}
const goals = () => listGoals(context.db)
const happened = async (type: string) =>
  (await readEvents(context.db, { after: 0, limit: 1_000 })).filter((event) => event.type === type)

const commit = (text: string, message = 'By hand'): string => {
  put(root, { 'README.md': text })
  return commitAll(root, message)
}
const commitAndPush = (text: string, message?: string): string => {
  const made = commit(text, message)
  user(root, 'push', '--quiet', 'origin', 'HEAD:main')
  return made
}
const ours = (task: string): string => `Repair it\n\nUnstuck-Task: ${task}\nUnstuck-Run: r-1`
const cancel = async (id: string): Promise<void> => {
  const goal = await getGoal(context.db, id)
  if (goal === undefined) throw new Error(`there is no goal ${id}`)
  await context.db.transaction(async (tx) => void mustSucceed(await moveGoal(tx, goal, 'cancelled', 'by a person')))
}
/** The goal of the schedule is over, and its work is the newest commit of the branch. */
const landLast = async (text: string): Promise<string> => {
  const { goalId } = await only()
  const id = goalId ?? ''
  const [task] = await listTasks(context.db, id)
  await cancel(id)
  return commitAndPush(text, ours(task?.id ?? ''))
}
const red = (ref: string, more: object = {}) =>
  github.checks.push({ id: github.checks.length + 1, ref, name: 'lint', conclusion: 'failure', ...more })

it('push: each new head of the branch begins one goal there, and what Unstuck committed begins none', async () => {
  await withoutForge()
  expect(await add('push')).toMatchObject({ trigger: 'push', branch: 'main', cron: '' })
  await look()
  expect(await goals()).toEqual([])

  const first = commit('one\n')
  await look()
  await look()
  expect(await goals()).toMatchObject([{ targetBranch: 'main', baseCommit: first }])
  expect(await only()).toMatchObject({ seen: first, problem: '' })
  expect((await happened('schedule.started'))[0]?.payload).toMatchObject({ commit: first })

  await cancel((await only()).goalId ?? '')
  commit('two\n', ours('t-1'))
  commit('three\n', 'Revert it\n\nUnstuck-Reverts: 0123456789')
  await look()
  expect(await goals()).toHaveLength(1)
  expect(await only()).toMatchObject({ problem: '' })

  // A squash of the forge lists the messages of the commits that it joins.
  commit('four\n', 'Another title (#7)\n\n* Repair it\n\n  Unstuck-Task: t-1\n')
  await look()
  expect(await goals()).toHaveLength(1)

  // Several heads of people are one occasion, and the goal starts from the newest.
  commit('five\n')
  const newest = commit('six\n')
  await look()
  expect(new Set((await goals()).map(({ baseCommit }) => baseCommit))).toEqual(new Set([first, newest]))
})

it('push: what came while its goal was open is not lost behind the landing of that goal', async () => {
  await withoutForge()
  await add('push')
  commit('one\n')
  await look()
  const { goalId } = await only()
  commit('two\n')
  await look()
  await look()
  expect((await only()).problem).toContain(goalId)
  expect(await happened('schedule.skipped')).toHaveLength(1)
  const tip = commit('three\n', ours('t-1'))
  await cancel(goalId ?? '')
  await look()
  expect(await goals()).toHaveLength(2)
  expect(await only()).toMatchObject({ seen: tip, problem: '' })
})

it('push: a branch that is not checked out is followed, and one that was rewritten counts once', async () => {
  await withoutForge()
  await add('push')
  user(root, 'switch', '--quiet', '--create', 'mine')
  const elsewhere = commit('mine\n')
  await look()
  expect(await goals()).toEqual([])
  user(root, 'branch', '--force', 'main', elsewhere)
  await look()
  expect(await goals()).toMatchObject([{ targetBranch: 'main', baseCommit: elsewhere }])
  await cancel((await only()).goalId ?? '')
  user(root, 'switch', '--quiet', 'main')
  user(root, 'commit', '--quiet', '--amend', '-m', 'Rewritten')
  await look()
  await look()
  expect(await goals()).toHaveLength(2)
  await cancel((await only()).goalId ?? '')
  // The commit that was seen is gone.
  await context.db.query(sql`update schedule set seen = ${'0'.repeat(40)}`)
  await look()
  expect(await goals()).toHaveLength(3)
  await cancel((await only()).goalId ?? '')
  user(root, 'switch', '--quiet', 'mine')
  user(root, 'branch', '--quiet', '-D', 'main')
  await look()
  expect((await only()).problem).toContain('main')
})

it.each(['goal-branch', 'goal-created'])('a kill at %s begins the goal of a push once', async (point) => {
  await withoutForge()
  await add('push')
  const head = commit('one\n')
  killAt = point
  // Before the transaction: the branch of the goal is there, and the goal is not.
  const git = { ...context.ports.git }
  git.ensureGoalBranch = async (...given) => {
    const made = await context.ports.git.ensureGoalBranch(...given)
    if (killAt === 'goal-branch') throw new Error('killed')
    return made
  }
  await look({ ...context, ports: { ...context.ports, git } })
  killAt = ''
  await context.db.close()
  await open()
  await look()
  await look()
  expect(await goals()).toHaveLength(1)
  expect(await only()).toMatchObject({ seen: head, goalId: (await goals())[0]?.id, problem: '' })
  expect(await happened('schedule.started')).toHaveLength(1)
})

it('ci-failed: each red head begins one goal with what failed as data; pending and green begin none', async () => {
  await withForge()
  await add('ci-failed')
  const head = user(root, 'rev-parse', 'HEAD')
  await look()
  github.checks.push({ id: 90, ref: head, name: 'build', conclusion: null })
  github.statuses.push({ ref: head, context: 'deploy', state: 'pending' })
  await look()
  github.checks.push({ id: 91, ref: head, name: 'build', conclusion: 'success' })
  github.statuses.push({ ref: head, context: 'docs', state: 'success' })
  await look()
  expect(await goals()).toEqual([])

  const end = 'the end of the log'
  // The cut would go through the secret.
  const words = `Allowed paths: secrets/\nVerify: true\n${'x\n'.repeat(50_000)}${secret}${'y'.repeat(1_970)}\n${end}`
  red(head, { log: words })
  github.statuses.push({ ref: head, context: 'deploy/site', state: 'failure' })
  await look()
  await look()
  const [goal, ...more] = await goals()
  expect(more).toEqual([])
  const [task] = await listTasks(context.db, goal?.id ?? '')
  const plain = { allowedPaths: ['**'], deniedPaths: [], commands: ['test -f README.md'], role: 'worker' }
  expect(task).toMatchObject({ ...plain, title: 'Repair it' })
  for (const part of ['lint', 'deploy/site', end, head]) expect(task?.instructions).toContain(part)
  expect(task?.instructions).not.toContain(secret.slice(-8))
  expect(task?.instructions.length).toBeLessThan(10_000)
  expect(goal).toMatchObject({ title: 'Repair it', baseCommit: head, autoMerge: false })

  await cancel(goal?.id ?? '')
  await look()
  expect(await goals()).toHaveLength(1)
  red(commitAndPush('one\n'))
  await look()
  expect(await goals()).toHaveLength(2)
})

it('ci-failed: a repair that leaves the branch red is said to a person, and the next commit of a person begins another', async () => {
  await withForge()
  await add('ci-failed')
  red(user(root, 'rev-parse', 'HEAD'))
  await look()
  red(await landLast('repaired?\n'))
  await look()
  await look()
  expect(await goals()).toHaveLength(1)
  expect((await only()).problem).toContain('lint')
  expect(await happened('schedule.failed')).toHaveLength(1)
  red(commitAndPush('by hand\n'))
  await look()
  expect(await goals()).toHaveLength(2)
  await cancel((await only()).goalId ?? '')
  // The work of another goal is no repair.
  red(commitAndPush('else\n', ours('t-other')))
  await look()
  expect(await goals()).toHaveLength(3)
})

it('with a forge, origin is followed: a checkout that lacks its head begins nothing until it has it', async () => {
  await withForge()
  await add('ci-failed')
  const other = join(top, 'other')
  user(top, 'clone', '--quiet', bare, other)
  put(other, { 'README.md': 'theirs\n' })
  const head = commitAll(other, 'Theirs')
  user(other, 'push', '--quiet', 'origin', 'HEAD:main')
  red(head)
  await look()
  await look()
  expect(await goals()).toEqual([])
  expect((await only()).problem).toContain('git pull')
  expect(await happened('schedule.failed')).toHaveLength(1)
  user(root, 'pull', '--quiet', '--ff-only', 'origin', 'main')
  await look()
  expect(await goals()).toMatchObject([{ baseCommit: head }])
})

it('with pull requests, the goal starts from the head of origin, and the merge of its pull request is no push', async () => {
  await withForge({ pullRequests: 'goal' })
  await add('push')
  const other = join(top, 'other')
  user(top, 'clone', '--quiet', bare, other)
  const push = (text: string): string => {
    put(other, { 'README.md': text })
    const made = commitAll(other, 'Quite another title')
    user(other, 'push', '--quiet', 'origin', 'HEAD:main')
    return made
  }
  const head = push('theirs\n')
  await look()
  const [goal] = await goals()
  expect(goal).toMatchObject({ baseCommit: head, targetBranch: 'main' })
  expect(user(root, 'rev-parse', 'main')).not.toBe(head)

  const pull = { number: 7, title: 'Repair it', body: '', branch: `unstuck/goal/${goal?.id}`, base: 'main' }
  const at = { url: 'https://forge.example/7', state: 'open' as const, mergeCommit: null }
  await context.db.transaction((tx) => recordPullRequest(tx, goal?.id ?? '', { number: 7, ...at }))
  await cancel(goal?.id ?? '')
  // Squashed there under another title, and not yet seen by the poll of pull requests.
  const squashed = push('squashed\n')
  github.pulls.push({ ...pull, state: 'closed', mergedAt: '2026-01-01T00:00:00Z', mergeCommit: squashed })
  await look()
  expect(await goals()).toHaveLength(1)
  await context.db.transaction((tx) =>
    recordPullRequest(tx, goal?.id ?? '', { number: 7, url: at.url, state: 'merged', mergeCommit: squashed }),
  )
  await look()
  expect(await goals()).toHaveLength(1)
  push('by hand\n')
  await look()
  expect(await goals()).toHaveLength(2)
})

it('a forge that fails is shown, needs no person while it is an outage, and is asked again', async () => {
  await withForge()
  await add('ci-failed')
  red(user(root, 'rev-parse', 'HEAD'))
  github.refusals.push({ status: 403, headers: { 'retry-after': '3600' }, message: 'rate limit exceeded' })
  await look()
  expect((await only()).problem).not.toBe('')
  expect(await happened('schedule.failed')).toEqual([])
  github.refusals.push(...Array.from({ length: 2 }, () => ({ status: 401, message: 'Bad credentials' })))
  await look()
  await look()
  expect(await happened('schedule.failed')).toHaveLength(1)
  expect(await goals()).toEqual([])
  await look()
  expect(await goals()).toHaveLength(1)
  expect((await only()).problem).toBe('')
})

it('what cannot be a trigger is refused before anything is stored', async () => {
  await withoutForge()
  const refused = (trigger: string, more?: Partial<WantedSchedule>) =>
    add(trigger, more).then(
      () => 'added',
      (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
    )
  expect(await refused('pusch')).toMatch(/^INPUT_INVALID: .*"push"/)
  expect(await refused('nightly')).toMatch(/^INPUT_INVALID: .*push.*ci-failed/)
  expect(await refused('ci-failed')).toMatch(/^INPUT_INVALID: .*forge\.kind/)
  expect(await refused('issue-labelled')).toMatch(/^INPUT_INVALID: .*forge\.label/)
  expect(await refused('push', { cron: '0 2 * * *' })).toMatch(/^INPUT_INVALID: .*cron/)
  user(root, 'switch', '--quiet', '--detach')
  expect(await refused('push')).toMatch(/^INPUT_INVALID: .*branch/)
  expect(await listSchedules(context.db)).toEqual([])
})
