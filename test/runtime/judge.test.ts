/** Who decides whether finished work lands, on a real store: gates, reviewers that are faster or slower than each other, and people. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Judgement, JudgeMode, ReviewPoint } from '../../src/domain/judgement.ts'
import type { Run, Verdict } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { judgeRuns } from '../../src/runtime/landing/judge.ts'
import { answerObjection, chooseForObjection } from '../../src/runtime/landing/object-to-work.ts'
import { claimReviews } from '../../src/runtime/landing/review-claim.ts'
import { approveTask, askReviewerAgain, rejectTask } from '../../src/runtime/people/approve.ts'
import { cancelTask, retryGoal, retryTask } from '../../src/runtime/people/commands.ts'
import { requestEdit } from '../../src/runtime/people/edit-task.ts'
import { takeOverTask } from '../../src/runtime/people/take-over-task.ts'
import { mustSucceed, sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { judgementOfRun, judgementsOf, moveJudgement, renewClaim } from '../../src/store/judgement.ts'
import { judgedRunOf } from '../../src/store/judged-run.ts'
import { listMerges } from '../../src/store/merge.ts'
import { recoveriesOf } from '../../src/store/recovery.ts'
import { getRun } from '../../src/store/run.ts'
import { getTask, listTasks, moveTask } from '../../src/store/task.ts'
import { openRequeueStore, type RequeueStore } from './requeue-store.ts'
import { passedCheck, succeedOn, verified, weakened } from './succeeded-run.ts'

let opened: RequeueStore
let runs = 0
beforeAll(async () => {
  opened = await openRequeueStore()
})
afterAll(() => opened.close())
// The store is shared, because opening one takes seconds: nothing happens to the goals of earlier tests any more.
beforeEach(() => opened.store.db.query(sql`update goal set state = 'paused' where state = 'active'`))

const contextWith = (config: object = {}): Context => {
  const parsed = configSchema.parse({ harness: { x: { command: ['true'] } }, ...config })
  const policy = () => ({ playbooks, disabled: [], retry: parsed.retry })
  return {
    ...opened.contextOf(),
    ...{
      config: () => parsed,
      policy,
      stateDir: '/nonexistent',
      at: () => undefined,
      environment: { PATH: process.env['PATH'] },
    },
  }
}

/** A run of the task that succeeds with this verdict. */
const succeed = (id: string, verdict: Verdict = verified): Promise<Run> => succeedOn(opened.store.db, id, { verdict })

const newWork = async (
  judge: JudgeMode | null = null,
  verdict: Verdict = verified,
): Promise<{ goal: string; task: string; run: Run }> => {
  const { goal, tasks } = await opened.newGoal()
  const [task = ''] = tasks
  await opened.store.db.query(sql`update task set judge = ${judge} where id = ${task}`)
  return { goal, task, run: await succeed(task, verdict) }
}

const statusOf = async (id: string) => (await opened.store.task(id)).status
const questionOf = async (goal: string) =>
  (await listEscalations(opened.store.db, { goalId: goal, pendingOnly: true }))[0]
const judgement = async (run: Run): Promise<Judgement | undefined> => judgementOfRun(opened.store.db, run.id)
const engine = (engineId: string, ...working: string[]) => ({ engineId, working })

it('lands what passes every gate, with a stored verdict', async () => {
  const { goal, task, run } = await newWork()
  await judgeRuns(contextWith())
  await judgeRuns(contextWith())
  expect(await judgement(run)).toMatchObject({
    mode: 'auto',
    state: 'decided',
    verdict: 'approve',
    version: 1,
    commit: run.commit,
  })
  expect(await listMerges(opened.store.db, { goalId: goal })).toHaveLength(1)
  expect(await opened.payloads(task, 'judge.review')).toMatchObject([
    { mode: 'auto', verdict: 'approve', reason: 'every gate passed' },
  ])
})

it.each([
  ['weakened checks', { ...verified, weakened }, {}, 'the work weakened them'],
  [
    'a required check that did not run',
    verified,
    { requiredChecks: ['lint'] },
    'a required check did not pass on it: lint',
  ],
  ['a check that failed', { ...verified, checks: [{ ...passedCheck, exitCode: 1 }] }, {}, 'did not pass'],
])('asks no reviewer about %s, because no approval could let it land', async (_, verdict, judge, reason) => {
  const { goal, task } = await newWork('llm', verdict)
  const context = contextWith({ judge })
  expect(await claimReviews(context, engine('e-1'), 9)).toEqual([])
  await judgeRuns(context)
  expect(await statusOf(task)).toBe('blocked(awaiting_human)')
  expect((await questionOf(goal))?.happened).toContain(reason)
  expect(await listMerges(opened.store.db, { goalId: goal })).toEqual([])
})

it('leaves work for a reviewer alone until one claims it, and of two only one does', async () => {
  const { task, run } = await newWork('llm')
  const context = contextWith()
  await judgeRuns(context)
  expect(await judgement(run)).toBeUndefined()
  const [one, two] = await Promise.all([
    claimReviews(context, engine('e-1'), 9),
    claimReviews(context, engine('e-2'), 9),
  ])
  expect(one.length + two.length).toBe(1)
  expect(await judgement(run)).toMatchObject({ state: 'claimed', version: 1, mode: 'llm' })
  await judgeRuns(context)
  expect(await statusOf(task)).toBe('blocked(awaiting_judge)')
})

it('claims a judgement again when its claim expired, and the first judge writes nothing any more', async () => {
  const { run } = await newWork('llm')
  const { db } = opened.store
  const context = contextWith()
  const [first] = await claimReviews(context, engine('e-1'), 9)
  expect(await claimReviews(context, engine('e-2'), 9)).toEqual([])
  await db.query(sql`update judgement set expires_at = unstuck_now() - interval '1 second'`)
  const [second] = await claimReviews(context, engine('e-2'), 9)
  expect(second?.judgement).toMatchObject({ version: 2, engineId: 'e-2', state: 'claimed' })
  expect(await getRun(db, run.id)).toMatchObject({ judgementVersion: 2 })
  expect(await renewClaim(db, first!.judgement, 60)).toBe(false)
  const late = await db.transaction((tx) => moveJudgement(tx, first!.judgement, 'reviewed', { verdict: 'approve' }))
  expect(late).toMatchObject({ ok: false, code: 'stale' })
  mustSucceed(await db.transaction((tx) => moveJudgement(tx, second!.judgement, 'reviewed', { verdict: 'approve' })))
  // A run with a verdict is never judged again.
  expect(await claimReviews(context, engine('e-3'), 9)).toEqual([])
})

it('takes over at once what a crash of the same engine left, but nothing that it works on', async () => {
  await newWork('llm')
  const context = contextWith()
  const [first] = await claimReviews(context, engine('e-1'), 9)
  expect(await claimReviews(context, engine('e-1', first!.judgement.id), 9)).toEqual([])
  expect(await claimReviews(context, engine('e-1'), 9)).toMatchObject([{ judgement: { version: 2 } }])
})

it('waits for a reviewer until the stored time, and not while the goal is paused', async () => {
  const { goal } = await newWork('llm')
  const { db, move } = opened.store
  const context = contextWith()
  const [claimed] = await claimReviews(context, engine('e-1'), 9)
  const retryAt = new Date(Date.now() + 3_600_000)
  mustSucceed(
    await db.transaction((tx) => moveJudgement(tx, claimed!.judgement, 'unanswered', { retryAt, failures: 1 })),
  )
  expect(await claimReviews(context, engine('e-1'), 9)).toEqual([])
  await db.query(sql`update judgement set retry_at = unstuck_now()`)
  await move(goal, 'paused')
  expect(await claimReviews(context, engine('e-1'), 9)).toEqual([])
  await move(goal, 'resumed')
  expect(await claimReviews(context, engine('e-1'), 9)).toMatchObject([{ judgement: { version: 2, failures: 1 } }])
})

it('chooses another configured harness than the writer as the reviewer, and the writer where there is none', async () => {
  const harnessOf = async (harness: object, judge: object = {}) => {
    await newWork('llm')
    const [claimed] = await claimReviews(contextWith({ harness, judge }), engine(`e-${(runs += 1)}`), 1)
    return claimed?.judgement.harness
  }
  const [x, y] = [{ command: ['true'] }, { command: ['false'] }]
  expect(await harnessOf({ x, y })).toBe('y')
  expect(await harnessOf({ x })).toBe('x')
  expect(await harnessOf({ x, y: { command: ['/nowhere/y'] } })).toBe('x')
  expect(await harnessOf({ x, y }, { harness: 'x' })).toBe('x')
  // Another harness would not know the model.
  expect(await harnessOf({ x, y }, { model: 'large' })).toBe('x')
  expect(await harnessOf({ x, y }, { model: 'large', harness: 'y' })).toBe('y')
})

it('asks a person where a path rule says so, and lands exactly what was approved', async () => {
  const { goal, task, run } = await newWork()
  const context = contextWith({ judge: { rules: [{ paths: ['src/**'], mode: 'human' }] } })
  await judgeRuns(context)
  const question = await questionOf(goal)
  expect(question?.choices.map(({ id }) => id)).toEqual(['approve', 'reject', 'take_over', 'cancel'])
  expect(question?.happened).toBe('Task 1 "Task 1" is finished and changes 1 file; it lands only if you approve it.')
  await approveTask(context, task, { by: 'ann' })
  expect(await judgement(run)).toMatchObject({ state: 'decided', verdict: 'approve', decidedBy: 'ann' })
  expect(await listMerges(opened.store.db, { goalId: goal })).toMatchObject([{ commit: run.commit }])
  await expect(rejectTask(context, task, { note: 'no' })).rejects.toThrow('no finished work that waits for a rejection')
})

it('decides only about the commit that the person looked at', async () => {
  const { goal, task, run } = await newWork('human')
  const context = contextWith()
  await judgeRuns(context)
  const question = await questionOf(goal)
  const sha = (run.commit ?? '').slice(0, 12)
  expect(question?.choices.slice(0, 2).map(({ command }) => command)).toEqual([
    `unstuck approve ${task} --commit ${sha}`,
    `unstuck reject ${task} --commit ${sha} --note "…"`,
  ])
  await expect(approveTask(context, task, { commit: 'it' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  const other = { commit: 'd'.repeat(40) }
  const message = `task 1 "Task 1" waits for your decision about commit ${sha}, not dddddddddddd; look at it first: unstuck diff ${run.id}`
  await expect(approveTask(context, task, other)).rejects.toMatchObject({ code: 'STALE', message })
  await expect(rejectTask(context, task, { note: 'no', ...other })).rejects.toMatchObject({ code: 'STALE', message })
  expect(await statusOf(task)).toBe('blocked(awaiting_human)')
  await approveTask(context, task, { commit: run.commit?.toUpperCase() })
  expect(await listMerges(opened.store.db, { goalId: goal })).toMatchObject([{ commit: run.commit }])
})

it('keeps work for its merge that a person approved after an edit', async () => {
  const { task, run } = await newWork('human')
  const context = contextWith()
  await judgeRuns(context)
  await requestEdit(context, task, { allowedPaths: ['src/**', 'docs/**'] }, { why: 'docs as well' })
  await approveTask(context, task, { commit: run.commit ?? '' })
  const approved = (await getTask(opened.store.db, task)) as Task
  expect(approved.countFromEpoch).toBe(run.epoch)
  expect(await judgedRunOf(opened.store.db, approved, 1)).toMatchObject({ run: { id: run.id }, state: 'pending' })
})

it('leaves work alone about which another question is asked by now', async () => {
  const { goal, task } = await newWork('human')
  const context = contextWith()
  await judgeRuns(context)
  const first = await questionOf(goal)
  await retryTask(context, task)
  const run = await succeed(task)
  await judgeRuns(context)
  const before = { question: first?.id }
  const refused = { code: 'STALE', message: expect.stringContaining('was replaced by another one') }
  await expect(approveTask(context, task, before)).rejects.toMatchObject(refused)
  await expect(rejectTask(context, task, { note: 'no', ...before })).rejects.toMatchObject(refused)
  expect(await statusOf(task)).toBe('blocked(awaiting_human)')
  await approveTask(context, task, { question: (await questionOf(goal))?.id })
  expect(await listMerges(opened.store.db, { goalId: goal })).toMatchObject([{ commit: run.commit }])
})

it('has work corrected by the note of a person who rejects it', async () => {
  const { goal, task } = await newWork('human')
  const context = contextWith()
  await judgeRuns(context)
  await expect(rejectTask(context, task, { note: ' ' })).rejects.toThrow('note: it is empty')
  await rejectTask(context, task, { note: 'Keep the old name', by: 'ann' })
  expect(await statusOf(task)).toBe('blocked(needs_rework)')
  const child = (await listTasks(opened.store.db, goal)).at(-1)
  expect(child).toMatchObject({ judge: 'human', rework: { parent: task, kind: 'objection' } })
  expect(child?.title).toMatch(/^\[AutoFix\] PR #\d+: Task 1$/)
  expect(child?.instructions).toContain('- [error] Keep the old name')
  expect(await opened.payloads(task, 'judge.autofix_task_created')).toMatchObject([{ childId: child?.id }])
})

const point: ReviewPoint = { path: 'src/a.ts', severity: 'error', what: 'It loses the last line', why: '' }

/** The reviewer objects to the newest work of the task. */
const object = async (context: Context, run: Run, points: ReviewPoint[] = [point]): Promise<void> => {
  const { db } = opened.store
  const [claimed] = await claimReviews(context, engine('e-1'), 9)
  expect(claimed?.run.id).toBe(run.id)
  const { judgement: claim, task } = claimed!
  const objected = { judgement: claim, task, run: claimed!.run, by: 'the reviewer (y)', points, summary: 'Not yet.' }
  const answer = await chooseForObjection(context, objected)
  await db.transaction(async (tx) => {
    mustSucceed(await moveJudgement(tx, claim, 'reviewed', { verdict: 'request_changes', points }))
    await answerObjection(context, tx, objected, answer)
  })
}

/** The recoveries of the tasks, as "playbook status". */
const tried = async (...ids: string[]): Promise<string[]> => {
  const found = await Promise.all(ids.map((id) => recoveriesOf(opened.store.db, id)))
  return found.flat().map(({ playbook, status }) => `${playbook} ${status}`)
}

const land = (id: string): Promise<Task> =>
  opened.store.db.transaction(async (tx) => mustSucceed(await moveTask(tx, (await getTask(tx, id)) as Task, 'merged')))

const childOfTask = async (goal: string, parent: string): Promise<Task | undefined> =>
  (await listTasks(opened.store.db, goal)).find(({ rework }) => rework?.parent === parent)

it('goes to another harness with the same objection, and then to a person with both sides', async () => {
  const harness = { x: { command: ['true'] }, y: { command: ['false'] }, failover: ['x', 'y'] }
  const context = contextWith({ harness, requeue: { reworkDepth: 5 } })
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const first = await childOfTask(goal, task)
  expect(first).toMatchObject({ harness: 'x', rework: { depth: 1 } })
  // A new objection is one more correction by the same harness.
  await object(context, await succeed(first!.id), [{ ...point, what: 'Nothing tests the empty input' }])
  const second = await childOfTask(goal, first!.id)
  expect(second).toMatchObject({ harness: 'x', rework: { depth: 2 } })
  await object(context, await succeed(second!.id))
  const third = await childOfTask(goal, second!.id)
  expect(third).toMatchObject({ harness: 'y', rework: { depth: 3 } })
  const last = await succeed(third!.id)
  await object(context, last)
  expect(await statusOf(third!.id)).toBe('blocked(awaiting_human)')
  const question = await questionOf(goal)
  expect(question?.happened).toContain('the reviewer (y) still objects, and no further correction is tried')
  expect(question?.details).toContain('- [error] src/a.ts: It loses the last line')
  expect(question?.choices.map(({ id }) => id)).toEqual(['approve', 'reject', 'hint', 'retry', 'cancel'])
  await approveTask(context, third!.id)
  expect(await listMerges(opened.store.db, { goalId: goal })).toMatchObject([{ commit: last.commit }])
  await land(third!.id)
  expect(await tried(task, first!.id, second!.id)).toEqual([
    ...['auto-fix-objection success', 'auto-fix-objection success', 'auto-fix-other-harness success'],
  ])
})

it.each([
  ['as often as a person says the same', { reworkDepth: 5 }],
  ['by the task itself where no other task may', { reworkDepth: 1 }],
])('is corrected by a note %s', async (_, requeue) => {
  const context = contextWith({ judge: { mode: 'human' }, requeue })
  const { goal, task } = await newWork()
  await judgeRuns(context)
  await rejectTask(context, task, { note: 'Rename the option back.', by: 'ann' })
  const child = (await childOfTask(goal, task)) as Task
  const run = await succeed(child.id)
  await judgeRuns(context)
  await rejectTask(context, child.id, { note: 'Rename the option back.', by: 'ann' })
  expect(await judgement(run)).toMatchObject({ verdict: 'request_changes', reason: 'ann rejected it' })
  expect(await questionOf(goal)).toBeUndefined()
  const next = (await listTasks(opened.store.db, goal)).at(-1) as Task
  expect(next.status).toBe('queued')
  if (requeue.reworkDepth === 1) expect(next).toMatchObject({ id: child.id, hint: 'Rename the option back.' })
  else expect(next).toMatchObject({ rework: { parent: child.id } })
})

it('can be rejected where it is held', async () => {
  const { goal, task } = await newWork('auto', { ...verified, weakened })
  await judgeRuns(contextWith())
  await rejectTask(contextWith(), task, { note: 'Restore the test.' })
  expect((await childOfTask(goal, task))?.instructions).toContain('Restore the test.')
})

it('is no recovery when the other harness does not come to an end, and a person is asked', async () => {
  const harness = { x: { command: ['true'] }, y: { command: ['false'] }, failover: ['x', 'y'] }
  const context = contextWith({ harness, requeue: { reworkDepth: 5 } })
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const first = await childOfTask(goal, task)
  await object(context, await succeed(first!.id))
  const second = await childOfTask(goal, first!.id)
  expect(second?.harness).toBe('y')
  await cancelTask(context, second!.id, async () => undefined)
  await opened.pass()
  expect(await tried(first!.id)).toEqual(['auto-fix-other-harness failed'])
  expect(await statusOf(first!.id)).toBe('blocked(awaiting_human)')
  expect(await questionOf(goal)).toMatchObject({ taskId: first!.id, kind: 'exhausted' })
})

it('never makes a longer line of tasks than requeue.reworkDepth', async () => {
  const context = contextWith({ requeue: { reworkDepth: 1 } })
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const child = await childOfTask(goal, task)
  await object(context, await succeed(child!.id), [{ ...point, what: 'Nothing tests the empty input' }])
  expect(await statusOf(child!.id)).toBe('blocked(awaiting_human)')
  expect((await listTasks(opened.store.db, goal)).length).toBe(2)
})

it('counts as a recovery when the task that corrects the work lands', async () => {
  const context = contextWith()
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const { db } = opened.store
  expect(await recoveriesOf(db, task)).toMatchObject([{ playbook: 'auto-fix-objection', rung: 7, status: 'acting' }])
  const child = await childOfTask(goal, task)
  await succeed(child!.id)
  await land(child!.id)
  expect(await statusOf(task)).toBe('cancelled')
  expect(await opened.payloads(task, 'recovery')).toMatchObject([
    { status: 'success', action_taken: 'AUTO_FIX_OBJECTION' },
  ])
})

it('refuses to change a task that waits for its correction, and cancels both together', async () => {
  const context = contextWith()
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const child = (await childOfTask(goal, task)) as Task
  const named = new RegExp(`task 1 waits for task 2 "Correct: .*use: unstuck \\S+ ${child.id}`)
  await expect(retryTask(context, task)).rejects.toThrow(named)
  await expect(requestEdit(context, task, { title: 'x' }, {})).rejects.toThrow(named)
  await expect(takeOverTask(context, task)).rejects.toThrow(named)
  await expect(retryGoal(context, goal)).rejects.toThrow('has no task to retry')
  const stopped: string[] = []
  await cancelTask(context, task, async (id) => void stopped.push(id))
  expect([await statusOf(task), await statusOf(child.id)]).toEqual(['cancelled', 'cancelled'])
  expect(await questionOf(goal)).toBeUndefined()
  expect(stopped).toEqual([])
})

it('lets a person approve exactly that commit when its correction ended without a result', async () => {
  const context = contextWith()
  const { goal, task, run } = await newWork('llm')
  await object(context, run)
  const child = (await childOfTask(goal, task)) as Task
  await cancelTask(context, child.id, async () => undefined)
  await opened.pass()
  const question = await questionOf(goal)
  expect(question?.choices.map(({ id }) => id)).toEqual(['approve', 'hint', 'retry', 'cancel'])
  expect(question?.happened).toContain('the reviewer (x) objected: src/a.ts: It loses the last line')
  expect(await tried(task)).toEqual(['auto-fix-objection failed'])
  await approveTask(context, task, { by: 'ann' })
  expect(await listMerges(opened.store.db, { goalId: goal })).toMatchObject([{ commit: run.commit }])
  // The points of the reviewer stay beside the verdict of the person, who had them in view.
  expect(await judgement(run)).toMatchObject({ verdict: 'approve', decidedBy: 'ann', points: [point] })
})

it('has the reviewer asked again when a person wants that', async () => {
  const context = contextWith()
  const { task, run } = await newWork('llm')
  const { db } = opened.store
  const [claimed] = await claimReviews(context, engine('e-1'), 9)
  await db.transaction(async (tx) => {
    mustSucceed(await moveJudgement(tx, claimed!.judgement, 'escalated', { failures: 3 }))
    const { noReviewQuestion } = await import('../../src/runtime/landing/judge-questions.ts')
    const { escalateWork } = await import('../../src/runtime/landing/judge.ts')
    await escalateWork(
      context,
      tx,
      { task: claimed!.task, run },
      {
        reason: 'no answer',
        question: (tried) => noReviewQuestion(claimed!.task, run, { reason: 'no answer', tried }),
      },
    )
  })
  await askReviewerAgain(context, task)
  expect(await statusOf(task)).toBe('blocked(awaiting_judge)')
  expect(await claimReviews(context, engine('e-1'), 9)).toMatchObject([{ judgement: { version: 2, failures: 0 } }])
})

it('judges no more what a person has done again', async () => {
  const context = contextWith()
  const { task, run } = await newWork('human')
  await judgeRuns(context)
  await cancelTask(context, task, async () => undefined)
  expect(await judgement(run)).toMatchObject({ state: 'withdrawn', verdict: null })
  expect(await judgementsOf(opened.store.db, [task])).toHaveLength(1)
})

it('asks again about work whose task was started since without a result', async () => {
  const { task, run } = await newWork('llm')
  const { db } = opened.store
  const [claimed] = await claimReviews(contextWith(), engine('e-1'), 9)
  expect(claimed?.run.id).toBe(run.id)
  await db.query(sql`update judgement set expires_at = unstuck_now() - interval '1 s' where run_id = ${run.id}`)
  // A later run failed, and the task went back to the judge with the work that it has.
  await db.query(sql`update task set epoch = epoch + 1 where id = ${task}`)
  expect(await claimReviews(contextWith(), engine('e-2'), 9)).toMatchObject([{ judgement: { version: 2 } }])
})
