/** The end of a turn of a loop, with a real store, repository and workspace: what its role may not change is restored, also over a crash. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { LoopRole, LoopState } from '../../src/domain/loop.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Task } from '../../src/domain/task.ts'
import { collectNow } from '../../src/runtime/agent/collected.ts'
import { proposeRecovery } from '../../src/runtime/agent/propose-recovery.ts'
import { layReports } from '../../src/runtime/agent/turn-reports.ts'
import type { Git } from '../../src/runtime/core/ports.ts'
import { runPaths } from '../../src/runtime/core/context.ts'
import { createRunContext, type RunContext } from '../../src/runtime/core/run-context.ts'
import { interruptRun } from '../../src/runtime/run/interruptions.ts'
import { beginLoop } from '../../src/runtime/run/loop/begin-loop.ts'
import { gateFacts } from '../../src/runtime/run/loop/gate-facts.ts'
import { limitRole } from '../../src/runtime/run/loop/limit-role.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, type Db } from '../../src/store/db.ts'
import { getRun, saveRun } from '../../src/store/run.ts'
import { getTask } from '../../src/store/task.ts'
import { openTestDb } from '../support/test-db.ts'
import { put } from '../workspace/scene.ts'
import { openAskScene, type AskScene } from './ask-scene.ts'

let db: Db
let scene: AskScene
beforeAll(async () => {
  db = await openTestDb()
})
afterEach(async () => scene.clear())
afterAll(() => db.close())

interface Turn {
  runContext: RunContext
  loop: LoopState
  /** Files of the agent: reports, and files of the workspace. */
  writes: (reports: Record<string, string>, files?: Record<string, string>) => void
  report: (name: string) => string | undefined
  file: (path: string) => string | undefined
  limit: (git?: Partial<Git>) => Promise<string[]>
}

/** A turn of this role that begins now, with these reports of the planner. */
const turnOf = async (
  role: LoopRole,
  { plan = '', files = {}, config = {} }: { plan?: string; files?: Record<string, string>; config?: object },
): Promise<Turn> => {
  scene = await openAskScene({ db, agents: { asker: '' }, files, work: {}, config })
  const { runContext } = scene
  const { agentDir, workspace } = runContext.paths
  const stateOf = async (turn: LoopRole): Promise<LoopState> => ({
    ...{ iteration: 2, role: turn, stage: 'turn', limit: 20, before: (await collectNow(runContext)).tree },
    ...{ tests: null, signatures: [], open: '', recoveries: 0 },
  })
  const textOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
  const limit = async (as: LoopState, git: Partial<Git> = {}): Promise<string[]> => {
    const { context } = runContext
    const ports = { ...context.ports, git: { ...context.ports.git, ...git } }
    const found = await collectNow(runContext)
    const left = await limitRole({ ...runContext, context: { ...context, ports } }, as, found)
    return left.changes.map(({ path }) => path)
  }
  layReports(runContext, 'planner')
  if (plan !== '') put(agentDir, { 'plan.md': plan })
  await limit(await stateOf('planner'))
  layReports(runContext, role)
  const loop = await stateOf(role)
  runContext.run = mustSucceed(await saveRun(db, runContext.run, { loop, phase: 'supervise' }))
  return {
    ...{ runContext, loop },
    writes: (reports, more = {}) => {
      put(agentDir, reports)
      put(workspace, more)
    },
    report: (name) => textOf(join(agentDir, name)),
    file: (path) => textOf(join(workspace, path)),
    limit: (git) => limit(loop, git),
  }
}

const plan = '- [ ] answer\n- [x] notes\n'
const putBack = async () => (await scene.events('loop.changes_put_back')).map(({ payload }) => payload)
const snapshots = async ({ runContext: { context, run } }: Turn): Promise<number> =>
  (await context.ports.git.listSnapshots(context.shadow, run.id)).length

describe('the changes that a role may not make', () => {
  test('stay where no snapshot can be kept of them, and the turn fails with the reason', async () => {
    const turn = await turnOf('tester', { plan })
    turn.writes({ 'plan.md': '- [x] answer\n' }, { 'src/made.js': 'spoiled\n' })
    const full = new Error('No space left on device')
    await expect(turn.limit({ snapshot: () => Promise.reject(full) })).rejects.toThrow('No space left on device')
    expect(turn.file('src/made.js')).toBe('spoiled\n')
    expect(await putBack()).toEqual([])
  })

  test('are recorded once and put back completely, where a crash lies between the two', async () => {
    const turn = await turnOf('tester', { plan })
    turn.writes({ 'plan.md': '- [x] answer\n', 'test-report.md': 'fine' }, { 'src/made.js': 'spoiled\n', 'b.txt': 'b' })
    await expect(turn.limit({ buildTree: () => Promise.reject(new Error('killed')) })).rejects.toThrow('killed')
    expect(turn.file('b.txt')).toBe('b')
    expect(await turn.limit()).toEqual(['src/made.js'])
    expect([turn.file('src/made.js'), turn.file('b.txt')]).toEqual(['made\n', undefined])
    expect([turn.report('plan.md'), turn.report('test-report.md')]).toEqual([plan, 'fine'])
    expect(await putBack()).toEqual([
      { iteration: 2, role: 'tester', paths: ['b.txt', 'src/made.js'], reports: ['plan.md'] },
    ])
    expect(await snapshots(turn)).toBe(1)
  })

  test('of reports alone are recorded before they are put back', async () => {
    const turn = await turnOf('reviewer', { plan })
    turn.writes({ 'plan.md': '- [x] answer\n' })
    const { context } = turn.runContext
    await expect(
      limitRole(
        {
          ...turn.runContext,
          context: { ...context, db: { ...context.db, transaction: () => Promise.reject(new Error('killed')) } },
        },
        turn.loop,
        await collectNow(turn.runContext),
      ),
    ).rejects.toThrow('killed')
    expect(turn.report('plan.md')).toBe('- [x] answer\n')
    await turn.limit()
    expect(turn.report('plan.md')).toBe(plan)
    expect(await putBack()).toEqual([{ iteration: 2, role: 'reviewer', paths: [], reports: ['plan.md'] }])
  })
})

describe('the checklist', () => {
  const checklist = async (turn: Turn) => {
    const { tree } = await collectNow(turn.runContext)
    const { hasPlan, checklist: files } = await gateFacts(turn.runContext, turn.loop, tree)
    return { hasPlan, open: files.flatMap(({ file, open }) => open.map(({ title }) => `${file} ${title}`)) }
  }
  const owners = { files: { 'docs/plan.md': '- [ ] ship\n' }, config: { loop: { plan_files: ['docs/*.md'] } } }

  test('is ticked and extended by the worker', async () => {
    const turn = await turnOf('worker', { plan, ...owners })
    turn.writes({ 'plan.md': '- [x] answer\n- [x] notes\n- [ ] more\n' }, { 'docs/plan.md': '- [x] ship\n' })
    await turn.limit()
    expect(await checklist(turn)).toEqual({ hasPlan: true, open: ['plan.md more'] })
    expect(await putBack()).toEqual([])
  })

  test('keeps its open boxes when the worker removes the plans', async () => {
    const turn = await turnOf('worker', { plan, ...owners })
    rmSync(join(turn.runContext.paths.agentDir, 'plan.md'))
    rmSync(join(turn.runContext.paths.workspace, 'docs'), { recursive: true })
    turn.writes({}, { 'src/made.js': 'better\n' })
    expect(await turn.limit()).toEqual(['src/made.js'])
    expect([turn.report('plan.md'), turn.file('docs/plan.md')]).toEqual([plan, '- [ ] ship\n'])
    expect(await checklist(turn)).toEqual({ hasPlan: true, open: ['plan.md answer', 'docs/plan.md ship'] })
    expect(await putBack()).toEqual([{ iteration: 2, role: 'worker', paths: ['docs/plan.md'], reports: ['plan.md'] }])
  })

  test('of the repository is the planner’s, and nothing else there is', async () => {
    const turn = await turnOf('planner', { plan, ...owners })
    turn.writes({}, { 'docs/plan.md': '- [ ] build\n', 'src/made.js': 'planned\n' })
    expect(await turn.limit()).toEqual(['docs/plan.md', 'src/made.js'])
    expect([turn.file('docs/plan.md'), turn.file('src/made.js')]).toEqual(['- [ ] build\n', 'made\n'])
    expect((await checklist(turn)).open).toEqual(['plan.md answer', 'docs/plan.md build'])
    expect(await putBack()).toEqual([{ iteration: 2, role: 'planner', paths: ['src/made.js'], reports: [] }])
  })

  test('of the repository is not ticked by the reviewer', async () => {
    const turn = await turnOf('reviewer', { plan, ...owners })
    turn.writes({}, { 'docs/plan.md': '- [x] ship\n' })
    await turn.limit()
    expect((await checklist(turn)).open).toContain('docs/plan.md ship')
  })

  test('does not hold without a plan', async () => {
    const turn = await turnOf('planner', { plan })
    rmSync(join(turn.runContext.paths.agentDir, 'plan.md'))
    await turn.limit()
    expect(await checklist(turn)).toMatchObject({ hasPlan: false })
  })
})

describe('a loop that is continued by another run', () => {
  /** The next run of the task, whose workspace is at the base. */
  const nextRun = async (turn: Turn, before: string): Promise<RunContext> => {
    const { context, run } = turn.runContext
    const loop: LoopState = { ...turn.loop, before }
    const last = mustSucceed(await saveRun(db, run, { loop, tree: turn.loop.before }))
    const id = `${run.id}-next`
    await db.transaction((tx) => interruptRun(context, tx, last, 'its engine is gone'))
    const { agentId } = run
    await db.transaction((tx) => claimTask(tx, { agentId, runId: id, ttlSeconds: 600 }))
    const [base, dir] = [run.baseCommit ?? '', runPaths(context, id).workspace]
    await context.ports.git.createWorkspace({ repository: context.repository, base, dir, branch: 'unstuck/next' })
    const claimed = mustSucceed(await saveRun(db, (await getRun(db, id)) as Run, { baseCommit: base }))
    const parts = { ...turn.runContext, run: claimed, task: (await getTask(db, run.taskId)) as Task }
    const next = createRunContext(context, parts)
    expect(await beginLoop(next, base, false)).toBe('on')
    return next
  }

  test('gets the work back as it was when the turn began', async () => {
    const turn = await turnOf('reviewer', { plan })
    const { run, paths } = await nextRun(turn, turn.loop.before ?? '')
    expect(run.loop).toMatchObject({ role: 'reviewer', iteration: 2, before: turn.loop.before })
    expect(readFileSync(join(paths.workspace, 'src/made.js'), 'utf8')).toBe('made\n')
  })

  test('begins its work again where that tree is not: on another host', async () => {
    const { run } = await nextRun(await turnOf('reviewer', { plan }), 'f'.repeat(40))
    expect(run.loop).toMatchObject({ role: 'worker', iteration: 2, tests: null })
  })
})

describe('a recovery that is proposed by the tool', () => {
  const proposal = {
    ...{ version: 1, timestamp: '2026-01-23T05:36:33Z', category: 'dependency', severity: 'blocking' },
    diagnosis: { error_pattern: 'broken', root_cause: 'two versions', evidence: ['test-output.txt:1: broken'] },
    recovery: { command: 'npm ci', expected_outcome: 'it starts', confidence: 'high' },
  }
  const propose = ({ runContext: { context, run } }: Turn) => proposeRecovery(context, run.id, proposal)

  test('is refused where recovery is switched off', async () => {
    const turn = await turnOf('tester', { plan })
    await expect(propose(turn)).rejects.toThrow('recovery is switched off for this repository')
    expect(turn.report('recovery.json')).toBeUndefined()
  })

  test('is the tester’s in a loop', async () => {
    const turn = await turnOf('tester', { plan, config: { recovery: { enabled: true } } })
    expect(await propose(turn)).toEqual({ accepted: true, command: 'npm ci' })
    for (const role of ['planner', 'worker', 'reviewer'] as const) {
      const loop = { ...turn.loop, role }
      turn.runContext.run = mustSucceed(await saveRun(db, turn.runContext.run, { loop }))
      await expect(propose(turn)).rejects.toThrow(
        `only the tester of a loop may propose a recovery, and you are its ${role}`,
      )
    }
  })
})
