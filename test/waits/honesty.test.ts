/**
 * What a failing or empty check is worth, through the whole engine on a real repository: what failed before is listed, what
 * is new blocks, and no way leads from a failed assertion to green.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const testFile = (...tests: [name: string, holds: boolean][]): string =>
  [
    "const { test } = require('node:test')\nconst assert = require('node:assert')",
    ...tests.map(([name, holds]) => `test('${name}', () => assert.equal(${holds ? 1 : 2}, 1))`),
  ].join('\n')

const files = {
  'package.json': '{"scripts":{"unit":"node --test solid.test.js"}}',
  '.unstuck/verify.contract.json': JSON.stringify({
    rules: [{ whenChangedAny: ['known.txt'], commands: ['node --test known.test.js'] }],
  }),
  'known.test.js': testFile(['was broken before', false], ['works', true]),
  'solid.test.js': testFile(['adds', true], ['subtracts', true]),
  // Fails once and never again; what it counts stands outside of the workspace.
  'flaky.js': `const fs = require('node:fs')
if (!fs.existsSync('TOP/flaked')) { fs.writeFileSync('TOP/flaked', ''); console.log('not ok 1 - sometimes'); process.exit(1) }
console.log('ok 1 - sometimes')`,
  // Fails once: when it first finds another text in the file.
  'elsewhere.js': `const fs = require('node:fs')
const { argv: [, , path, text] } = process
const isWork = fs.existsSync(path) && fs.readFileSync(path, 'utf8').endsWith(text)
if (!isWork && !fs.existsSync('TOP/failed-' + path)) { fs.writeFileSync('TOP/failed-' + path, ''); console.log('not ok 1 - sometimes'); process.exit(1) }
console.log('ok 1 - sometimes')`,
  // Its third run is that on the base commit, after two on the first work; there, and nowhere else, a test of it fails for no reason.
  'third.test.js': `const { test } = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const run = fs.existsSync('TOP/thirds') ? Number(fs.readFileSync('TOP/thirds', 'utf8')) + 1 : 1
fs.writeFileSync('TOP/thirds', String(run))
test('sometimes', () => assert.notEqual(run, 3))
test('is not bad', () => assert.ok(!fs.existsSync('third.dat') || fs.readFileSync('third.dat', 'utf8') !== 'bad'))`,
}

interface Case {
  name: string
  program: string
  commands: string[]
}

const writes = (path: string, text: string): string =>
  `put('made.txt', 'made'); put(${JSON.stringify(path)}, ${JSON.stringify(text)})`

const cases: Case[] = [
  { name: 'known', program: writes('known.txt', 'made'), commands: [] },
  { name: 'named', program: writes('made.txt', 'made'), commands: ['node --test known.test.js', 'node check.js'] },
  {
    name: 'hidden',
    program: writes('known.test.js', testFile(['was broken before', false], ['works', false])),
    commands: ['node --test known.test.js', 'node check.js'],
  },
  { name: 'flaky', program: writes('made.txt', 'made'), commands: ['node flaky.js'] },
  {
    name: 'third',
    program: `put('third.dat', count('TOP/third-starts') === 1 ? 'bad' : 'good')`,
    commands: ['node --test third.test.js'],
  },
  { name: 'vouched', program: writes('made.js', 'exports.made = 1'), commands: ['node elsewhere.js made.js 1'] },
  {
    name: 'broken',
    program: writes('solid.test.js', testFile(['adds', false], ['subtracts', true])),
    commands: ['node --test solid.test.js', 'node check.js'],
  },
  {
    name: 'empty',
    program: writes('made.txt', 'made'),
    commands: ['node --test --test-name-pattern=nowhere solid.test.js'],
  },
  {
    name: 'empty-beside',
    program: writes('made.txt', 'made'),
    commands: ['node --test --test-name-pattern=nowhere solid.test.js', 'node check.js'],
  },
  {
    name: 'emptied',
    program: writes('solid.test.js', testFile(['subtracts', true])),
    commands: ['node --test --test-name-pattern=adds solid.test.js', 'node check.js'],
  },
  {
    name: 'unscripted',
    program: writes('package.json', '{"scripts":{}}'),
    commands: ['npm run unit', 'node check.js'],
  },
  // The check that cannot be run is dropped, the one that fails is not.
  {
    name: 'piped',
    program: writes('solid.test.js', testFile(['adds', false], ['subtracts', true])),
    commands: ['node --test solid.test.js | cat', 'node --test solid.test.js'],
  },
  // Of a chain the element that cannot run is dropped; the test behind it still has to pass.
  {
    name: 'chained',
    program: writes('solid.test.js', testFile(['adds', false], ['subtracts', true])),
    commands: ['npm run none && node --test solid.test.js', 'node check.js'],
  },
  { name: 'chained-well', program: writes('made.txt', 'made'), commands: ['npm run none && node check.js'] },
  { name: 'no-file', program: writes('made.txt', 'made'), commands: ['node scripts/none.js', 'node check.js'] },
  { name: 'piped-alone', program: writes('made.txt', 'made'), commands: ['node check.js | cat'] },
  {
    name: 'weaker',
    program: writes('solid.test.js', testFile(['adds', true]).replace('assert.equal(1, 1)', 'assert.ok(1)')),
    commands: ['node --test solid.test.js'],
  },
  // Both on the base commit and now the file that it looks for is not there.
  { name: 'undone', program: `put('other.txt', 'made')`, commands: ['node check.js'] },
]

let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

beforeAll(async () => {
  const agents = Object.fromEntries(
    cases.map(({ name, program }): [string, FaultAgent] => [
      name,
      { driver: 'claude', program: `begin(); ${program}; end()` },
    ]),
  )
  scene = await openScene(agents, { maxParallel: 3 }, { files })
  for (const { name, commands } of cases) goals.set(name, await scene.goal([{ harness: name, commands }]))
})
afterAll(async () => scene.clear())

const verdictOf = async (name: string) => (await scene.runs(goalOf(name))).at(-1)?.verdict
const baselines = async (name: string) =>
  (await scene.events(goalOf(name), 'verify.baseline')).map(({ payload }) => [payload['blocks'], payload['failing']])

/** Told in its session and then to a new one, and neither mended it. */
const told = [
  { playbook: 'check-feedback', status: 'failed' },
  { playbook: 'fresh-feedback', status: 'failed' },
]

const messageOf = (name: string): string =>
  execFileSync('git', ['log', '-1', '--format=%B', `unstuck/goal/${goalOf(name)}`], {
    cwd: scene.root,
    encoding: 'utf8',
  })

const isDone = async (name: string): Promise<void> => {
  await scene.until(goalOf(name), 'ready', 'awaiting_human')
  expect(await scene.task(goalOf(name))).toMatchObject({ status: 'done' })
}
const isAsked = async (name: string): Promise<string> => {
  await scene.until(goalOf(name), 'ready', 'awaiting_human')
  expect(await scene.task(goalOf(name))).toMatchObject({ status: 'blocked(awaiting_human)' })
  const run = (await scene.runs(goalOf(name))).at(-1)
  expect(run?.state).toBe('failed')
  return run?.errorMeta?.evidence ?? ''
}

describe('does not block and is listed', () => {
  test('a test that failed on the base commit as well', async () => {
    await isDone('known')
    expect(await verdictOf('known')).toMatchObject({
      outcome: 'verified',
      checks: [
        {
          exitCode: 1,
          excused: { because: 'fails on the base commit', failing: ['was broken before'], proves: true },
        },
      ],
    })
    expect(await baselines('known')).toEqual([[false, ['was broken before']]])
    expect(messageOf('known')).toContain('- node --test known.test.js (was broken before)')
  })
  test('a check that passes when it is run again', async () => {
    await isDone('flaky')
    expect(await verdictOf('flaky')).toMatchObject({ checks: [{ exitCode: 1, excused: { because: 'flaky' } }] })
    const events = await scene.events(goalOf('flaky'), 'verify.flaky')
    expect(events.map(({ payload }) => [payload['failing'], payload['blocks']])).toEqual([[['sometimes'], false]])
  })
  test('a check that fails at random where the work is broken on purpose, which proves nothing', async () => {
    await isDone('vouched')
    expect((await verdictOf('vouched'))?.proof).toMatchObject({ kind: 'unnoticed', files: ['made.js'] })
  })
  test('a check that failed at random on the base commit, which proves nothing', async () => {
    await isDone('third')
    expect(readFileSync(join(scene.top, 'third-starts'), 'utf8')).toBe('2')
    expect((await verdictOf('third'))?.proof).toMatchObject({ kind: 'unnoticed', files: ['third.dat'] })
  })
  test('a runner that finds no test now or before, where another check passes', async () => {
    await isDone('empty-beside')
    expect(await verdictOf('empty-beside')).toMatchObject({
      outcome: 'verified',
      checks: [{ command: 'node check.js', exitCode: 0 }],
      dropped: [{ reason: expect.stringContaining('ran no test') }],
    })
    expect(await scene.recoveries(goalOf('empty-beside'))).toMatchObject([
      { playbook: 'no-tests-drop', status: 'success' },
    ])
  })
})

test('of a chain only the element that cannot run is dropped', async () => {
  await isDone('chained-well')
  expect(await verdictOf('chained-well')).toMatchObject({
    outcome: 'verified',
    checks: [{ command: 'node check.js', exitCode: 0 }],
    dropped: [{ command: 'npm run none && node check.js', by: 'node check.js' }],
  })
  expect(await isAsked('chained')).toContain('node --test solid.test.js')
})

test('a file that is not there cannot run, which is no failure that was there before', async () => {
  expect(await isAsked('no-file')).toMatch(/^cannot run here: node scripts\/none\.js/)
  const checks = (await verdictOf('no-file'))?.checks ?? []
  expect(checks.map(({ exitCode, excused }) => [exitCode, excused])).toEqual([[1, undefined]])
})

test('tests that the work weakened are told to the agent, shown to the judge, and in the commit that a person approves', async () => {
  await scene.until(goalOf('weaker'), 'ready', 'awaiting_human')
  expect(await scene.recoveries(goalOf('weaker'))).toMatchObject([{ playbook: 'weakened-feedback', status: 'failed' }])
  const weakened = [
    'test removed: solid.test.js (1): subtracts',
    'assertion removed: solid.test.js (1)',
    'assertion loosened: solid.test.js (1)',
  ]
  expect((await verdictOf('weaker'))?.weakened).toHaveLength(3)
  const [review] = await scene.events(goalOf('weaker'), 'judge.review')
  expect(review?.payload).toMatchObject({ verdict: 'ask_person', weakened })
  expect((await scene.events(goalOf('weaker'), 'verify.weakened')).map(({ payload }) => payload)).toEqual([
    { weakened },
    { weakened },
  ])
  const { id } = await scene.task(goalOf('weaker'))
  await scene.post(`/tasks/${id}/approve`)
  await scene.until(goalOf('weaker'), 'ready')
  for (const line of weakened) expect(messageOf('weaker')).toContain(`- ${line}`)
})

describe('never becomes green', () => {
  test('a test that the work broke', async () => {
    expect(await isAsked('broken')).toContain('it passes on the base commit')
    expect((await baselines('broken'))[0]).toEqual([true, ['adds']])
    expect(await scene.recoveries(goalOf('broken'))).toMatchObject(told)
  })
  test('a new failure in a command that failed before', async () => {
    expect(await isAsked('hidden')).toContain('it fails on the base commit as well')
    expect((await baselines('hidden'))[0]).toEqual([true, ['was broken before', 'works']])
  })
  test('a runner that finds no test, with nothing beside it', async () => {
    expect(await isAsked('empty')).toMatch(/ran no test .* on the base commit either/)
  })
  test('a runner that finds no test any more', async () => {
    expect(await isAsked('emptied')).toContain('but it ran tests on the base commit')
    expect(await scene.recoveries(goalOf('emptied'))).toMatchObject(told)
  })
  test('a failed assertion, when the check beside it is dropped', async () => {
    expect(await isAsked('piped')).toContain('node --test solid.test.js: exit 1')
    expect(await verdictOf('piped')).toMatchObject({ outcome: 'not verified', dropped: [{}] })
    expect(await scene.recoveries(goalOf('piped'))).toMatchObject([
      { playbook: 'unsupported-format-drop', status: 'failed' },
      ...told,
    ])
  })
  test('work whose only check cannot be run', async () => {
    expect(await isAsked('piped-alone')).toContain('pipes')
    expect(await scene.recoveries(goalOf('piped-alone'))).toMatchObject([{ playbook: 'command-fix', status: 'failed' }])
  })
  test('a check whose script the work took away', async () => {
    expect(await isAsked('unscripted')).toContain('no script "unit" any more; the base commit has it')
    expect(await scene.recoveries(goalOf('unscripted'))).toMatchObject(told)
    expect((await verdictOf('unscripted'))?.weakened).toMatchObject([
      { kind: 'check redefined', detail: 'unit: node --test solid.test.js -> removed' },
    ])
  })
  test('a check that the task names, though others beside it pass', async () => {
    expect(await isAsked('named')).toContain('the task names it, so it must pass')
    expect((await baselines('named'))[0]).toEqual([true, ['was broken before']])
  })
  test('work of which every check only fails as before', async () => {
    await isAsked('undone')
    expect((await baselines('undone'))[0]).toMatchObject([true, expect.anything()])
  })
})

test('a base commit is asked once for each command, and leaves no workspace', async () => {
  for (const { name } of cases) await scene.until(goalOf(name), 'ready', 'awaiting_human')
  const home = join(scene.top, 'home')
  const state = join(home, readdirSync(home).find((name) => existsSync(join(home, name, 'runs'))) ?? '')
  // The same command of two goals is one of them; what passes when it is run again asks nothing. Two more are of work whose deleted
  // tests were put back, and of a check that fails at random there.
  const kept = readdirSync(join(state, 'baselines')).map((name) => readFileSync(join(state, 'baselines', name), 'utf8'))
  expect(kept.filter((text) => !text.includes('"result"'))).toHaveLength(7)
  for (const run of readdirSync(join(state, 'runs')))
    expect(existsSync(join(state, 'runs', run, 'base', 'workspace'))).toBe(false)
})
