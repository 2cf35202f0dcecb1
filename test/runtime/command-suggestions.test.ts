/** Commands that have proved themselves: from the stored executions to what `status` and `report` say. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createPaint, reportLines, statusLines } from '../../src/cli/render.ts'
import type { ReportView, StatusView } from '../../src/api/contract.ts'
import type { Run } from '../../src/domain/run.ts'
import { reportView, statusView } from '../../src/runtime/people/views.ts'
import type { Db } from '../../src/store/db.ts'
import { finishExecution, insertExecution, insertProposal, settleExecution } from '../../src/store/recovery-proposal.ts'
import { activeGoal, agents, claimed, empty } from '../store/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let run: Run
let number = 0
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  await agents(db, 'a1')
  await activeGoal(db, 'g', [{}])
  run = (await claimed(db, 'a1')).run
})

/** One command of a proposal of its own; `effect` null = it was not observed yet. */
const ran = (command: string, signature: string, effect: boolean | null): Promise<void> =>
  db.transaction(async (tx) => {
    const id = `p-${(number += 1)}`
    const place = { goalId: 'g', taskId: run.taskId, runId: run.id }
    await insertProposal(tx, {
      ...{ id, ...place, iteration: 1, digest: id, source: 'agent', body: {}, offsetStated: null, problem: null },
      ...{ flag: null, failing: { command: 'npm test', signature } },
    })
    await insertExecution(tx, {
      ...{ id, proposalId: id, ...place, step: 'primary', command, workingDir: '.', timeoutSeconds: 9 },
      ...{ approvedBy: 'ada', counted: false, repetition: false },
    })
    await finishExecution(tx, id, { state: 'succeeded', exitCode: 0, durationMs: 9, error: '', changed: [] })
    if (effect !== null) await settleExecution(tx, id, effect, 'no effect')
  })

const json = <View>(view: object): View => JSON.parse(JSON.stringify(view)) as View
const commands = { auto_approve: [] as string[], require_human: ['*'] }
const linesOf = async (lists = commands): Promise<string[]> => {
  const status = json<StatusView>(await statusView(db, 50, { commands: lists }))
  const report = json<ReportView>(await reportView(db, new Date(0), { commands: lists }))
  const about = (lines: string[]): string[] => lines.filter((line) => /repaired the same|auto_approve/.test(line))
  const shown = about(statusLines(createPaint(false), status))
  expect(about(reportLines(createPaint(false), report))).toEqual(shown)
  return shown
}

test('a command that worked three times for a failure is suggested with the line to add, until the owner has added it', async () => {
  for (const effect of [true, true, null]) await ran('npm ci', 's1', effect)
  await ran('npm ci', 's2', true)
  expect(await linesOf()).toEqual([])
  await ran('npm ci', 's1', true)
  expect(await linesOf()).toEqual([
    '+ The command npm ci repaired the same failure 3 times and never failed.',
    '    To let it run without a question, add to recovery.auto_approve in .unstuck/config.json: "npm ci"',
  ])
  expect(await linesOf({ ...commands, auto_approve: ['npm ci'] })).toEqual([])
})

test('one run without effect ends the suggestion', async () => {
  for (let n = 0; n < 5; n += 1) await ran('npm ci', 's1', true)
  expect(await linesOf()).toHaveLength(2)
  await ran('npm ci', 's2', false)
  expect(await linesOf()).toEqual([])
})
