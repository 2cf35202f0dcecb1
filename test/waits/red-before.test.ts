/**
 * Tests that were red before the work and stay red, through the whole engine on a real repository: they are named and told
 * to the agent once, and nothing that leaves them red lands by itself, unless the owner accepted them.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPaint, goalLines, reportLines } from '../../src/cli/render.ts'
import type { ReportView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene, type SceneOptions } from '../recovery/scene.ts'

const suite = (path: string): string => `
const { test } = require('node:test')
const assert = require('node:assert')
const { parse } = require('${path}')
test('parses flat text', () => assert.equal(parse('a'), 'a'))
test('parses nested text', () => assert.equal(parse('(a)'), 'a'))
`
const suiteCommand = 'node --test src/parser.test.js'
const files = {
  'package.json': '{"scripts":{"test":"node --test src"}}',
  'src/parser.js': 'exports.parse = (text) => text',
  'src/parser.test.js': suite('./parser.js'),
  'red/red.test.js': "require('node:test').test('never holds', () => { throw new Error('no') })",
  '.unstuck/verify.contract.json': JSON.stringify({
    commands: [suiteCommand],
    rules: [{ whenChangedAny: ['all-red.txt'], commands: ['node --test red/red.test.js'] }],
  }),
}

const told = `const told = args.some((text) => text.includes('failed before'));`
const starts = (name: string): string => `${told} put('TOP/${name}.' + count('TOP/${name}.starts'), args.join(' '));`

const agents: Record<string, FaultAgent> = {
  noter: { driver: 'claude', program: `${starts('noter')} begin(); put('notes/parser.txt', 'Fixed.'); end()` },
  mender: {
    driver: 'claude',
    program: `${starts('mender')} begin(); put('src/other.js', '1')
      if (told) put('src/parser.js', "exports.parse = (text) => text.replace(/^\\\\((.*)\\\\)$/, '$1')"); end()`,
  },
  idle: { driver: 'claude', program: `begin(); put('unrelated.js', '1'); end()` },
  allRed: { driver: 'claude', program: `begin(); put('all-red.txt', '1'); end()` },
}

const merging = { autoMerge: true }
const red = 'parses nested text'

let scene: Scene
let accepting: Scene
beforeAll(async () => {
  const options: SceneOptions = { files }
  scene = await openScene(agents, { maxParallel: 3 }, options)
  accepting = await openScene(agents, { verify: { knownFailures: ['parses nested*'] } }, options)
})
afterAll(async () => {
  await scene.clear()
  await accepting.clear()
})

const git = ({ root }: Scene, ...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const startsOf = ({ top }: Scene, name: string): number => Number(readFileSync(join(top, `${name}.starts`), 'utf8'))
const shown = async (from: Scene, id: string): Promise<string> =>
  goalLines(createPaint(false), await from.get(`/goals/${id}`), new Date().toISOString()).join('\n')

describe('an agent that was to fix the failing test and wrote a note', () => {
  let goal: string
  beforeAll(async () => {
    goal = await scene.goal(
      [{ harness: 'noter', commands: [], instructions: 'Fix the failing test in src/parser' }],
      merging,
    )
    await scene.until(goal, 'ready', 'done', 'awaiting_human')
  })

  test('is told once, in its session, which tests failed before and still do', async () => {
    expect(startsOf(scene, 'noter')).toBe(2)
    const second = readFileSync(join(scene.top, 'noter.2'), 'utf8')
    expect(second).toContain('--resume')
    expect(second).toContain(red)
    expect(second).not.toContain('parses flat text')
    expect(await scene.recoveries(goal)).toMatchObject([
      {
        playbook: 'red-before',
        label: 'red_before',
        status: 'failed',
        attempt: 1,
        detail: expect.stringContaining(red),
      },
    ])
  })

  test('leaves a goal that is ready and does not land by itself', async () => {
    expect((await scene.until(goal, 'ready', 'done')).state).toBe('ready')
    expect((await scene.events(goal, 'goal.done')).length).toBe(0)
    expect(git(scene, 'rev-list', '--count', 'main')).toBe('1')
    expect((await scene.questions()).filter(({ goalId }) => goalId === goal)).toEqual([])
  })

  test('is named everywhere: verdict, commit, last lines, events and report', async () => {
    const [run] = await scene.runs(goal)
    expect(run?.verdict).toMatchObject({
      outcome: 'verified',
      checks: [
        { command: suiteCommand, source: 'contract', excused: { because: 'fails on the base commit', failing: [red] } },
      ],
    })
    const message = git(scene, 'log', '-1', '--format=%B', `unstuck/goal/${goal}`)
    expect(message).toContain('Still failing, as before the work:')
    expect(message).toContain(red)
    expect(await shown(scene, goal)).toContain(`still failing, as before the work: ${suiteCommand} (${red})`)
    // It is ready a moment before the engine looks whether it may land.
    await scene.waitFor('the reason', async () =>
      (await shown(scene, goal)).includes('does not land by itself') ? true : undefined,
    )
    const report = await scene.get<ReportView>(`/report?since=${encodeURIComponent(new Date(0).toISOString())}`)
    expect(reportLines(createPaint(false), report).join('\n')).toContain(`${suiteCommand} (${red})`)
  })

  test('is done when a person merges it, and the event says what was accepted by that', async () => {
    git(scene, 'merge', '--ff-only', `unstuck/goal/${goal}`)
    await scene.until(goal, 'done')
    const [event] = await scene.events(goal, 'goal.done')
    expect(event?.payload['reason']).toContain(`accepted by landing it: ${suiteCommand} (${red})`)
    expect(await shown(scene, goal)).toContain(`still failing, as before the work: ${suiteCommand} (${red})`)
  })
})

test('an agent that mends them when told: the goal lands by itself', async () => {
  const goal = await scene.goal([{ harness: 'mender', commands: [] }], merging)
  const ended = await scene.until(goal, 'done', 'awaiting_human')
  expect(ended.state).toBe('done')
  expect(git(scene, 'rev-parse', 'main')).toBe(ended.headCommit)
  expect(startsOf(scene, 'mender')).toBe(2)
  expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'red-before', status: 'success' }])
  const [run] = await scene.runs(goal)
  expect(run?.verdict?.checks).toMatchObject([{ exitCode: 0 }])
  expect(await shown(scene, goal)).not.toContain('still failing')
})

test('tests that the owner accepted: nothing is told, the goal lands by itself, and they are named', async () => {
  const goal = await accepting.goal([{ harness: 'noter', commands: [] }], merging)
  const ended = await accepting.until(goal, 'done', 'awaiting_human')
  expect(startsOf(accepting, 'noter')).toBe(1)
  expect(await accepting.recoveries(goal)).toEqual([])
  expect(git(accepting, 'rev-parse', 'main')).toBe(ended.headCommit)
  expect(await shown(accepting, goal)).toContain(`still failing, as before the work: ${suiteCommand} (${red})`)
  const [event] = await accepting.events(goal, 'goal.done')
  expect(event?.payload['reason']).toContain('verify.knownFailures')
})

describe('is a failure like any other', () => {
  test('a check that the task names, whatever it does on the base commit', async () => {
    const commands = ['test -f src/required.js', 'true']
    const goal = await scene.goal([{ harness: 'idle', commands }], merging)
    await scene.until(goal, 'ready', 'done', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('blocked(awaiting_human)')
    expect((await scene.events(goal, 'verify.baseline')).map(({ payload }) => payload['blocks'])).toContain(true)
    expect((await scene.runs(goal)).at(-1)).toMatchObject({ state: 'failed', commit: null })
  })
  test('a suite of which no test passes', async () => {
    const goal = await scene.goal([{ harness: 'allRed', commands: [] }], merging)
    await scene.until(goal, 'ready', 'done', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('blocked(awaiting_human)')
    expect((await scene.runs(goal)).at(-1)?.errorMeta?.failedCommand).toBe('node --test red/red.test.js')
  })
})
