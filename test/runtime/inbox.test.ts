/** The inbox on a real store: questions grouped by their cause, several answers at once, and many people who answer the same question. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ErrorMeta } from '../../src/domain/run.ts'
import { answerQuestions } from '../../src/runtime/people/answer-many.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { cancelTask } from '../../src/runtime/people/commands.ts'
import { inboxView } from '../../src/runtime/people/inbox.ts'
import { json, sql } from '../../src/store/db.ts'
import { listEscalations } from '../../src/store/escalation.ts'
import { readEvents } from '../../src/store/event.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())

const nothingRuns = async (): Promise<void> => undefined
const failure = (signature: string, evidence: string): ErrorMeta => ({
  ...{ source: 'verification', failureCode: 'verification_failed', message: 'a check failed', evidence, signature },
  ...{ failedCommand: 'npm test', failedCommandStderr: `${'x'.repeat(5000)}\nat the end\n` },
})

/** One goal with a question about each of so many tasks; of each, the failure of its run. */
const asked = async (failures: readonly (ErrorMeta | null)[]) => {
  const { goal, tasks } = await store.goal(failures.length)
  for (const [index, { id }] of tasks.entries()) {
    await store.ask(id)
    const meta = failures[index] ?? null
    if (meta !== null) await store.db.query(sql`update run set error_meta = ${json(meta)}::jsonb where task_id = ${id}`)
  }
  const questions = await listEscalations(store.db, { goalId: goal.id, pendingOnly: true })
  return { goal, tasks, ids: questions.map(({ id }) => id) }
}

beforeEach(async () => {
  for (const { taskId } of await listEscalations(store.db, { pendingOnly: true }))
    await cancelTask(store.context, taskId ?? '', nothingRuns)
})

test('questions with the same cause are together and numbered through, each with its task and the failure', async () => {
  const [same, other] = [failure('a', 'Cannot find module x'), failure('b', 'expected 1, received 2')]
  const { goal, tasks } = await asked([same, other, same])
  const { count, groups } = await inboxView(store.db)
  expect(count).toBe(3)
  expect(
    groups.map(({ cause, questions }) => [cause, questions.map(({ number, task }) => [number, task?.number])]),
  ).toEqual([
    [
      'Cannot find module x',
      [
        [1, 1],
        [2, 3],
      ],
    ],
    ['expected 1, received 2', [[3, 2]]],
  ])
  const [first] = groups[0]?.questions ?? []
  expect(first).toMatchObject({
    goal: { id: goal.id, title: 'A goal' },
    task: { id: tasks[0]?.id, number: 1, title: 'Task 1' },
    failure: { code: 'verification_failed', command: 'npm test', evidence: 'Cannot find module x' },
  })
  expect(first?.failure?.output).toHaveLength(4000)
  expect(first?.failure?.output).toMatch(/at the end\n$/)
})

test('without a stored failure the sentence decides, whatever task it names', async () => {
  await asked([null, null])
  const { groups } = await inboxView(store.db)
  expect(groups.map(({ questions }) => questions.length)).toEqual([2])
})

test('what two agents ask is no common cause, and no failure', async () => {
  const ended = { ...failure('agent_question', 'it asks'), failureCode: 'agent_question' }
  const { tasks } = await asked([ended, ended])
  for (const { id } of tasks)
    await store.db.query(sql`update escalation set kind = 'agent_question', happened = 'Which port, 80 or 8080?'
      where task_id = ${id} and state = 'pending'`)
  const { groups } = await inboxView(store.db)
  expect(groups.map(({ cause, questions }) => [cause, questions.map((each) => each.failure)])).toEqual([
    ['Which port, 80 or 8080?', [null]],
    ['Which port, 80 or 8080?', [null]],
  ])
})

test('finished work is one group with a cause in words, however much each changes', async () => {
  const { tasks } = await asked([null, null])
  for (const [index, { id, number, title }] of tasks.entries()) {
    const files = index === 0 ? '1 file' : '12 files'
    const happened = `Task ${number} "${title}" is finished and changes ${files}; it lands only if you approve it.`
    await store.db.query(sql`update escalation set happened = ${happened} where task_id = ${id} and state = 'pending'`)
  }
  const { groups } = await inboxView(store.db)
  expect(groups.map(({ cause, questions }) => [cause, questions.length])).toEqual([
    ['The task is finished; it lands only if you approve it', 2],
  ])
})

test('several answers in one request are decided each on its own', async () => {
  const { ids, tasks } = await asked([null, null, null])
  await answerQuestion(store.context, { id: ids[1] ?? '', choice: 'cancel' }, nothingRuns)
  const results = await answerQuestions(
    store.context,
    [...ids, 'q-nosuch'].map((id) => ({ id, choice: 'retry', by: 'me' })),
    nothingRuns,
  )
  expect(results.map(({ answered, error }) => [answered?.state ?? null, error?.code ?? null])).toEqual([
    ['approved', null],
    [null, 'STALE'],
    ['approved', null],
    [null, 'NOT_FOUND'],
  ])
  expect(results[1]?.error?.message).toMatch(/already decided: cancel/)
  const states = await Promise.all(tasks.map(async ({ id }) => (await store.task(id)).status))
  expect(states).toEqual(['queued', 'cancelled', 'queued'])
})

test('of fifty answers at the same time exactly one wins, and the others are told what was decided', async () => {
  for (const round of [1, 2, 3]) {
    const { ids, tasks } = await asked([null])
    const id = ids[0] ?? ''
    const before = (await store.task(tasks[0]?.id ?? '')).version
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        answerQuestion(store.context, { id, choice: index % 2 === 0 ? 'retry' : 'cancel' }, nothingRuns).then(
          ({ answer }) => `won: ${answer}`,
          (error: unknown) => (error as Error).message.replace(/^question q-\d+ is /, '').replace(/;.*/, ''),
        ),
      ),
    )
    const won = outcomes.filter((text) => text.startsWith('won'))
    expect([round, won.length]).toEqual([round, 1])
    const decided = won[0]?.replace('won', 'already decided') ?? ''
    expect([...new Set(outcomes.filter((text) => !text.startsWith('won')))]).toEqual([decided])
    const events = await readEvents(store.db, {
      after: 0,
      limit: 10_000,
      goalId: null,
      taskId: tasks[0]?.id ?? '',
      runId: null,
    })
    expect(events.filter(({ type }) => type === 'escalation.answered')).toHaveLength(1)
    expect((await store.task(tasks[0]?.id ?? '')).version).toBe(before + 1)
  }
})
