/** `unstuck up --all`: one process for several repositories, two of which are broken, and which is killed in the middle of work. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Goal, Run } from '../../src/api/contract.ts'
import { openRunTokens } from '../../src/api/run-token.ts'
import { hostNameOf } from '../../src/api/shared-router.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { exitCodes } from '../../src/errors.ts'
import { repositoryId } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { isLongForm } from '../support/form.ts'

// Three engines' work and two starts of a process: on a loaded machine more than the limits of this suite.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let top = ''
let environment: Record<string, string | undefined> = {}
let up: ChildProcess | undefined

const rootOf = (name: string): string => join(top, name)
const idOf = (name: string): string => repositoryId({ root: rootOf(name), commonDir: join(rootOf(name), '.git') })
const stateOf = (name: string): string => stateDirOf(environment, idOf(name))
const cli = (name: string, ...args: string[]): Promise<Ended> =>
  runHere(args, { cwd: rootOf(name), environment: { ...environment } })

const git = (name: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
    ...{ cwd: rootOf(name), encoding: 'utf8' as const, env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } },
  }).trim()

/** It copies what the repository says its name is, once the test lets it. */
const agent = (wait: string) => ({
  harness: {
    default: 'mine',
    mine: { command: ['sh', '-c', `until [ -e ${wait} ]; do sleep 0.1; done; cp name.txt made-$$.txt`] },
  },
})

const configOf = (name: string): string => join(rootOf(name), '.unstuck', 'config.json')

const make = (name: string): void => {
  mkdirSync(join(rootOf(name), '.unstuck'), { recursive: true })
  writeFileSync(configOf(name), JSON.stringify(agent(join(top, 'go'))))
  writeFileSync(join(rootOf(name), 'name.txt'), name)
  git(name, 'init', '-q')
  git(name, 'add', '-A')
  git(name, 'commit', '-qm', 'Begin')
}

const until = async <T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> => {
  for (const deadline = performance.now() + 400_000; performance.now() < deadline; await delay(100)) {
    const found = await look()
    if (found !== undefined && found !== false) return found
  }
  throw new Error(`it did not happen: ${what}`)
}

interface Address {
  url: string
  socket?: string
  identity: { pid: number }
  shared?: boolean
}
const addressIn = (stateDir: string): Address | undefined =>
  existsSync(join(stateDir, 'engine.json'))
    ? (JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as Address)
    : undefined

const sharedDir = (): string => join(top, 'home', 'all-repositories')
const sharedPid = (): number | undefined => addressIn(sharedDir())?.identity.pid

/** Served by that process. */
const served = (name: string, pid = sharedPid()): Promise<Address> =>
  until(`${name} is served`, () => {
    const address = addressIn(stateOf(name))
    return address !== undefined && address.identity.pid === pid ? address : undefined
  })

const begin = async (name: string, title: string): Promise<string> => {
  const { stdout, stderr, exitCode } = await cli(name, 'run', title, '--detach', '--json')
  expect([exitCode, stderr]).toEqual([0, expect.anything()])
  return (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { id: string }).id
}

const get = async <T>(name: string, path: string): Promise<T> => {
  const { status, text } = await call(name, { path, host: hostNameOf(idOf(name)), token: ownerToken(name) })
  expect([path, status]).toEqual([path, 200])
  return JSON.parse(text) as T
}

const ownerToken = (name: string): string => readFileSync(join(stateOf(name), 'token'), 'utf8').trim()

interface Call {
  path: string
  host: string
  token: string
  headers?: Record<string, string>
}

/** Over TCP, as a browser or an agent asks. */
const call = (_name: string, { path, host, token, headers = {} }: Call): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(addressIn(sharedDir())?.url ?? '')
    const all = { host: `${host}:${port}`, authorization: `Bearer ${token}`, accept: 'application/json', ...headers }
    const sent = request({ hostname: '127.0.0.1', port, path, headers: all, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end()
  })

const startAll = async (): Promise<void> => {
  up = spawn(process.execPath, [entry, 'up', '--all'], {
    ...{ cwd: top, env: environment, stdio: ['ignore', 'pipe', 'inherit'] as const },
  })
  await once(up.stdout ?? process.stdout, 'data')
}

const endAll = async (): Promise<void> => {
  if (up === undefined || up.exitCode !== null) return
  const ended = once(up, 'exit')
  up.kill('SIGTERM')
  await ended
}

const good = ['alpha', 'beta', 'gamma']

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-all-')))
  const home = join(top, 'home')
  environment = { PATH: process.env['PATH'], HOME: top, UNSTUCK_HOME: home, GIT_CONFIG_GLOBAL: '/dev/null' }
  prepareEngineHome(home)
  for (const name of [...good, 'moved', 'broken']) make(name)
  await startAll()
  // Each joins the running engine with its first command.
  for (const name of ['alpha', 'beta', 'moved', 'broken']) {
    await cli(name, 'login-url')
    await served(name)
  }
  await endAll()
  renameSync(rootOf('moved'), rootOf('elsewhere'))
  writeFileSync(configOf('broken'), '{ "maxParallel": "many" }')
  await startAll()
})

afterAll(async () => {
  writeFileSync(join(top, 'go'), '')
  await endAll()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

interface Row {
  id: string
  engine: string | null
  problem: { code: string } | null
}
const rows = async (): Promise<Map<string, Row>> =>
  new Map((JSON.parse((await cli('alpha', 'repos', '--json')).stdout) as Row[]).map((row) => [row.id, row]))

test('serves each repository of the list under its own name, and says why it does not serve the others', async () => {
  const addresses = [await served('alpha'), await served('beta')]
  expect(new Set(addresses.map(({ identity }) => identity.pid)).size).toBe(1)
  expect(new Set(addresses.map(({ url }) => new URL(url).port)).size).toBe(1)
  expect(new Set(addresses.map(({ url }) => new URL(url).hostname)).size).toBe(2)
  const all = await rows()
  expect(all.get(idOf('alpha'))).toMatchObject({ engine: 'running', problem: null })
  expect(all.get(repositoryId({ root: rootOf('moved'), commonDir: join(rootOf('moved'), '.git') }))).toMatchObject({
    problem: { code: 'DIRECTORY_MISSING' },
  })
  expect(all.get(idOf('broken'))).toMatchObject({ problem: { code: 'CONFIG_INVALID' } })
  const again = await cli('alpha', 'up')
  expect([again.exitCode, again.stderr]).toEqual([exitCodes.conflict, expect.stringContaining('unstuck stop')])
})

test('works in several repositories over a crash, and mixes nothing up', async () => {
  const goals: [name: string, goal: string][] = []
  for (const name of good) for (const number of [1, 2]) goals.push([name, await begin(name, `Goal ${number}`)])
  await until('as many runs as there may be', async () => {
    const running = await Promise.all(good.map((name) => get<Run[]>(name, '/runs?state=running')))
    return running.flat().filter(({ phase }) => phase === 'supervise').length === 2
  })
  const pid = sharedPid() ?? 0
  process.kill(pid, 'SIGKILL')
  writeFileSync(join(top, 'go'), '')
  await until('another process', () => ![undefined, pid].includes(sharedPid()))
  for (const name of good) await served(name)
  await until('the end of all goals', async () => {
    const all = (await Promise.all(good.map((name) => get<Goal[]>(name, '/goals')))).flat()
    return all.every(({ state }) => ['ready', 'failed', 'awaiting_human', 'cancelled'].includes(state))
  })
  for (const name of good) {
    const here = await get<Goal[]>(name, '/goals')
    expect([name, here.map(({ id }) => id).toSorted()]).toEqual([
      name,
      goals.flatMap(([where, goal]) => (where === name ? [goal] : [])).toSorted(),
    ])
    for (const { id, state } of here) {
      const asked = await get<{ summary?: unknown }[]>(name, `/escalations?goal=${id}`)
      expect([name, id, state, asked]).toEqual([name, id, 'ready', []])
      const made = git(name, 'ls-tree', '--name-only', `unstuck/goal/${id}`)
        .split('\n')
        .filter((path) => path.startsWith('made-'))
      expect(made).toHaveLength(1)
      expect(git(name, 'show', `unstuck/goal/${id}:${made[0]}`)).toBe(name)
    }
    const runs = await get<Run[]>(name, '/runs')
    expect(runs.map(({ state }) => state)).toEqual(['success', 'success'])
  }
})

test('lets nothing of one repository into another', async () => {
  rmSync(join(top, 'go'), { force: true })
  await begin('alpha', 'Hold on')
  const run = await until('the run', async () => (await get<Run[]>('alpha', '/runs?state=running'))[0])
  const token = openRunTokens(stateOf('alpha')).issue(run)
  const [alpha, beta] = [hostNameOf(idOf('alpha')), hostNameOf(idOf('beta'))]
  const question = `/runs/${run.id}/question`
  const statusOf = async (given: Call): Promise<number> => (await call('', given)).status
  // There is no question yet, but the token is that of the run.
  expect(await statusOf({ path: question, host: alpha, token })).toBe(404)
  expect(await statusOf({ path: question, host: beta, token })).toBe(401)
  expect(await statusOf({ path: '/status', host: beta, token: ownerToken('alpha') })).toBe(401)
  expect(await statusOf({ path: '/repositories', host: '127.0.0.1', token: ownerToken('alpha') })).toBe(401)
  expect(await statusOf({ path: '/status', host: 'r-000000000000.localhost', token })).toBe(503)
  expect(await statusOf({ path: '/status', host: 'evil.example', token: ownerToken('beta') })).toBe(403)
  const origin = `http://${alpha}:${new URL(addressIn(sharedDir())?.url ?? '').port}`
  const fromPage = { path: '/status', host: beta, token: ownerToken('beta'), headers: { origin } }
  expect(await statusOf(fromPage)).toBe(403)
  writeFileSync(join(top, 'go'), '')
})

test('serves a repository again once what was wrong is put right, and one that was moved at its new place', async () => {
  writeFileSync(configOf('broken'), JSON.stringify(agent(join(top, 'go'))))
  await served('broken')
  const stateDir = stateOf('moved')
  expect((await cli('elsewhere', 'login-url')).exitCode).toBe(0)
  expect(addressIn(stateDir)?.identity.pid).toBe(sharedPid())
})

test.runIf(isLongForm)(
  'leaves one repository when it is stopped there, over a crash as well, and takes it back with its next command',
  async () => {
    expect((await cli('beta', 'stop')).exitCode).toBe(0)
    expect(addressIn(stateOf('beta'))).toBeUndefined()
    await served('alpha')
    const pid = sharedPid() ?? 0
    process.kill(pid, 'SIGKILL')
    await until('another process', () => ![undefined, pid].includes(sharedPid()))
    for (const name of ['alpha', 'gamma', 'broken']) await served(name)
    expect(addressIn(stateOf('beta'))).toBeUndefined()
    await cli('beta', 'login-url')
    await served('beta')
  },
)

test.runIf(isLongForm)(
  'shares the agents of the machine in turn, so that a long queue does not starve another repository',
  async () => {
    await endAll()
    environment['UNSTUCK_MAX_PARALLEL'] = '1'
    await startAll()
    for (const name of ['alpha', 'beta']) await served(name)
    rmSync(join(top, 'go'), { force: true })
    const goals: string[] = []
    for (const number of [1, 2, 3]) goals.push(await begin('alpha', `Turn ${number}`))
    for (const number of [1, 2]) goals.push(await begin('beta', `Turn ${number}`))
    await until('one of them says why it waits', async () => {
      const texts = await Promise.all(['alpha', 'beta'].map(async (name) => (await cli(name, 'status')).stdout))
      return texts.some((text) => text.includes('1 of 1 agents')) || undefined
    })
    writeFileSync(join(top, 'go'), '')
    const runs = await until('the end of all runs', async () => {
      const all = (
        await Promise.all(
          ['alpha', 'beta'].map(async (name) => (await get<Run[]>(name, '/runs')).map((run) => ({ ...run, name }))),
        )
      )
        .flat()
        .filter(({ goalId }) => goals.includes(goalId))
      return all.length === goals.length && all.every(({ endedAt }) => endedAt !== null) ? all : undefined
    })
    const inOrder = runs.toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
    const order = inOrder.map(({ name }) => name)
    // Whichever began, neither works twice while the other one waits.
    const whileBothWait = order.slice(0, order.lastIndexOf('beta') + 1)
    expect(whileBothWait.every((name, index) => name !== whileBothWait[index + 1])).toBe(true)
    for (const [index, { startedAt }] of inOrder.slice(1).entries())
      expect(startedAt >= (inOrder[index]?.endedAt ?? '')).toBe(true)
  },
)
