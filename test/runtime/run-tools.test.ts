/** What the tools of a run store, and what they refuse: against a real store, without a server. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { askPerson, lastReport, readReply, reportProgress } from '../../src/runtime/agent/run-tools.ts'
import { replyToAgent } from '../../src/runtime/people/reply-to-agent.ts'
import { mustSucceed, type Db } from '../../src/store/db.ts'
import { expireAgentQuestion, pendingEscalationOf } from '../../src/store/escalation.ts'
import { saveRun } from '../../src/store/run.ts'
import { setHint } from '../../src/store/hint.ts'
import { openTestDb } from '../support/test-db.ts'
import { openAskScene, type AskScene } from './ask-scene.ts'

let db: Db
let scene: AskScene
beforeAll(async () => {
  db = await openTestDb()
})
beforeEach(async () => {
  scene = await openAskScene({ db, agents: { asker: '' } })
  const { runContext } = scene
  runContext.run = mustSucceed(await saveRun(db, runContext.run, { phase: 'supervise' }))
})
afterEach(async () => scene.clear())
afterAll(() => db.close())

const report = (text: string) => reportProgress(scene.runContext.context, scene.runContext.run.id, text)
const ask = (text: string) => askPerson(scene.runContext.context, scene.runContext.run.id, text)

test('a report is one line, and twelve of them fit into a minute', async () => {
  expect(await report(' The parser is done;\n next are its tests. \u001b[31m')).toEqual({
    recorded: 'The parser is done; next are its tests. [31m',
  })
  for (let count = 2; count <= 12; count += 1) await report(`step ${count}`)
  await expect(report('step 13')).rejects.toThrow('report less often')
  expect(await lastReport(db, scene.runContext.run)).toBe('step 12')
  await expect(report(' \n ')).rejects.toThrow('text: it is empty')
  await expect(report('x'.repeat(501))).rejects.toThrow('at most 500')
})

test('a run asks once, and its question is open until a person answers it or nobody can', async () => {
  const { run, context } = scene.runContext
  expect(await ask('Tabs or spaces?')).toMatchObject({
    question: expect.stringContaining('asks: Tabs or spaces?') as string,
    state: 'open',
    answer: null,
  })
  await expect(ask('And the width?')).rejects.toThrow('has asked its one question already')
  await db.transaction((tx) => expireAgentQuestion(tx, run.taskId))
  expect(await readReply(context, run.id)).toMatchObject({ state: 'closed', answer: null })
})

test('the reply to a question is read, whatever hint the task has since', async () => {
  const { run, context } = scene.runContext
  await ask('Tabs or spaces?')
  const question = await pendingEscalationOf(db, run.taskId)
  if (question === undefined) throw new Error('there is no question')
  expect(await replyToAgent(context, question, 'Spaces.')).toBe(true)
  await setHint(db, run.taskId, 'Look at the tests first.')
  expect(await readReply(context, run.id)).toMatchObject({ state: 'answered', answer: 'Spaces.' })
})

test('the tools do nothing after the turn of the agent', async () => {
  const { runContext } = scene
  runContext.run = mustSucceed(await saveRun(db, runContext.run, { phase: 'verify' }))
  for (const late of [report('late'), ask('late?')]) await expect(late).rejects.toThrow('the turn of the agent')
})
