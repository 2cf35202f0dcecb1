/** What a person does about a task that waits for its next start, or that was given up, on a real store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Escalation } from '../../src/domain/escalation.ts'
import { askAboutNext } from '../../src/runtime/engine/requeue.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { cancelTask, retryTask } from '../../src/runtime/people/commands.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { addGrant, listGrants, revokeGrants } from '../../src/runtime/people/path-grants.ts'
import { claimTask } from '../../src/store/claim.ts'
import { sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { pathsLeftOut } from '../../src/store/requeue.ts'
import { listTasks, moveTask } from '../../src/store/task.ts'
import { everything, failure, nothing, openRequeueStore, strayed, type RequeueStore } from './requeue-store.ts'

let opened: RequeueStore
let store: RequeueStore['store']
let { contextOf, pass, fail, newGoal, payloads, causes } = {} as RequeueStore
beforeAll(async () => {
  opened = await openRequeueStore()
  ;({ store, contextOf, pass, fail, newGoal, payloads, causes } = opened)
})
afterAll(() => opened.close())

const noWait = { suppressionLimit: 0 }

const questionOf = async (goal: string): Promise<Escalation> => {
  const [question, ...more] = await listEscalations(store.db, { goalId: goal, pendingOnly: true })
  if (question === undefined || more.length > 0) throw new Error(`${more.length + 1} questions`)
  return question
}

const answer = async (goal: string, choice: string, input?: string, more: object = {}) =>
  answerQuestion(
    contextOf(store.db, {}, more),
    { id: (await questionOf(goal)).id, choice, by: 'ada', ...(input === undefined ? {} : { input }) },
    async () => undefined,
  )

const grantsOf = async (taskId: string) =>
  (await listGrants(contextOf(), false)).grants.filter((grant) => grant.taskId === taskId)

const kinds = ({ choices }: Escalation): string[] => choices.map(({ kind }) => kind)

describe('a task that was given up over changed paths', () => {
  it('is answered by a grant of exactly these paths, which a person can list and revoke', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, strayed({ 'lib/a, b.js': 'outside', Makefile: 'outside' }))
    await pass(noWait)
    const question = await questionOf(goal)
    expect(question.happened).toBe(
      'Task 1 "Task 1" was given up because it changed lib/a, b.js, Makefile, which its allowed paths do not cover. No rule connects lib/a, b.js with the task. No rule connects Makefile with the task.',
    )
    expect(kinds(question)).toEqual(['widen', 'leave_out', 'hint', 'edit', 'retry', 'cancel'])
    expect(question.choices[0]).toMatchObject({
      ...{ paths: ['lib/a, b.js', 'Makefile'], task: id, command: `unstuck answer ${goal} widen` },
    })
    expect(await answer(goal, 'widen')).toMatchObject({ state: 'resolved', answer: 'widen' })
    expect(await store.task(id)).toMatchObject({
      ...{ status: 'queued', allowedPaths: ['src/**'], areas: ['Makefile', 'lib/a, b.js', 'src'] },
    })
    expect(await grantsOf(id)).toMatchObject(
      ['Makefile', 'lib/a, b.js'].map((path) => ({
        ...{ path, scope: 'task', taskId: id, rule: 'person', grantedBy: 'ada' },
        why: `allowed in the answer to question ${question.id}`,
      })),
    )
    const [makefile] = await grantsOf(id)
    await revokeGrants(contextOf(), { grant: makefile?.id ?? '', by: 'ada' })
    expect((await store.task(id)).areas).toEqual(['lib/a, b.js', 'src'])
  })

  it('offers no grant for a secret or a denied path, and says what would have to change', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await store.db.query(sql`update task set denied_paths = '["src/generated"]'::jsonb where id = ${id}`)
    await fail(id, strayed({ '.env': 'secret', 'src/generated/a.ts': 'denied' }))
    await pass(noWait)
    const question = await questionOf(goal)
    expect(kinds(question)).toEqual(['leave_out', 'hint', 'edit', 'retry', 'cancel'])
    expect(question.happened).toContain(
      '.env cannot be allowed: names like "**/.env" are those of secrets, which no setting allows.',
    )
    expect(question.happened).toContain('src/generated/a.ts cannot be allowed: the task denies "src/generated"; change')
  })

  it('offers to leave out a nested repository and a link that leads out, which nothing allows', async () => {
    const { goal, tasks } = await newGoal()
    await fail(tasks[0] ?? '', strayed({ vendor: 'nested_repository', 'src/host': 'symlink_out' }))
    await pass(noWait)
    const question = await questionOf(goal)
    expect(kinds(question)).toEqual(['leave_out', 'hint', 'edit', 'retry', 'cancel'])
    expect(question.choices[0]).toMatchObject({ paths: ['vendor', 'src/host'] })
  })

  it('refuses another path than those in question if no setting allows it, and nothing changes', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, strayed({ Makefile: 'outside' }))
    await pass(noWait)
    await expect(answer(goal, 'widen', 'Makefile, .env')).rejects.toThrow(/paths: "\.env" cannot be allowed/)
    await expect(answer(goal, 'widen', 'infra/x', { deniedPaths: ['infra'] })).rejects.toThrow(/"infra" is in denied/)
    expect((await store.task(id)).status).toBe('cancelled')
    expect(await grantsOf(id)).toEqual([])
    expect((await questionOf(goal)).state).toBe('pending')
  })

  it('continues without the files that a person leaves out, in this task and in the one that continues it', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, strayed({ Makefile: 'outside', '.env': 'secret' }))
    await pass(noWait)
    await answer(goal, 'leave_out')
    expect((await store.task(id)).status).toBe('queued')
    const left = ['.env', 'Makefile'].map((path) => ({ path, wasCovered: false }))
    expect(await pathsLeftOut(store.db, id)).toEqual(left)
    // It is a decision of a person, which no limit counts.
    expect(await causes(id)).toEqual([])
    const same = failure()
    await fail(id, same)
    await pass()
    await fail(id, same)
    await pass()
    const child = (await store.task(id)).supersededBy ?? ''
    expect(await pathsLeftOut(store.db, child)).toEqual(left)
  })

  it('may allow one path and leave the others out, in one answer', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, strayed({ 'lib/a.js': 'outside', Makefile: 'outside', '.env': 'secret' }))
    await pass(noWait)
    await answer(goal, 'widen', 'lib/*.js')
    expect((await grantsOf(id)).map(({ path }) => path)).toEqual(['lib/*.js'])
    const left = ['.env', 'Makefile'].map((path) => ({ path, wasCovered: false }))
    expect(await pathsLeftOut(store.db, id)).toEqual(left)
    expect((await store.task(id)).status).toBe('queued')
  })

  it('leaves nothing out of the folder of the user', async () => {
    const { goal, tasks } = await newGoal()
    await store.db.query(sql`update goal set repo_mode = 'direct' where id = ${goal}`)
    await fail(tasks[0] ?? '', strayed({ Makefile: 'outside' }))
    await pass(noWait)
    expect(kinds(await questionOf(goal))).toEqual(['widen', 'hint', 'edit', 'retry', 'cancel'])
  })

  it('is retried with a hint or with other instructions', async () => {
    for (const [choice, wanted] of [
      ['hint', { hint: 'Do it in src.' }],
      ['edit', { instructions: 'Do it in src.' }],
    ] as const) {
      const { goal, tasks } = await newGoal()
      const [id = ''] = tasks
      await fail(id, strayed({ Makefile: 'outside' }))
      await pass(noWait)
      expect(await answer(goal, choice, 'Do it in src.')).toMatchObject({ answer: choice })
      expect(await store.task(id)).toMatchObject({ status: 'queued', ...wanted })
    }
  })

  it('brings back what was cancelled with it, and the next one is asked about', async () => {
    const { goal, tasks } = await newGoal(4)
    const [first = '', second = '', third = '', fourth = ''] = tasks
    await store.db.query(sql`update task set depends_on = ${JSON.stringify([first])}::jsonb where id = ${third}`)
    await store.db.query(sql`update task set depends_on = ${JSON.stringify([third])}::jsonb where id = ${fourth}`)
    for (const id of [first, second]) {
      await fail(id, strayed({ Makefile: 'outside' }))
      await pass(noWait)
    }
    await cancelTask(contextOf(), fourth, async () => undefined)
    const dependent = await store.task(third)
    await moveTask(store.db, dependent, 'dependency_cancelled', { payload: { reason: 'dependency_cancelled' } })
    await answer(goal, 'widen')
    const states = (await listTasks(store.db, goal)).map(({ status }) => status)
    // The fourth was cancelled by a person.
    expect(states).toEqual(['queued', 'cancelled', 'queued', 'cancelled'])
    expect(await listEscalations(store.db, { goalId: goal, pendingOnly: true })).toEqual([])
    await askAboutNext(contextOf(), goal, nothing)
    await askAboutNext(contextOf(), goal, nothing)
    expect((await questionOf(goal)).happened).toContain('Task 2 "Task 2" was given up because it changed Makefile')
  })

  it('can be edited before its retry, and says how to end its goal', async () => {
    const { goal, tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, strayed({ Makefile: 'outside' }))
    await pass(noWait)
    const edited = await requestEdit(contextOf(), id, { allowedPaths: ['src/**', 'Makefile'] }, { why: 'needed' })
    expect(edited).toMatchObject({ status: 'cancelled', allowedPaths: ['src/**', 'Makefile'] })
    // Still given up: the question waits for the retry.
    expect(kinds(await questionOf(goal))[0]).toBe('widen')
    await expect(cancelTask(contextOf(), id, async () => undefined)).rejects.toThrow(
      `task ${id} was given up and is cancelled already; to end its goal as well: unstuck cancel ${goal}`,
    )
    await retryTask(contextOf(), id)
    expect(await listEscalations(store.db, { goalId: goal, pendingOnly: true })).toEqual([])
  })
})

describe('an edit by a person', () => {
  it('of a task that waits begins a new count, and the task starts when its wait is over', async () => {
    const { tasks } = await newGoal(1, ['npm test'])
    const [id = ''] = tasks
    const same = failure()
    await fail(id, same)
    await pass()
    await fail(id, same)
    expect(await causes(id)).toEqual(['in_place'])
    const { retry, countFromEpoch } = await store.task(id)
    // Another name changes nothing about the work.
    await requestEdit(contextOf(), id, { title: 'Other' })
    expect(await store.task(id)).toMatchObject({ retry, countFromEpoch })
    await requestEdit(contextOf(), id, { commands: ['npm run other'] })
    expect(await store.task(id)).toMatchObject({
      ...{ status: 'blocked(needs_rework)', countFromEpoch: 2 },
      retry: { reason: 'edited_by_person', at: retry?.at },
    })
    expect(await causes(id)).toEqual([])
    await pass()
    expect((await store.task(id)).status).toBe('queued')
    expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({ reason: 'edited_by_person' })
    // Without the edit the second equal failure would have been continued by a new task.
    await fail(id, same)
    await pass()
    expect((await payloads(id, 'task.requeued')).at(-1)).toMatchObject({ reason: 'needs_rework_in_place_retry' })
  })

  it('of the paths of a task that failed begins a new count too', async () => {
    const { tasks } = await newGoal()
    const [id = ''] = tasks
    await fail(id, failure({ failureCode: 'model_or_unknown_failure' }), 'run_failed')
    await pass()
    await fail(id, failure({ failureCode: 'model_or_unknown_failure' }), 'run_failed')
    await requestEdit(contextOf(), id, { allowedPaths: ['src/**', 'lib'] }, { why: 'needed' })
    expect(await causes(id)).toEqual([])
    await pass()
    expect(await store.task(id)).toMatchObject({ status: 'queued', allowedPaths: ['src/**', 'lib'] })
  })

  it('during a run counts from its end on', async () => {
    const { tasks } = await newGoal(1, ['npm test'])
    const [id = ''] = tasks
    await fail(id, failure())
    await pass()
    await store.db.query(sql`update task set pending_edit = '{"instructions": "Other."}'::jsonb where id = ${id}`)
    await fail(id, failure())
    expect(await store.task(id)).toMatchObject({ instructions: 'Other.', pendingEdit: null, countFromEpoch: 2 })
    expect(await causes(id)).toEqual([])
  })

  it('of a task that another one continues names the one at the end of the chain', async () => {
    const { tasks } = await newGoal()
    const [id = ''] = tasks
    const same = failure()
    for (let count = 1; count <= 2; count += 1) {
      await fail(id, same)
      await pass()
    }
    const child = (await store.task(id)).supersededBy ?? ''
    const named = new RegExp(
      `^task 1 has ended, because task 2 "\\[Rework\\] Task 1" continues its work and is queued; use: unstuck (edit|retry|cancel) ${child}$`,
    )
    await expect(requestEdit(contextOf(), id, { title: 'x' })).rejects.toThrow(named)
    await expect(retryTask(contextOf(), id)).rejects.toThrow(named)
    await expect(cancelTask(contextOf(), id, async () => undefined)).rejects.toThrow(named)
    await fail(child, same)
    await pass({ reworkDepth: 1 })
    await expect(retryTask(contextOf(), id)).rejects.toThrow(
      `"[Rework] Task 1" continues its work and was given up; use: unstuck retry ${child}`,
    )
    const { goalId } = await store.task(id)
    await expect(cancelTask(contextOf(), id, async () => undefined)).rejects.toThrow(
      `and was given up; to end the goal: unstuck cancel ${goalId}`,
    )
  })
})

it('paths that a person allowed while the task waited count at its next start, by grant or by edit', async () => {
  const { tasks } = await newGoal(2)
  const [granted = '', edited = ''] = tasks
  await fail(granted, strayed({ Makefile: 'outside' }))
  await addGrant(contextOf(), { path: 'Makefile', task: granted, why: 'needed', by: 'ada' })
  await pass()
  expect((await payloads(granted, 'task.requeued')).at(-1)).toMatchObject({
    reason: 'policy_allowed_paths_adjusted_from_blocked',
  })
  // The grant of the person is the only one.
  expect((await grantsOf(granted)).map(({ grantedBy }) => grantedBy)).toEqual(['ada'])
  await store.db.query(sql`update task set ready = false where id = ${granted}`)
  await fail(edited, strayed({ Makefile: 'outside' }))
  await requestEdit(contextOf(), edited, { allowedPaths: ['src/**', 'Make*'] }, { why: 'needed' })
  await pass()
  expect(await store.task(edited)).toMatchObject({ status: 'queued', allowedPaths: ['src/**', 'Make*'] })
})

it('a retry by a person begins a new count', async () => {
  const { tasks } = await newGoal()
  const [id = ''] = tasks
  await fail(id, failure())
  expect(await retryTask(contextOf(), id)).toMatchObject({ status: 'queued', retry: null, countFromEpoch: 1 })
  expect(await causes(id)).toEqual([])
})

describe('the area of a grant', () => {
  const claim = (runId: string) =>
    store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId, ttlSeconds: 60 }))

  it('goes to the task that continues the work, with the grant', async () => {
    const { tasks } = await newGoal()
    const [id = ''] = tasks
    await addGrant(contextOf(), { path: 'tools/run.sh', task: id, why: 'needed', by: 'ada' })
    await requestEdit(contextOf(), id, { instructions: 'Other.' })
    expect((await store.task(id)).areas).toEqual(['src', 'tools/run.sh'])
    const same = failure()
    for (let count = 1; count <= 2; count += 1) {
      await fail(id, same)
      await pass()
    }
    const child = await store.task((await store.task(id)).supersededBy ?? '')
    expect(child).toMatchObject({ status: 'queued', areas: ['src', 'tools/run.sh'], allowedPaths: ['src/**'] })
  })

  it('stays with the task over an edit, so no other task is claimed for it', async () => {
    const { tasks } = await newGoal(2)
    const [first = '', second = ''] = tasks
    await fail(first, strayed({ Makefile: 'outside' }))
    await pass({}, everything)
    await requestEdit(contextOf(), first, { allowedPaths: ['src/a/**'] })
    expect((await store.task(first)).areas).toEqual(['Makefile', 'src/a'])
    await requestEdit(contextOf(), second, { allowedPaths: ['Makefile'] }, { why: 'needed' })
    await store.db.query(sql`update task set ready = false where state = 'queued'`)
    await store.db.query(sql`update task set ready = true where id = ${first}`)
    expect((await claim('r-a'))?.task.id).toBe(first)
    await store.db.query(sql`delete from lease`)
    await store.db.query(sql`update run set state = 'failed', ended_at = unstuck_now() where id = 'r-a'`)
    await store.db.query(sql`update task set ready = true where id = ${second}`)
    expect(await claim('r-b')).toBeUndefined()
  })
})
