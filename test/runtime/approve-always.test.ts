/** "Approve always" on a real store and a real file: what was shown is what is written, once, and only if it is still true. */
import type { ListEntry } from '../../src/config/config-edit.ts'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { proposalChoices } from '../../src/runtime/core/proposal-question.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { checkProposal, proposedCommandOf, type Proposal } from '../../src/recovery/proposal/proposal.ts'
import { answerQuestion } from '../../src/runtime/people/answer-question.ts'
import { showAlwaysChange } from '../../src/runtime/people/approve-always.ts'
import { cancelTask } from '../../src/runtime/people/commands.ts'
import { inboxView } from '../../src/runtime/people/inbox.ts'
import { json, mustSucceed, sql } from '../../src/store/db.ts'
import { getEscalation, listEscalations } from '../../src/store/escalation.ts'
import { getProposal, insertProposal, moveProposal } from '../../src/store/recovery-proposal.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let root: string
let context: Context
let config: string
let confirmed: string[]
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(async () => store.close())
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-always-'))
  mkdirSync(join(root, '.unstuck'))
  config = join(root, '.unstuck', 'config.json')
  confirmed = []
  const approveEntry = ({ value }: ListEntry): void => void confirmed.push(value)
  context = { ...store.context, repository: { root }, approveEntry } as unknown as Context
  return () => rmSync(root, { recursive: true })
})

const nothingRuns = async (): Promise<void> => undefined
const command = 'rm -rf node_modules && npm install'
const listed = '{\n  "maxParallel":  2,\n  "recovery": {\n    "auto_approve": ["npm ci"]\n  }\n}\n'
const longer = listed.replace('"npm ci"', `"npm ci", "${command}"`)
const body = {
  ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
  diagnosis: { error_pattern: 'Cannot start', root_cause: 'two versions', evidence: ['out.txt:3: Cannot start'] },
  recovery: { command, expected_outcome: 'it starts', confidence: 'high' },
} as const satisfies Proposal

let number = 0
const asked = async () => {
  const { tasks } = await store.goal()
  const task = tasks[0]?.id ?? ''
  await store.ask(task, 'exhausted')
  const [question] = (await listEscalations(store.db, { pendingOnly: true })).filter(({ taskId }) => taskId === task)
  if (question === undefined) throw new Error('no question')
  const id = `p-${(number += 1)}`
  const proposal = await insertProposal(store.db, {
    ...{ id, goalId: question.goalId, taskId: task, runId: question.runId ?? '', iteration: 1, digest: id },
    ...{
      source: 'agent',
      body,
      offsetStated: 'Z',
      problem: null,
      flag: null,
      failing: { command: 'npm test', signature: 's' },
    },
  })
  if (proposal === undefined) throw new Error('no proposal')
  mustSucceed(await moveProposal(store.db, proposal, 'escalated'))
  const choices = proposalChoices(
    proposal,
    { id: task },
    { proposed: proposedCommandOf(body, 'primary'), place: 'clone' },
  )
  await store.db.query(
    sql`update escalation set kind = 'recovery_approval_required', choices = ${json(choices)}::jsonb where id = ${question.id}`,
  )
  return { id: question.id, proposal: id }
}

const answer = (id: string, seen?: string) =>
  answerQuestion(context, { id, choice: 'always', by: 'me', ...(seen === undefined ? {} : { seen }) }, nothingRuns)
const stateOf = async (id: string) => (await getEscalation(store.db, id))?.state

test('shows the change, writes exactly that, and runs the command', async () => {
  writeFileSync(config, listed)
  chmodSync(config, 0o640)
  const { id, proposal } = await asked()
  const change = await showAlwaysChange(context, id)
  expect(change).toMatchObject({ path: config, command })
  expect(change.diff).toContain(`-    "auto_approve": ["npm ci"]\n+    "auto_approve": ["npm ci", "${command}"]\n`)
  expect(readFileSync(config, 'utf8')).toBe(listed)
  await expect(answer(id)).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringMatching(/^seen: /) })
  expect([await stateOf(id), readFileSync(config, 'utf8'), confirmed]).toEqual(['pending', listed, []])
  expect(await answer(id, change.seen)).toMatchObject({ state: 'approved', answer: 'approve_always' })
  expect(readFileSync(config, 'utf8')).toBe(longer)
  expect(confirmed).toEqual([command])
  expect(statSync(config).mode & 0o777).toBe(0o640)
  expect(readdirSync(join(root, '.unstuck'))).toEqual(['config.json'])
  expect(await getProposal(store.db, proposal)).toMatchObject({ state: 'approved', decidedBy: 'me' })
})

test('without a file it makes one, and a command that is listed already changes nothing', async () => {
  rmSync(join(root, '.unstuck'), { recursive: true })
  const { id } = await asked()
  await answer(id, (await showAlwaysChange(context, id)).seen)
  expect(JSON.parse(readFileSync(config, 'utf8'))).toEqual({ recovery: { auto_approve: [command] } })
  const before = readFileSync(config, 'utf8')
  const next = await asked()
  const change = await showAlwaysChange(context, next.id)
  expect(change.diff).toBe('')
  expect(await answer(next.id, change.seen)).toMatchObject({ state: 'approved' })
  expect(confirmed).toEqual([command, command])
  expect(readFileSync(config, 'utf8')).toBe(before)
})

test('a file that changed meanwhile is left alone, and the question stays open', async () => {
  writeFileSync(config, listed)
  const { id, proposal } = await asked()
  const { seen } = await showAlwaysChange(context, id)
  writeFileSync(config, '{"maxParallel":3}')
  await expect(answer(id, seen)).rejects.toMatchObject({
    code: 'STALE',
    message: expect.stringContaining('not as it was shown'),
  })
  expect([readFileSync(config, 'utf8'), confirmed]).toEqual(['{"maxParallel":3}', []])
  expect([await stateOf(id), (await getProposal(store.db, proposal))?.state]).toEqual(['pending', 'asked'])
})

test('an answer that is refused at its end leaves the file as it was', async () => {
  writeFileSync(config, listed)
  const { id, proposal } = await asked()
  const { seen } = await showAlwaysChange(context, id)
  const task = (await getProposal(store.db, proposal))?.taskId
  await store.db.query(sql`update task set state = 'done', block_reason = null where id = ${task}`)
  await expect(answer(id, seen)).rejects.toMatchObject({ code: 'ILLEGAL' })
  expect([readFileSync(config, 'utf8'), await stateOf(id)]).toEqual([listed, 'pending'])
})

test("a person's own command replaces an invalid proposal as a whole", async () => {
  const { id, proposal } = await asked()
  await store.db.query(sql`update recovery_proposal set body = null, offset_stated = null,
    problem = '{"field":"timestamp","problem":"timestamp is missing"}', flag = '{"flag":"no_match","detail":"?"}' where id = ${proposal}`)
  await answerQuestion(context, { id, choice: 'edit', input: 'npm ci', by: 'me' }, nothingRuns)
  const edited = await getProposal(store.db, proposal)
  expect(edited).toMatchObject({ state: 'approved', source: 'person', problem: null, flag: null, offsetStated: 'Z' })
  expect(checkProposal(edited?.body)).toMatchObject({ ok: true, proposal: { recovery: { command: 'npm ci' } } })
})

test('a cancelled task leaves no proposal that waits for an answer', async () => {
  const { proposal } = await asked()
  const task = (await getProposal(store.db, proposal))?.taskId ?? ''
  await cancelTask(context, task, nothingRuns)
  expect(await getProposal(store.db, proposal)).toMatchObject({ state: 'rejected' })
})

test.each<[what: string, text: string, problem: RegExp]>([
  ['no JSON', '{ "recovery": // mine\n {} }', /config\.json: it is not JSON/],
  ['a wrong key', '{"recovery":{"auto_aprove":[]}}', /auto_aprove/],
  [
    'the same text in both lists',
    JSON.stringify({ recovery: { require_human: [command] } }),
    /require_human lists the same text/,
  ],
  [
    'a key that stands there twice',
    '{"recovery":{"auto_approve":["a"]},"recovery":{"auto_approve":["b"]}}',
    /add .* there by hand/,
  ],
])('%s: refused with the reason, and the file stays', async (_what, text, problem) => {
  writeFileSync(config, text)
  const { id } = await asked()
  await expect(showAlwaysChange(context, id)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(problem),
  })
  await expect(answer(id, 'x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect([readFileSync(config, 'utf8'), await stateOf(id)]).toEqual([text, 'pending'])
})

test('a link stays a link', async () => {
  const target = join(root, 'mine.json')
  writeFileSync(target, listed)
  symlinkSync(target, config)
  const { id } = await asked()
  await answer(id, (await showAlwaysChange(context, id)).seen)
  expect([lstatSync(config).isSymbolicLink(), readFileSync(target, 'utf8')]).toEqual([true, longer])
})

test('of many answers at the same time one writes, and the command is listed once', async () => {
  writeFileSync(config, listed)
  const { id } = await asked()
  const { seen } = await showAlwaysChange(context, id)
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => answer(id, seen)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [(each.reason as Error).message] : []))
  expect(new Set(refused.map((text) => text.replace(/^question q-\d+ |;.*/g, '')))).toEqual(
    new Set(['is already decided: approve always']),
  )
  expect(readFileSync(config, 'utf8')).toBe(longer)
})

test('the inbox shows the proposed command with its parts and risks', async () => {
  const { id } = await asked()
  const found = (await inboxView(store.db)).groups.find(({ questions }) => questions.some((each) => each.id === id))
  expect(found?.cause).toBe(command)
  const [shown] = found?.questions.filter((each) => each.id === id) ?? []
  expect(shown?.proposal).toMatchObject({
    rootCause: 'two versions',
    evidence: ['out.txt:3: Cannot start'],
    problem: null,
  })
  expect(shown?.proposal?.commands[0]).toMatchObject({
    command,
    workingDir: '.',
    parts: ['rm -rf node_modules', 'npm install'],
  })
  expect(shown?.proposal?.commands[0]?.risks.map(({ kind }) => kind)).toContain('deletes')
})
