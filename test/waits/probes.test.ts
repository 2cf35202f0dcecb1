/**
 * Whose fault a failed check is, through the whole engine: a port that another program has is the machine's trouble, a package
 * that nothing declares is the work's, and an assertion stays one whatever the machine lacks. Packages that somebody left
 * half-written are fixed before they are used again.
 */
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sentenceOf } from '../../src/runtime/people/event-sentences.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

let server: Server
let registry: Server | undefined
let registryPort: number
let scene: Scene
const goals = new Map<string, string>()

const agent = (program: string) => ({ driver: 'claude' as const, program: `begin(); ${program}; end()` })
/** What a killed install leaves: npm resolves the package no more. */
const tear = `(writeFileSync('node_modules/dep/package.json', ''), writeFileSync('node_modules/dep/index.js', 'throw 1'))`
const checks = {
  port: 'node serve.js',
  undeclared: 'node use.js',
  asserted: 'node --test judge.test.js',
  offline: 'node fetch.js',
  torn: 'node with-dep.js',
  orphaned: 'node with-dep.js',
}

const lock = JSON.stringify({ lockfileVersion: 3, packages: { 'node_modules/dep': { version: '1.0.0' } } })

const files = (port: number, registry: number): Record<string, string> => ({
  '.npmrc': `registry=http://127.0.0.1:${registry}/\n`,
  'fetch.js': `require('node:net').connect(${registry}, '127.0.0.1', () => process.exit(0)).on('error', () => {
    console.error('npm error code ECONNRESET\\nnpm error network request to http://127.0.0.1:${registry}/x failed, reason: read ECONNRESET')
    process.exit(1)
  })`,
  'package.json': '{}',
  'package-lock.json': lock,
  '.gitignore': 'node_modules\n',
  'node_modules/.package-lock.json': lock,
  'node_modules/dep/package.json': '{"name":"dep","version":"1.0.0"}',
  'node_modules/dep/index.js': '',
  'with-dep.js': "require('dep')",
  'serve.js': `require('node:net').createServer().listen(${port}, '127.0.0.1', () => process.exit(0))`,
  'judge.test.js': `require('node:test').test('serves', () => require('node:assert').equal('listen EADDRINUSE: address already in use 127.0.0.1:${port}', 'ready'))`,
})

const listening = async (port: number): Promise<Server> => {
  const made = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
  await once(made, 'listening')
  return made
}
const portOf = (of: Server): number => (of.address() as { port: number }).port

beforeAll(async () => {
  server = await listening(0)
  // Away until a test brings it back.
  const away = await listening(0)
  registryPort = portOf(away)
  away.close()
  const port = portOf(server)
  const agents = {
    port: agent("put('made.txt', 'made')"),
    undeclared: agent(`put('use.js', "require('left-pad')")`),
    asserted: agent("put('made.txt', 'made')"),
    torn: agent(`count('TOP/torn') === 1 ? ${tear} : put('made.txt', 'made')`),
    orphaned: {
      driver: 'claude' as const,
      program: `begin(); put('made.txt', 'made'); ${tear}; put('TOP/orphaned', '')
        const timer = setInterval(() => { if (existsSync('TOP/go')) { clearInterval(timer); end() } }, 50)`,
    },
    offline: agent("put('made.txt', existsSync('made.txt') ? 'gone on' : 'begun')"),
  }
  scene = await openScene(
    agents,
    { maxParallel: 2, retry: { transientBaseSeconds: 1, transientMaxSeconds: 1 } },
    { files: files(port, registryPort) },
  )
  for (const [harness, command] of Object.entries(checks))
    goals.set(harness, await scene.goal([{ harness, commands: [command] }]))
})
afterAll(async () => {
  await scene.clear()
  server.close()
  registry?.close()
})

const launchesOf = async (goal: string): Promise<number> =>
  (await scene.runs(goal)).reduce((sum, { launches }) => sum + launches.length, 0)

const ended = async (name: string) => {
  const goal = goals.get(name) as string
  await scene.until(goal, 'ready', 'awaiting_human')
  const run = (await scene.runs(goal)).at(-1)
  const question = (await scene.questions()).find(({ goalId }) => goalId === goal)
  const found = (await scene.events(goal, 'verify.probed')).flatMap(({ payload }) => payload['found'])
  return { goal, run, question, found }
}

test('a port that another program has: named with its process, in question, event and story', async () => {
  const { goal, question, found, run } = await ended('port')
  const words = new RegExp(`port \\d+ is in use by \\S+ \\(pid ${process.pid}, not started by Unstuck\\)`)
  // The check ran again after each of three waits; the agent was called once.
  const finding = { probe: 'port', points: 'environment', text: expect.stringMatching(words) }
  expect(found).toEqual([finding, finding, finding, finding])
  expect(await launchesOf(goal)).toBe(1)
  expect(question).toMatchObject({
    question: expect.stringMatching(/is held up by this machine: port \d+ is in use by/),
  })
  expect(run?.errorMeta).toMatchObject({ failureCode: 'environment_issue', evidence: expect.stringMatching(words) })
  const [event] = await scene.events(goal, 'verify.probed')
  expect(event && sentenceOf(event)).toMatch(
    /^probes after node serve\.js: port: port \d+ is in use by .*\(at fault: the environment\)$/,
  )
})

test('a package that nothing declares: the work is at fault, and no install would help', async () => {
  const { run, question, found } = await ended('undeclared')
  expect(found[0]).toMatchObject({
    probe: 'packages',
    points: 'work',
    text: expect.stringContaining('declares left-pad'),
  })
  expect(run?.errorMeta?.failureCode).toBe('verification_command_failed')
  expect(question?.question).toContain('the check `node use.js` fails: ')
})

test('an assertion that speaks of the very port stays a failed test', async () => {
  const { run, question, found } = await ended('asserted')
  expect(found).toEqual([])
  expect(run?.errorMeta?.failureCode).toBe('test_failure')
  expect(question?.question).not.toContain('this machine')
})

test('a registry that is out of reach: a wait, and the work goes on when the registry is back', async () => {
  const goal = goals.get('offline') as string
  await scene.waitFor('the wait', async () => (await scene.recoveries(goal)).at(0))
  registry = await listening(registryPort)
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await scene.task(goal)).toMatchObject({ status: 'done' })
  expect(await scene.recoveries(goal)).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        ...{ playbook: 'transient-backoff', label: 'network_unreachable', status: 'success', counted: false },
        postCondition: { type: 'remaining_checks_pass' },
      }),
    ]),
  )
  // The checks ran on the work that was there.
  expect(scene.show('made.txt', goal)).toBe('begun')
  expect(await launchesOf(goal)).toBe(1)
})

const mended = async (goal: string) =>
  (await scene.events(goal, 'run.dependencies_mended')).map(({ payload }) => payload)

test('packages that an agent left damaged are laid again before its next launch, and what it wrote there is kept', async () => {
  const { goal, run } = await ended('torn')
  expect(await scene.task(goal)).toMatchObject({ status: 'done' })
  expect(await mended(goal)).toEqual([{ damage: ['node_modules: dep has no package.json'], laid: true }])
  const aside = join(scene.top, 'home')
  const kept = readdirSync(aside, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith(`${run?.id ?? ''}/dependencies-aside/1/dep/index.js`),
  )
  expect(kept.map((path) => readFileSync(join(aside, path), 'utf8'))).toEqual(['throw 1'])
})

// The last one, because it ends the engine.
test('packages that are damaged when an engine takes a run up again reach no check of it', async () => {
  const goal = goals.get('orphaned') as string
  await scene.waitFor('the damage', async () => existsSync(join(scene.top, 'orphaned')) || undefined)
  await scene.restart()
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await scene.task(goal)).toMatchObject({ status: 'done' })
  // It fails with the packages of the agent's workspace: it ran with others, in the one run that there was.
  expect(await scene.runs(goal)).toMatchObject([
    { verdict: { outcome: 'verified', checks: [{ command: checks.orphaned, exitCode: 0 }] } },
  ])
  expect(await mended(goal)).toEqual([])
})
