/** `unstuck repos` and `--all`: what happens in every repository of a user, on one page, also where some of them are broken. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serve, type Served } from '../../src/api/serve.ts'
import { recordRepository } from '../../src/api/known-repository.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { identityOf } from '../../src/platform/process.ts'
import { repositoryId } from '../../src/workspace/repository.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { runHere } from './in-process.ts'

interface Row {
  id: string
  repository: string
  engine: 'running' | 'stopped' | null
  goals: number
  questions: number
  problem: { code: string; message: string } | null
}

interface Read {
  id: string
  problem: Row['problem']
  view: { goals?: { title: string }[]; count?: number; waiting?: unknown[] } | null
}

let top = ''
let environment: Record<string, string | undefined> = {}
const running: Served[] = []
const roots: Record<string, string> = {}

const git = (cwd: string, ...args: string[]) =>
  execa('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd, env: environment })

const rootOf = (name: string): string => roots[name] ?? ''
const idOf = (name: string): string => repositoryId({ root: rootOf(name), commonDir: join(rootOf(name), '.git') })
const stateOf = (name: string): string => stateDirOf(environment, idOf(name))

const cli = (...args: string[]) => runHere(args, { cwd: top, environment })
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await cli(...args, '--json')).stdout) as T

/** An agent whose login its provider refuses, so that each goal ends in a question at once. */
const config = { harness: { default: 'mine', mine: { command: ['sh', '-c', 'echo "Invalid API key" >&2; exit 1'] } } }

const make = async (name: string): Promise<void> => {
  const root = join(top, name)
  roots[name] = root
  mkdirSync(join(root, '.unstuck'), { recursive: true })
  writeFileSync(join(root, '.unstuck', 'config.json'), JSON.stringify(config))
  await git(root, 'init', '-q')
  await git(root, 'add', '-A')
  await git(root, 'commit', '-qm', 'begin')
}

const start = async (name: string): Promise<Served> => {
  const served = await serve({ root: rootOf(name), environment, version: '0.0.0' })
  running.push(served)
  return served
}

const begin = (name: string, title: string) => runHere(['run', title, '--detach'], { cwd: rootOf(name), environment })

const untilQuestion = async (name: string): Promise<void> => {
  for (;;) {
    const { stdout } = await runHere(['inbox', '--json'], { cwd: rootOf(name), environment })
    if ((JSON.parse(stdout) as { count: number }).count > 0) return
    await delay(100)
  }
}

const names = ['asks', 'quiet', 'gone', 'replaced', 'broken-config', 'open']

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-repos-')))
  const home = join(top, 'home')
  environment = { PATH: process.env['PATH'], HOME: top, UNSTUCK_HOME: home, GIT_CONFIG_GLOBAL: '/dev/null' }
  prepareEngineHome(home)
  for (const name of names) await make(name)
  for (const name of names) {
    const served = await start(name)
    if (name === 'asks') {
      await begin(name, 'Ask me')
      await untilQuestion(name)
    } else if (name === 'open') await begin(name, 'Stay open')
    if (name !== 'quiet') await served.stop()
  }
  renameSync(rootOf('gone'), join(top, 'elsewhere'))
  // Another repository at the path of one that was removed.
  rmSync(join(rootOf('replaced'), '.git'), { recursive: true })
  writeFileSync(join(rootOf('broken-config'), '.unstuck', 'config.json'), '{ "maxParallel": "many" }')
  // What lies in the folder of all states and is no state folder.
  writeFileSync(join(home, 'reserve'), '')
  mkdirSync(join(home, 'mirror-of-nothing'))
})

afterAll(async () => {
  for (const served of running) await served.stop()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

const rowOf = async (name: string): Promise<Row | undefined> =>
  (await json<Row[]>('repos')).find(({ id }) => id === idOf(name))

it('lists every repository with its engine, its goals and its questions', async () => {
  const rows = await json<Row[]>('repos')
  expect(rows.map(({ id }) => id).toSorted()).toEqual(names.map(idOf).toSorted())
  expect(await rowOf('asks')).toMatchObject({
    repository: rootOf('asks'),
    engine: 'stopped',
    questions: 1,
    problem: null,
  })
  expect(await rowOf('quiet')).toMatchObject({ engine: 'running', goals: 0, questions: 0, problem: null })
  expect((await rowOf('open'))?.goals).toBe(1)
})

it('gives one line with a next step for each repository that cannot be read', async () => {
  const { stdout, exitCode } = await cli('repos')
  expect(exitCode).toBe(0)
  const lineOf = (name: string): string => stdout.split('\n').find((line) => line.includes(idOf(name))) ?? ''
  expect(lineOf('gone')).toContain(`unstuck repos forget ${idOf('gone')}`)
  expect((await rowOf('gone'))?.problem?.code).toBe('DIRECTORY_MISSING')
  expect((await rowOf('replaced'))?.problem?.code).toBe('REPOSITORY_STATE')
  expect((await rowOf('broken-config'))?.problem).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('maxParallel') as string,
  })
})

it('starts no engine because somebody looks', async () => {
  await cli('repos')
  await cli('status', '--all')
  await cli('inbox', '--all')
  await cli('report', '--all')
  for (const name of names)
    expect([name, existsSync(join(stateOf(name), 'engine.json'))]).toEqual([name, name === 'quiet'])
})

it.each(['status', 'inbox', 'report'])('%s --all reads all of them, and says why where it cannot', async (command) => {
  const read = await json<Read[]>(command, '--all')
  expect(read.map(({ id }) => id).toSorted()).toEqual(names.map(idOf).toSorted())
  const failed = read.filter(({ problem }) => problem !== null).map(({ id }) => id)
  expect(failed.toSorted()).toEqual(['gone', 'replaced', 'broken-config'].map(idOf).toSorted())
  for (const { view, problem } of read) expect(view === null).toBe(problem !== null)
})

it('shows goals and questions below their repository, and asks for a person where one is needed', async () => {
  const status = await cli('status', '--all')
  expect(status.exitCode).toBe(3)
  expect(status.stdout.indexOf(rootOf('asks'))).toBeGreaterThan(-1)
  expect(status.stdout).toContain('Ask me')
  const inbox = await cli('inbox', '--all')
  expect(inbox.exitCode).toBe(3)
  expect(inbox.stdout).toContain(rootOf('asks'))
  expect(inbox.stdout).not.toContain(rootOf('quiet'))
  expect((await cli('report', '--all')).exitCode).toBe(0)
})

it('refuses to watch all of them', async () => {
  expect((await cli('status', '--all', '--watch')).exitCode).toBe(2)
})

it('reads no repository by what an altered record says', async () => {
  const path = join(stateOf('open'), 'listed.json')
  const before = readFileSync(path, 'utf8')
  writeFileSync(path, JSON.stringify({ root: rootOf('asks') }))
  expect((await rowOf('open'))?.problem?.code).toBe('REPOSITORY_STATE')
  writeFileSync(path, '{')
  expect((await rowOf('open'))?.problem).not.toBeNull()
  writeFileSync(path, before)
  expect((await rowOf('open'))?.problem).toBeNull()
})

it('names a state folder that others may open or that belongs to another user', async () => {
  chmodSync(stateOf('open'), 0o755)
  expect((await rowOf('open'))?.problem?.code).toBe('PERMISSION')
  chmodSync(stateOf('open'), 0o700)
  if (process.getuid?.() !== 0) return
  chownSync(stateOf('open'), 65_534, 65_534)
  expect((await rowOf('open'))?.problem?.code).toBe('PERMISSION')
  chownSync(stateOf('open'), 0, 0)
})

it('forgets a repository until work is started in it again, and keeps its state', async () => {
  const forgotten = await cli('repos', 'forget', idOf('gone'))
  expect([forgotten.exitCode, forgotten.stdout]).toEqual([0, expect.stringContaining(stateOf('gone'))])
  expect(await rowOf('gone')).toBeUndefined()
  expect(existsSync(join(stateOf('gone'), 'store.complete'))).toBe(true)
  renameSync(join(top, 'elsewhere'), rootOf('gone'))
  const served = await start('gone')
  expect((await rowOf('gone'))?.engine).toBe('running')
  expect((await cli('repos', 'forget', rootOf('gone'))).exitCode).toBe(5)
  await served.stop()
  expect((await cli('repos', 'forget', rootOf('gone'))).exitCode).toBe(0)
  expect((await cli('repos', 'forget', 'none-of-them')).exitCode).toBe(4)
  expect((await cli('repos', 'forget')).exitCode).toBe(2)
})

it('does not wait for an engine that does not respond', async () => {
  const silent = createServer(() => undefined).listen(0)
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const address = join(stateOf('open'), 'engine.json')
  writeFileSync(address, JSON.stringify({ url: `http://127.0.0.1:${port}`, identity: identityOf(process.pid) }))
  const rows = await json<Row[]>('repos')
  rmSync(address)
  silent.close()
  expect(rows.find(({ id }) => id === idOf('open'))?.problem?.code).toBe('ENGINE_UNAVAILABLE')
  expect(rows.find(({ id }) => id === idOf('asks'))?.problem).toBeNull()
})

it('lists a repository by URL with its URL, whatever this terminal names', async () => {
  const url = join(top, 'remote.git')
  await git(top, 'clone', '-q', '--bare', rootOf('asks'), url)
  const there = { ...environment, UNSTUCK_REPO_URL: url }
  const served = await serve({ root: top, environment: there, version: '0.0.0' })
  const readFrom = async (from: typeof environment): Promise<Row[]> =>
    JSON.parse((await runHere(['repos', '--json'], { cwd: top, environment: from })).stdout) as Row[]
  for (const from of [environment, there]) {
    const rows = await readFrom(from)
    expect(rows.find(({ repository }) => repository === url)).toMatchObject({ engine: 'running', problem: null })
    expect(rows.find(({ id }) => id === idOf('asks'))).toMatchObject({ questions: 1 })
  }
  await served.stop()
  expect((await readFrom(environment)).find(({ repository }) => repository === url)?.engine).toBe('stopped')
})

it('names a repository whose store is gone, and makes no empty one in its place', async () => {
  await make('lost')
  mkdirSync(stateOf('lost'), { mode: 0o700 })
  writeFileSync(join(stateOf('lost'), 'store.complete'), '')
  expect((await rowOf('lost'))?.problem?.code).toBe('NOT_FOUND')
  recordRepository(stateOf('lost'), { root: rootOf('lost') })
  for (const _again of ['', '']) expect((await rowOf('lost'))?.problem?.code).toBe('STORE_LOST')
})
