/** The command line as a follower, over the death and return of its engine: what it printed is the table, line by line. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView, LoginUrl, EventView } from '../../src/api/contract.ts'
import { livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { fixture, until } from '../hostile/scene.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { makeRepository, put, temporaryFolder } from '../workspace/scene.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))
const top = temporaryFolder()
const root = join(top, 'project')
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: join(top, 'home'),
  UNSTUCK_HOME: join(top, 'state'),
  XDG_CACHE_HOME: fileURLToPath(new URL('../../node_modules/.cache', import.meta.url)),
}
let stateDir = ''

const start = (...args: string[]) =>
  execa(process.execPath, [entry, ...args], { cwd: root, env: environment, extendEnv: false, reject: false })

const eventsIn = (text: string): EventView[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as EventView)

const table = async (): Promise<EventView[]> => eventsIn(`${(await start('events', '--json')).stdout}\n`)

const identity = (): ProcessIdentity | undefined => {
  try {
    return (JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { identity: ProcessIdentity }).identity
  } catch {
    return undefined // no engine yet
  }
}

beforeAll(async () => {
  mkdirSync(environment.HOME)
  makeRepository(root, {
    'check.mjs':
      "import { readFileSync } from 'node:fs'\nif (!readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n",
    'src/work.txt': 'open\n',
    '.gitignore': '.unstuck/\n',
  })
  const command = [process.execPath, fixture('honest.mjs')]
  const config = { harness: { default: 'honest', honest: { command } }, verify: { commands: ['node check.mjs'] } }
  put(root, { '.unstuck/config.json': JSON.stringify(config) })
  stateDir = stateDirOf(environment, (await openRepository(root)).id)
  prepareEngineHome(environment.UNSTUCK_HOME)
})
afterAll(async () => {
  await start('stop')
  await removeFolder(top)
})

test('a kill and restart of the engine loses and doubles no event', async () => {
  const up = start('up')
  let printed = ''
  up.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  await until(async () => (printed.includes('/#login=') ? true : undefined), 'the engine')
  const followers = [start('events', '-f', '--json'), start('events', '-f', '--json')]
  const shown = followers.map(() => '')
  for (const [index, follower] of followers.entries())
    follower.stdout.on('data', (chunk: Buffer) => (shown[index] += chunk.toString()))
  const runs: string[] = []
  for (const title of ['write the note', 'write it again']) {
    const run = await start('run', title, '--json')
    expect([run.exitCode, run.stderr]).toEqual([0, ''])
    runs.push(run.stdout)
    const engine = identity()
    if (engine === undefined) throw new Error('the engine has no address')
    process.kill(engine.pid, 'SIGKILL')
    await until(async () => {
      const now = identity()
      return now !== undefined && now.pid !== engine.pid && livenessOf(now) === 'alive' ? true : undefined
    }, 'the next engine')
  }
  const all = await table()
  expect(all.filter(({ type }) => type === 'engine.started')).toHaveLength(3)
  for (const text of runs) {
    const lines = text.split('\n').map((line) => JSON.parse(line) as EventView & { goal?: GoalView })
    const { goal } = lines.at(-1) ?? {}
    expect(goal?.state).toBe('ready')
    expect(lines.slice(0, -1)).toEqual(all.filter(({ goalId }) => goalId === goal?.id))
  }
  for (const index of followers.keys()) {
    await until(async () => (eventsIn(shown[index] ?? '').length >= all.length ? true : undefined), 'the follower')
    expect(eventsIn(shown[index] ?? '')).toEqual(all)
  }
  // A stop is no crash: the followers see it, wait, and bring no engine back.
  await start('stop')
  for (const index of followers.keys())
    await until(
      async () => (eventsIn(shown[index] ?? '').at(-1)?.type === 'engine.stopped' ? true : undefined),
      'the stop',
    )
  expect(identity()).toBeUndefined()
  for (const follower of followers) follower.kill('SIGINT')
  for (const follower of followers) expect((await follower).exitCode).toBe(130)
  await up
})

test('login-url gives a new login at any time, from an engine that it starts', async () => {
  const first = JSON.parse((await start('login-url', '--json')).stdout) as LoginUrl
  const second = (await start('login-url')).stdout
  expect(second).not.toBe(first.url)
  const logIn = async (url: string): Promise<number> => {
    const { origin, hash } = new URL(url)
    const body = JSON.stringify({ code: hash.replace('#login=', '') })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${origin}/sessions`, { method: 'POST', headers, body })).status
  }
  expect([await logIn(first.url), await logIn(second), await logIn(second)]).toEqual([200, 200, 401])
})
