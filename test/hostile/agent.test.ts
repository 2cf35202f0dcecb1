/**
 * Agents that do what they should not: each ends with the task done and without the hostile effect, or in exactly one
 * clear question, with everything of the user's as it was.
 */
import { existsSync, lstatSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GoalRequest, GoalView } from '../../src/api/contract.ts'
import { faultAgent } from '../process/bench.ts'
import { user } from '../workspace/scene.ts'
import { expectDone, expectOneQuestion, filesAt, fixture, openScene, type Scene } from './scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

const agents = `git-config git-deleted git-replaced clone-refs user-refs user-refs-fetched symlinks-out nested flood
  fake-events-claude fake-events-codex fake-events-plain escapes secret-file odd-names weakens grandchild kills-shim stops-shim config honest`

let scene: Scene
beforeAll(async () => {
  const manifest = JSON.stringify({ name: 'p', version: '1.0.0', scripts: { test: 'node check.mjs' } })
  scene = await openScene(agents.split(/\s+/), {
    files: { 'lib/a.txt': 'a\n', 'package.json': manifest },
    commands: { flood: faultAgent('flood', '120', '50', '30', '--answer', fixture('answer.json')) },
    drivers: { 'fake-events-claude': 'claude', 'fake-events-codex': 'codex' },
    config: { deniedPaths: ['denied.txt'] },
  })
})
beforeEach(async () => scene.begin())
afterAll(async () => scene.clear())

const work = (harness: string, task: Partial<GoalRequest['input']['tasks'][number]> = {}): Promise<GoalView> =>
  scene.work([task], { harness })

const landed = (goal: GoalView): string => user(scene.root, 'show', `${goal.branch}:src/work.txt`)

test.each(shortened(['git-config', 'git-replaced', 'git-deleted', 'clone-refs'], 2))(
  'what %s does to the .git of its clone starts nothing and loses no work',
  async (agent) => {
    const goal = await work(agent)
    expectDone(goal)
    expect(landed(goal)).toBe('done')
    expect(await scene.events('ref.moved')).toEqual([])
    await scene.expectUnharmed()
  },
)

const held = '.git/refs/unstuck/kept/'

test('a branch of the user and the goal branch that an agent moved are put back, and every move is reported', async () => {
  const main = user(scene.root, 'rev-parse', 'main')
  const goal = await work('user-refs')
  expectDone(goal)
  expect(landed(goal)).toBe('done')
  expect(user(scene.root, 'rev-parse', 'main')).toBe(main)
  const restored = (await scene.events('ref.restored')).map(({ payload }) => payload.ref)
  expect(restored).toEqual(expect.arrayContaining(['refs/heads/main', `refs/heads/${goal.branch}`]))
  const moved = await scene.events('ref.moved')
  expect(moved).toHaveLength(1)
  expect(moved[0]?.payload).toMatchObject({
    more: 0,
    refs: [
      { ref: 'refs/heads/main', before: main, restored: true },
      { ref: 'refs/heads/side', before: main, after: null, restored: false },
    ],
  })
  // The deleted branch may have been deleted by the user: it is asked about with its commit, which is held, and not made again.
  await scene.expectUnharmed((path) => path === '.git/refs/heads/side' || path.startsWith(held))
  user(scene.root, 'branch', 'side', main)
})

test("a branch moved to the agent's own commit is put back also when that commit was fetched first", async () => {
  const main = user(scene.root, 'rev-parse', 'main')
  const goal = await work('user-refs-fetched')
  expectDone(goal)
  expect(user(scene.root, 'rev-parse', 'main')).toBe(main)
  expect((await scene.events('ref.moved'))[0]?.payload).toMatchObject({
    refs: [
      { ref: 'refs/heads/main', restored: true },
      { ref: 'refs/heads/side', before: main, restored: false },
    ],
  })
  await scene.expectUnharmed(
    (path) => ['.git/refs/heads/side', '.git/FETCH_HEAD'].includes(path) || path.startsWith(held),
  )
})

test('links that lead out of the repository are one question, and what they lead to is neither read nor written', async () => {
  const goal = await work('symlinks-out')
  await expectOneQuestion(scene, goal, /users|notes\.txt|lib/)
  const runs = await scene.api<{ errorMeta: { policyViolations: { path: string; kind: string }[] } }[]>(
    `/runs?goal=${goal.id}`,
  )
  expect(runs[0]?.errorMeta.policyViolations.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
    'symlink_out lib',
    'symlink_out notes.txt',
    'symlink_out users',
  ])
  const objects = user(join(scene.stateDir, 'shadow.git'), 'cat-file', '--batch-check', '--batch-all-objects')
  expect(objects).not.toContain(user(scene.root, 'hash-object', join(scene.outside, 'private.txt')))
  await scene.expectUnharmed()
})

test('a repository inside the work is one question, and its configuration starts nothing', async () => {
  await expectOneQuestion(scene, await work('nested'), /vendor/)
  await scene.expectUnharmed()
})

test.runIf(isLongForm)('200 MB of output and a line of 50 MB end in a bounded log and a done task', async () => {
  const goal = await work('flood')
  expectDone(goal)
  const run = (await scene.events('run.started'))[0]?.runId ?? ''
  const launch = join(scene.stateDir, 'runs', run, 'launches', '1')
  const bytes = readdirSync(launch).map((name) => lstatSync(join(launch, name)).size)
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(140 * 1024 * 1024)
  const logs = await scene.cli('logs', run)
  expect(logs.exitCode).toBe(0)
  expect(logs.stdout).toMatch(/^text +first line$/m)
  expect(logs.stdout).toMatch(/^gap +\[\d+ bytes in the middle were dropped\]$/m)
  expect(logs.stdout).toMatch(/^text +last line$/m)
  await scene.expectUnharmed()
})

test.each(shortened(['claude', 'codex'] as const, 1))(
  'events of the %s CLI inside tool output and text are text',
  async (driver) => {
    const goal = await work(`fake-events-${driver}`)
    expectDone(goal)
    const runs = await scene.api<{ launches: unknown[] }[]>(`/runs?goal=${goal.id}`)
    expect(runs.map(({ launches }) => launches.length)).toEqual([1])
    expect(await scene.events('recovery.started')).toEqual([])
    await scene.expectUnharmed()
  },
)

test('a plain program that prints final events and did nothing is one question', async () => {
  await expectOneQuestion(scene, await work('fake-events-plain'), /no path differs from the base commit/)
  await scene.expectUnharmed()
})

test.runIf(isLongForm)('no command shows a terminal escape of an agent', async () => {
  const goal = await work('escapes')
  await expectOneQuestion(scene, goal, /failed|exit/)
  const run = (await scene.events('run.started'))[0]?.runId ?? ''
  const ask = [
    ['status'],
    ['report'],
    ['tasks'],
    ['runs'],
    ['logs', run],
    ['events'],
    ['explain', goal.id],
    ['explain', run],
  ]
  for (const args of ask) {
    const { stdout, stderr } = await scene.cli(...args)
    expect(`${args.join(' ')}: ${stdout}${stderr}`).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u)
    expect(stdout).not.toBe('')
  }
  expect((await scene.cli('logs', run)).stdout).toContain('red')
  await scene.expectUnharmed()
})

test('a .env that the agent committed is one question and on no branch', async () => {
  await expectOneQuestion(scene, await work('secret-file'), /\.env/)
  expect(user(scene.root, 'log', '--all', '--format=%H', '--', '.env')).toBe('')
  await scene.expectUnharmed()
})

test('odd file names land as they are', async () => {
  const goal = await work('odd-names')
  expectDone(goal)
  const odd = filesAt(scene.root, goal.branch).filter((path) => path.startsWith('odd/'))
  expect(odd).toHaveLength(13)
  expect(odd).toEqual(
    expect.arrayContaining(['odd/new\nline', 'odd/quo"te', 'odd/[brackets]', 'odd/übung-日本', 'odd/-rf']),
  )
  await scene.expectUnharmed()
})

test.runIf(isLongForm)(
  'a check that passes because the agent changed it outside its paths is one question',
  async () => {
    await expectOneQuestion(
      scene,
      await work('weakens', { allowedPaths: ['src/**'], commands: ['npm test'] }),
      /package\.json/,
    )
    await scene.expectUnharmed()
  },
)

test('a process of an own session that ignores SIGTERM is ended, and nothing of it is in the commit', async () => {
  const goal = await work('grandchild')
  expectDone(goal)
  const run = (await scene.events('run.started'))[0]?.runId ?? ''
  const late = join(scene.stateDir, 'runs', run, 'workspace', 'src', 'late.txt')
  const tree = filesAt(scene.root, goal.branch)
  if (existsSync(late)) {
    writeFileSync(late, 'as it was left')
    await scene.expectUnharmed()
    expect(readFileSync(late, 'utf8')).toBe('as it was left')
  }
  expect(tree).toContain('src/work.txt')
  await scene.expectUnharmed()
})

test.runIf(isLongForm)(
  'an agent that kills its shim again and again is ended each time and becomes one question',
  async () => {
    await expectOneQuestion(scene, await work('kills-shim'), /interrupted 4 times: /)
    await scene.expectUnharmed()
  },
)

test.runIf(isLongForm)('an agent that stops its shim holds nothing up', async () => {
  expectDone(await work('stops-shim'))
  await scene.expectUnharmed()
})

test("a configuration that an agent writes into its clone is the owner's business: one question, nothing widened", async () => {
  await expectOneQuestion(scene, await work('config'), /outside the task's rules: .*\.unstuck\/config\.json/)
  await scene.expectUnharmed()
})

test('a commit with our trailer that code of an agent put on the goal branch at the last moment is not taken for its merged work', async () => {
  const forge = `node ${fixture('forged.mjs')} ${scene.root}`
  const goal = await work('honest', { commands: ['node check.mjs', forge] })
  expectDone(goal)
  expect(filesAt(scene.root, goal.branch)).not.toContain('evil.txt')
  expect(user(scene.root, 'log', '-1', '--format=%P', goal.branch)).toBe(goal.baseCommit)
  await scene.expectUnharmed()
})
