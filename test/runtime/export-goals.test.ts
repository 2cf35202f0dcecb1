/** The exports of goals in the owner's checkout: their shapes, crashes at every step, and what may stand in their way. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Choice } from '../../src/domain/escalation.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realFiles, type Files } from '../../src/runtime/core/files.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { createGoalExportJob, type GoalExportJob } from '../../src/runtime/engine/export-goals.ts'
import { json, sql, mustSucceed, type Db } from '../../src/store/db.ts'
import { answerEscalation, getEscalation, openEscalation } from '../../src/store/escalation.ts'
import { appendEvent, readEvents } from '../../src/store/event.ts'
import { moveGoal } from '../../src/store/goal.ts'
import { appendApproved, appendEscalated, appendProposed, insertProposal } from '../../src/store/recovery-proposal.ts'
import { becomeLeader, fencedByTerm, LeadershipLostError } from '../../src/store/leader.ts'
import type { Repository } from '../../src/workspace/repository-types.ts'
import { activeGoal, agents, claimed, empty, end, goal } from '../store/scene.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { openTestDb } from '../support/test-db.ts'
import { samples } from '../support/samples.ts'

let db: Db
let root: string
let top: string
let warnings: string[]
let elapsed: number
let job: GoalExportJob
let timers: { ms: number; work: () => void }[]
let wakes: number
let log: object
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-export-')))
  root = join(top, 'project')
  mkdirSync(root)
  user(root, 'init', '--quiet', '--initial-branch=main')
  put(root, { 'a.txt': 'a\n' })
  commitAll(root, 'first')
  warnings = []
  elapsed = 0
  timers = []
  wakes = 0
  job = createGoalExportJob()
  log = { warn: (fields: { error: string }, message: string) => warnings.push(`${message}: ${fields.error}`) }
  return () => rmSync(top, { recursive: true })
})

const contextOf = (parts: { repository?: Partial<Repository>; files?: Files; db?: Db } = {}): Context =>
  ({
    db: parts.db ?? db,
    ...{ ports: { ...realPorts, files: parts.files ?? realFiles }, environment: { API_TOKEN: 'hunter2-hunter2' } },
    stopping: new AbortController().signal,
    repository: { root, commonDir: join(root, '.git'), ...parts.repository },
    log,
    clock: {
      elapsed: () => elapsed,
      after: (ms: number, work: () => void) => (timers.push({ ms, work }), () => undefined),
    },
    wake: () => (wakes += 1),
  }) as unknown as Context

const file = (name: string): string => join(root, '.unstuck/loops/g', name)
const text = (name: string): string => readFileSync(file(name), 'utf8')
const parsed = (name: string): unknown => JSON.parse(text(name))
const linesIn = (name: string): Record<string, unknown>[] => {
  const lines = text(name).split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}
const ids = (): unknown[] => linesIn('events.jsonl').map(({ id }) => id)
const storedIds = async (): Promise<unknown[]> =>
  (await readEvents(db, { after: 0, limit: 10_000, goalId: 'g' })).map(({ id }) => id)
const note = (n: number): Promise<void> => appendEvent(db, { type: 'task.note', goalId: 'g', payload: { n } })
const later = (ms = 0): void => void (elapsed += ms)

const choice = (kind: 'retry' | 'cancel', command: string): Choice => ({
  ...{ kind, id: kind, label: kind, effect: kind, command, input: null },
})

const ask = (id: string, runId: string | null = null): Promise<void> =>
  db.transaction((tx) =>
    openEscalation(tx, {
      ...{ id, goalId: 'g', taskId: 'g-t1', runId, kind: 'exhausted', happened: `${id} happened`, tried: [] },
      ...{ question: 'What now?', details: '' },
      choices: [choice('retry', 'unstuck retry g-t1'), choice('cancel', 'unstuck cancel g-t1')],
    }),
  )

const answer = (id: string, trigger: 'retry' | 'cancel'): Promise<unknown> =>
  db.transaction(async (tx) => {
    const question = await getEscalation(tx, id)
    return question === undefined ? undefined : mustSucceed(await answerEscalation(tx, question, trigger))
  })

describe('a goal with a run and a question', () => {
  beforeEach(async () => {
    await agents(db, 'a1')
    await activeGoal(db, 'g', [{ model: 'm-1' }])
    const { run } = await claimed(db, 'a1')
    await db.query(
      sql`update run set spend = '{"tokens": 1200, "costUsd": 0.25, "seconds": 9}'::jsonb where id = ${run.id}`,
    )
    await end(db, run, 'failed', 'run_failed')
    await ask('q1', run.id)
    await job(contextOf())
  })

  test('state.json says its state, its iteration and when something happened last', async () => {
    const [last] = (await readEvents(db, { after: 0, limit: 100, goalId: 'g' })).slice(-1)
    expect(parsed('state.json')).toEqual({
      ...{ status: 'active', current_loop_id: 'g', loop_id: 'g', iteration: 1, active: true, reason: '' },
      updated_at: last?.at.toISOString(),
    })
    await db.transaction(async (tx) =>
      mustSucceed(await moveGoal(tx, await goal(tx, 'g'), 'only_questions_left', 'asked')),
    )
    later()
    await job(contextOf())
    expect(parsed('state.json')).toMatchObject({ status: 'awaiting_human', active: false, reason: 'asked' })
  })

  test('escalation.json has the fields of the founding document, and its status follows the answer', async () => {
    const question = await getEscalation(db, 'q1')
    const asked = {
      ...{
        timestamp: question?.createdAt.toISOString(),
        loop_id: 'g',
        iteration: 1,
        type: 'exhausted',
        status: 'pending',
      },
      reason: 'q1 happened',
      actions: { approve: 'unstuck retry g-t1', reject: 'unstuck cancel g-t1' },
    }
    expect(parsed('escalation.json')).toEqual(asked)
    await answer('q1', 'retry')
    later()
    await job(contextOf())
    expect(parsed('escalation.json')).toEqual({ ...asked, status: 'approved' })
    await ask('q2')
    await answer('q2', 'cancel')
    await ask('q3')
    later()
    await job(contextOf())
    expect(parsed('escalation.json')).toMatchObject({ reason: 'q3 happened', status: 'pending' })
  })

  test('events.jsonl has every event once, and usage.jsonl a line per ended run', async () => {
    expect(ids()).toEqual(await storedIds())
    expect(linesIn('events.jsonl')[0]).toMatchObject({ event: 'goal.created', loop_id: 'g', task_id: null })
    expect(linesIn('usage.jsonl').filter(({ kind }) => kind === 'run')).toMatchObject([
      {
        ...{ iteration: 1, role: 'worker', runner: 'codex', model: 'm-1', cost_usd: 0.25, status: 'failed' },
        usage: { tokens: 1200, agent_seconds: 9 },
      },
    ])
    const [{ timestamp, duration_ms: ms }] = linesIn('usage.jsonl') as [Record<string, unknown>]
    expect([new Date(String(timestamp)).toISOString(), Number(ms) >= 0]).toEqual([timestamp, true])
  })

  test('git does not see the files, and only their owner can read them', () => {
    expect(user(root, 'status', '--porcelain')).toBe('')
    expect(readdirSync(join(root, '.unstuck/loops/g')).toSorted()).toEqual([
      ...['escalation.json', 'events.jsonl', 'state.json', 'usage.jsonl'],
    ])
    expect(statSync(file('events.jsonl')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(root, '.git/info/exclude'), 'utf8')).not.toContain('loops')
  })
})

test('usage.jsonl has a line per turn of a loop, when it ends, and what was spent outside of the turns', async () => {
  await agents(db, 'a1')
  await activeGoal(db, 'g', [{ model: 'm-1' }])
  const { run } = await claimed(db, 'a1')
  const spent = (tokens: number) => ({ tokens, costUsd: tokens / 1000, seconds: tokens / 100 })
  const launchOf = (number: number, role: string, tokens: number | null, resumeSession: string | null = null) => ({
    ...{ number, resumeSession, hint: null, shim: null, gateOpened: true, startedAt: null },
    ...{ corrections: { addDirs: [], skipGitCheck: false }, turn: { iteration: 1, role }, harness: `cli-${role}` },
    spend: tokens === null ? null : spent(tokens),
  })
  const plan = launchOf(1, 'planner', 100)
  const worked = [launchOf(2, 'worker', 200), launchOf(3, 'worker', 300, 's-7')]
  const startTurn = async (launches: object[], total: number): Promise<void> => {
    await db.query(
      sql`update run set launches = ${json(launches)}::jsonb, spend = ${json(spent(total))}::jsonb where id = ${run.id}`,
    )
    const payload = { iteration: 1, launch: launches.length }
    await appendEvent(db, { type: 'loop.turn_started', goalId: 'g', taskId: 'g-t1', runId: run.id, payload })
    await job(contextOf())
  }
  await startTurn([launchOf(1, 'planner', null)], 0)
  expect(linesIn('events.jsonl').length).toBeGreaterThan(0)
  expect(text('usage.jsonl')).toBe('')
  await startTurn([plan, launchOf(2, 'worker', null)], 100)
  await startTurn([plan, ...worked, launchOf(4, 'tester', null)], 600)
  await db.query(
    sql`update run set launches = ${json([plan, ...worked, launchOf(4, 'tester', 50)])}::jsonb, spend = ${json(spent(660))}::jsonb, session_id = 's-9' where id = ${run.id}`,
  )
  await end(db, { ...run, version: run.version }, 'failed', 'run_failed')
  await job(contextOf())
  const shape = { kind: 'turn', iteration: 1, model: 'm-1', run_id: run.id, timestamp: expect.any(String) }
  const line = (role: string, tokens: number, session_id: string | null) => ({
    ...{ ...shape, role, session_id, runner: `cli-${role}`, duration_ms: tokens * 10, cost_usd: tokens / 1000 },
    usage: { tokens, agent_seconds: tokens / 100 },
  })
  const lines = linesIn('usage.jsonl')
  expect(lines.slice(0, 3)).toEqual([line('planner', 100, null), line('worker', 500, 's-7'), line('tester', 50, 's-9')])
  expect(lines.slice(3)).toMatchObject([{ kind: 'outside_turns', run_id: run.id, usage: { tokens: 10 } }])
  const before = text('usage.jsonl')
  rmSync(join(root, '.unstuck'), { recursive: true })
  await createGoalExportJob()(contextOf())
  expect(text('usage.jsonl')).toBe(before)
})

test('usage.jsonl has a line for each question to a reviewer of finished work, and for no other question', async () => {
  await agents(db, 'a1')
  await activeGoal(db, 'g', [{}])
  const { run } = await claimed(db, 'a1')
  const asked = async (type: string, purpose: string, tokens: number): Promise<void> => {
    const payload = { purpose, harness: 'y', model: 'm-2', tokens, costUsd: 0.5, ms: 4000, attempts: 1 }
    await appendEvent(db, { type, goalId: 'g', taskId: 'g-t1', runId: run.id, payload })
  }
  await asked('ask.answered', 'paths outside the task', 1)
  await asked('ask.failed', 'finished work', 20)
  await asked('ask.answered', 'finished work', 30)
  await job(contextOf())
  const line = {
    ...{ kind: 'review', iteration: 1, role: 'judge', runner: 'y', model: 'm-2', duration_ms: 4000, cost_usd: 0.5 },
    ...{ run_id: run.id, timestamp: expect.any(String) },
  }
  expect(linesIn('usage.jsonl')).toEqual([
    { ...line, usage: { tokens: 20, agent_seconds: 4 } },
    { ...line, usage: { tokens: 30, agent_seconds: 4 } },
  ])
})

test('the six recovery events have the fields of the founding document at the top level', async () => {
  await activeGoal(db, 'g', [{}])
  const command = 'bun install'
  const given = [
    ['recovery_proposed', { category: 'dependency', command, confidence: 'high' }],
    ['recovery_approved', { source: 'auto', command }],
    ['recovery_executed', { command, exit_code: 0, duration_ms: 4523 }],
    ['recovery_failed', { command, exit_code: 1, error: 'no network' }],
    ['recovery_escalated', { reason: 'command not in auto_approve', awaiting: 'human' }],
    ['recovery_resolved', { by: 'human', method: 'manual', note: 'Ran command manually' }],
  ] as const
  for (const [type, payload] of given)
    await appendEvent(db, { type, goalId: 'g', payload: { ...payload, proposal: 'p-1', more: 1 } })
  await job(contextOf())
  const lines = linesIn('events.jsonl').slice(-given.length)
  expect(lines).toEqual(
    given.map(([event, fields]) => ({ timestamp: expect.any(String), loop_id: 'g', event, ...fields })),
  )
})

describe('a proposal that a person is asked about', () => {
  const command = 'rm -rf node_modules && npm install'
  const body = {
    ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
    diagnosis: { error_pattern: 'Host version .*', root_cause: 'two versions of esbuild', evidence: ['out.txt:3: x'] },
    recovery: { command, working_dir: '.', timeout_seconds: 300, expected_outcome: 'it starts', confidence: 'high' },
  }
  const recoveryChoice = (kind: 'approve_recovery' | 'reject_recovery', command: string): Choice => ({
    ...{ kind, id: kind, label: kind, effect: kind, command, input: null, proposal: 'p-1' },
  })
  let place: { goalId: string; taskId: string; runId: string }

  beforeEach(async () => {
    await agents(db, 'a1')
    await activeGoal(db, 'g', [{}])
    const { run } = await claimed(db, 'a1')
    place = { goalId: 'g', taskId: 'g-t1', runId: run.id }
    await db.transaction(async (tx) => {
      await insertProposal(tx, {
        ...{ id: 'p-1', ...place, iteration: 6, digest: 'd', source: 'agent', body, offsetStated: null, problem: null },
        ...{ flag: null, failing: { command: 'npm test', signature: 's' } },
      })
      await appendProposed(tx, place, { category: 'dependency', command, confidence: 'high' })
      await appendEscalated(tx, place, 'command not in auto_approve')
      await openEscalation(tx, {
        ...{ id: 'q1', ...place, kind: 'recovery_approval_required', happened: 'The agent proposed a command.' },
        ...{ tried: [], question: 'May it run?', details: '' },
        choices: [
          recoveryChoice('approve_recovery', 'unstuck approve-recovery --loop g'),
          recoveryChoice('reject_recovery', 'unstuck reject-recovery --loop g'),
        ],
      })
    })
    await job(contextOf())
  })

  test('escalation.json is the one of the founding document, field by field', async () => {
    const question = await getEscalation(db, 'q1')
    expect(Object.entries(parsed('escalation.json') as object)).toEqual([
      ['timestamp', question?.createdAt.toISOString()],
      ['loop_id', 'g'],
      ['iteration', 6],
      ['type', 'recovery_approval_required'],
      ['status', 'pending'],
      ['recovery_proposal', body],
      ['reason', 'command not in auto_approve'],
      [
        'actions',
        {
          approve: 'unstuck approve-recovery --loop g',
          reject: 'unstuck reject-recovery --loop g',
          manual: `cd ${root} && ${command}`,
        },
      ],
    ])
  })

  test('the line for a person has the fallback, once the question is about that, and quotes the folder', async () => {
    const fallback = { command: 'npm ci', confidence: 'medium' }
    const recovery = { ...body.recovery, working_dir: 'packages/a b' }
    await db.query(
      sql`update recovery_proposal set approved_step = 'fallback', body = ${json({ ...body, recovery, fallback })}::jsonb`,
    )
    later(61_000)
    await job(contextOf())
    expect(parsed('escalation.json')).toMatchObject({ actions: { manual: `cd '${root}/packages/a b' && npm ci` } })
  })

  test('usage.jsonl says what the proposals have come to, also when it is written again', async () => {
    await db.transaction(async (tx) => {
      await appendApproved(tx, place, { source: 'auto', command: 'npm ci' })
      await appendEvent(tx, {
        type: 'recovery_executed',
        ...place,
        payload: { command: 'npm ci', exit_code: 0, duration_ms: 9 },
      })
    })
    await db.transaction(async (tx) => {
      const question = await getEscalation(tx, 'q1')
      if (question !== undefined) mustSucceed(await answerEscalation(tx, question, 'reject_recovery'))
    })
    later()
    await job(contextOf())
    expect(parsed('escalation.json')).toMatchObject({ status: 'rejected' })
    expect(linesIn('usage.jsonl').at(-1)).toMatchObject({
      ...{ kind: 'recovery_metrics', loop_id: 'g', recovery_proposals: 1, auto_recovery_success_rate: 1 },
      ...{ escalations: 1, escalation_frequency: 1, time_to_resolution_ms: expect.any(Number) },
      categories: [{ category: 'dependency', count: 1 }],
    })
    const before = text('usage.jsonl')
    rmSync(join(root, '.unstuck'), { recursive: true })
    await createGoalExportJob()(contextOf())
    expect(text('usage.jsonl')).toBe(before)
  })
})

describe('after the first export', () => {
  beforeEach(async () => {
    await activeGoal(db, 'g', [{}])
    await job(contextOf())
  })

  test('only new events are added', async () => {
    const before = text('events.jsonl')
    await note(1)
    await job(contextOf())
    expect(text('events.jsonl').startsWith(before)).toBe(true)
    expect(ids()).toEqual(await storedIds())
  })

  test('a slow export waits before the next one, which then comes without a poll, or at once when the engine stops', async () => {
    const slow = { ...realFiles, renameSync: (from: string, to: string) => (later(50), realFiles.renameSync(from, to)) }
    await note(1)
    await job(contextOf({ files: slow }))
    const before = ids()
    await note(2)
    await job(contextOf())
    await job(contextOf())
    expect([ids(), timers.length]).toEqual([before, 1])
    const [timer] = timers
    later(timer?.ms)
    timer?.work()
    expect(wakes).toBe(1)
    await job(contextOf())
    expect(ids()).toEqual(await storedIds())
    await note(3)
    await job(contextOf({ files: slow }))
    await note(4)
    await job(contextOf(), true)
    expect(ids()).toEqual(await storedIds())
  })

  test.each([
    ['a line too many', () => appendFileSync(file('events.jsonl'), '{"id":0}\n')],
    ['half a line', () => writeFileSync(file('events.jsonl'), text('events.jsonl').slice(0, -9))],
    [
      'another content of the same size',
      () => writeFileSync(file('events.jsonl'), text('events.jsonl').replace('goal', 'gaol')),
    ],
    ['a missing file', () => rmSync(file('events.jsonl'))],
    ['a missing folder', () => rmSync(join(root, '.unstuck'), { recursive: true })],
    ['a changed state', () => writeFileSync(file('state.json'), '{}')],
  ])('%s is repaired, also when nothing happens any more', async (_what, damage) => {
    const whole = [text('events.jsonl'), text('state.json')]
    damage()
    later(61_000)
    await job(contextOf())
    expect([text('events.jsonl'), text('state.json')]).toEqual(whole)
  })

  test('another engine continues the files', async () => {
    await note(1)
    await createGoalExportJob()(contextOf())
    expect(ids()).toEqual(await storedIds())
  })
})

test('a repository that was moved away is not made again, and one that was replaced ignores the exports', async () => {
  await activeGoal(db, 'g', [{}])
  renameSync(root, `${root}.away`)
  await job(contextOf())
  expect([existsSync(root), warnings]).toEqual([false, []])
  renameSync(`${root}.away`, root)
  rmSync(join(root, '.git'), { recursive: true })
  user(root, 'init', '-q', '-b', 'main')
  later(61_000)
  await job(contextOf())
  user(root, 'add', '-A')
  expect([existsSync(file('state.json')), user(root, 'ls-files', '.unstuck')]).toEqual([true, ''])
})

describe('in the way', () => {
  beforeEach(() => activeGoal(db, 'g', [{}]))

  test.each(['.unstuck', '.unstuck/loops', '.unstuck/loops/g'])('a link at %s is not followed', async (place) => {
    mkdirSync(join(top, 'elsewhere'))
    mkdirSync(join(root, place, '..'), { recursive: true })
    symlinkSync(join(top, 'elsewhere'), join(root, place))
    await job(contextOf())
    expect(readdirSync(join(top, 'elsewhere'))).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(/could not be written to \.unstuck\/loops\/g; its work continues: .*a link/),
    ])
    later(61_000)
    await job(contextOf())
    expect(warnings).toHaveLength(1)
  })

  test.each(['.unstuck', '.unstuck/loops', '.unstuck/loops/g'])(
    'a dangling link at %s is not followed',
    async (place) => {
      mkdirSync(join(root, place, '..'), { recursive: true })
      symlinkSync(join(top, 'nowhere'), join(root, place))
      await job(contextOf())
      expect([existsSync(join(top, 'nowhere')), warnings.length]).toEqual([false, 1])
    },
  )

  test.each(['state.json', 'state.json.new', 'events.jsonl', 'events.jsonl.new'])(
    'a link at %s is replaced, and what it names stays',
    async (name) => {
      writeFileSync(join(top, 'mine'), 'mine\n')
      for (const target of ['mine', 'nowhere']) {
        rmSync(join(root, '.unstuck'), { recursive: true, force: true })
        mkdirSync(join(root, '.unstuck/loops/g'), { recursive: true })
        symlinkSync(join(top, target), file(name))
        later(61_000)
        await job(contextOf())
        expect(parsed('state.json')).toMatchObject({ status: 'active' })
        expect(ids()).toEqual(await storedIds())
      }
      expect([readFileSync(join(top, 'mine'), 'utf8'), existsSync(join(top, 'nowhere'))]).toEqual(['mine\n', false])
    },
  )

  test('a file instead of the folder is a warning, and the next goal is still exported', async () => {
    mkdirSync(join(root, '.unstuck/loops'), { recursive: true })
    writeFileSync(join(root, '.unstuck/loops/g'), 'mine\n')
    await activeGoal(db, 'h', [{}])
    await job(contextOf())
    expect(readFileSync(join(root, '.unstuck/loops/g'), 'utf8')).toBe('mine\n')
    expect(existsSync(join(root, '.unstuck/loops/h/state.json'))).toBe(true)
    expect(warnings).toHaveLength(1)
  })

  test('a place that cannot be written is a warning, and is written as soon as it can be', async () => {
    const refused = (): never => {
      throw new Error('EACCES: permission denied')
    }
    await job(contextOf({ files: { ...realFiles, writeFileSync: refused } }))
    expect(warnings).toEqual([expect.stringContaining('EACCES')])
    later(61_000)
    await job(contextOf())
    expect(ids()).toEqual(await storedIds())
  })

  test('an error of one goal stops no other one, and is tried and logged once a minute at most', async () => {
    await activeGoal(db, 'h', [{}])
    const events: Db['query'] = (statement) => {
      const isOfFirst = statement.text.includes('from event') && statement.values.includes('g')
      if (isOfFirst) tries += 1
      return isOfFirst ? Promise.reject(new Error('a damaged row')) : db.query(statement)
    }
    let tries = 0
    const damaged = contextOf({ db: { ...db, query: events } })
    await job(damaged)
    expect(existsSync(join(root, '.unstuck/loops/h/state.json'))).toBe(true)
    await note(1)
    await job(damaged)
    expect(tries).toBe(1)
    later(61_000)
    await job(damaged)
    expect([tries, warnings]).toEqual([2, [expect.stringMatching(/loops\/g; .*: a damaged row/)]])
    later(61_000)
    await job(contextOf())
    expect(ids()).toEqual(await storedIds())
  })

  test('another kind of trouble with the same goal is logged as well', async () => {
    const failing = (message: string): Files => ({
      ...realFiles,
      writeFileSync: () => {
        throw new Error(message)
      },
    })
    for (const message of ['EACCES', 'EACCES', 'ENOSPC']) {
      await job(contextOf({ files: failing(message) }))
      later(61_000)
    }
    expect(warnings.map((line) => line.split(': ')[1])).toEqual(['EACCES', 'ENOSPC'])
  })

  test('an engine that is no longer the leader replaces no file', async () => {
    const term = await becomeLeader(db, 'e-1')
    await job(contextOf({ db: fencedByTerm(db, term) }))
    const before = [text('events.jsonl'), text('state.json')]
    await note(1)
    await becomeLeader(db, 'e-1')
    await expect(job(contextOf({ db: fencedByTerm(db, term) }))).rejects.toThrow(LeadershipLostError)
    expect([text('events.jsonl'), text('state.json')]).toEqual(before)
  })

  test('a secret in what agents and checks printed is not exported', async () => {
    const secret = 'the token is hunter2-hunter2'
    await appendEvent(db, { type: 'task.note', goalId: 'g', payload: { secret } })
    await db.query(sql`update goal set reason = ${secret} where id = 'g'`)
    await db.transaction((tx) =>
      openEscalation(tx, {
        ...{ id: 'q1', goalId: 'g', taskId: null, runId: null, kind: 'exhausted', happened: secret, tried: [] },
        ...{ question: 'What now?', details: '', choices: [choice('retry', 'unstuck retry g')] },
      }),
    )
    await job(contextOf())
    for (const name of ['events.jsonl', 'state.json', 'escalation.json']) {
      expect(text(name)).toContain('the token is [redacted]')
      expect(text(name)).not.toContain('hunter2')
    }
    await note(1)
    await job(contextOf())
    expect(ids()).toEqual(await storedIds())
  })

  test.each<[string, Partial<Repository>]>([
    ['a repository by URL', { url: 'https://example.com/x.git' }],
    ['a plain folder', { commonDir: null }],
  ])('nothing is written for %s', async (_what, repository) => {
    await job(contextOf({ repository }))
    expect(existsSync(join(root, '.unstuck'))).toBe(false)
  })
})

class Killed extends Error {}

/** The files and the store until the process is killed at its nth step, half through a write if it is one. */
const killedAt = (step: number): { files: Files; db: Db } => {
  let left = step
  const isDead = (): boolean => (left -= 1) < 0
  const alive = <Call extends (...given: never[]) => unknown>(call: Call): Call =>
    ((...given: never[]) => {
      if (isDead()) throw new Killed()
      return call(...given)
    }) as Call
  const write: Files['writeFileSync'] = (path, whole, options) => {
    const dead = left <= 0
    if (dead && left === 0) realFiles.writeFileSync(path, whole.slice(0, whole.length / 2), options)
    if (isDead()) throw new Killed()
    realFiles.writeFileSync(path, whole, options)
  }
  return {
    files: {
      ...realFiles,
      mkdirSync: alive(realFiles.mkdirSync),
      renameSync: alive(realFiles.renameSync),
      rmSync: alive(realFiles.rmSync),
      appendFileSync: alive(realFiles.appendFileSync),
      writeFileSync: write,
    },
    db: { ...db, query: alive(db.query) },
  }
}

test('after kills at any step each file is whole and has every event exactly once', async () => {
  await agents(db, 'a1')
  const rounds = fc.array(
    fc.record({ events: fc.integer({ min: 0, max: 3 }), step: fc.integer({ min: 0, max: 25 }) }),
    {
      maxLength: 8,
    },
  )
  await fc.assert(
    fc.asyncProperty(rounds, async (plan) => {
      await empty(db)
      rmSync(join(root, '.unstuck'), { recursive: true, force: true })
      await activeGoal(db, 'g', [{}])
      for (const { events, step } of plan) {
        for (let n = 0; n < events; n += 1) await note(n)
        await createGoalExportJob()(contextOf(killedAt(step))).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error
        })
        // What another program finds at this moment has whole lines, and is a beginning of what happened.
        const found = existsSync(file('events.jsonl')) ? ids() : []
        expect(found).toEqual((await storedIds()).slice(0, found.length))
        if (existsSync(file('state.json'))) expect(parsed('state.json')).toMatchObject({ loop_id: 'g' })
      }
      await createGoalExportJob()(contextOf())
      expect(ids()).toEqual(await storedIds())
      expect(readdirSync(join(root, '.unstuck/loops/g')).toSorted()).toEqual([
        'events.jsonl',
        'state.json',
        'usage.jsonl',
      ])
    }),
    { numRuns: samples(20) },
  )
})
