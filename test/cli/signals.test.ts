/** Every command that a signal stops ends soon, with the status of the signal, whatever it waits for; nothing half is left. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { identityOf } from '../../src/platform/process.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { takeSnapshot } from '../../src/workspace/snapshot.ts'
import { until } from '../hostile/scene.ts'
import { commitAll, put, user } from '../workspace/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let top = ''
let root = ''
let stateDir = ''
let environment: Record<string, string> = {}
/** Takes connections and never answers, as an engine that hangs. */
let silent: Server
let asked = 0

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-signals-')))
  root = join(top, 'repository')
  mkdirSync(root)
  const config = { harness: { default: 'x', x: { command: ['sh'] } } }
  put(root, { 'a.txt': 'a\n', '.unstuck/config.json': JSON.stringify(config) })
  user(root, 'init', '--quiet', '--initial-branch=main')
  commitAll(root, 'first')
  environment = { PATH: process.env.PATH ?? '', HOME: top, UNSTUCK_HOME: join(top, 'state') }
  stateDir = stateDirOf(environment, (await openRepository(root)).id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  silent = createServer((socket) => {
    socket.on('error', () => undefined)
    asked += 1
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  writeFileSync(join(stateDir, 'engine.json'), JSON.stringify({ url, version: '1', identity: identityOf(process.pid) }))
  writeFileSync(join(stateDir, 'token'), 'x')
  writeFileSync(join(stateDir, 'store.complete'), '')
})
afterAll(() => {
  silent?.close()
  rmSync(top, { recursive: true, force: true })
})

const start = (args: string[], path = environment.PATH) =>
  execa(process.execPath, [entry, ...args], {
    cwd: root,
    env: { ...environment, PATH: path },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    killSignal: 'SIGKILL',
    timeout: 60_000,
  })

/** One of each way to ask the engine; the other commands share theirs. */
const waiting = [
  ...['run x', 'login-url', 'status', 'doctor', 'edit t-x --title y', 'land g-x', 'clean'],
  ...['logs -f r-x', 'events -f'],
]

test.each([...waiting.map((line) => [line, 'SIGTERM', 143] as const), ['status', 'SIGINT', 130] as const])(
  'unstuck %s, stopped by %s, ends with %i',
  async (line, signal, status) => {
    asked = 0
    const child = start(line.split(' '))
    await until(async () => (asked > 0 ? true : undefined), 'the request')
    const begun = performance.now()
    child.kill(signal)
    const { exitCode, stderr } = await child
    expect([exitCode, stderr]).toEqual([status, expect.not.stringMatching(/\n\s+at |unexpected/)])
    expect(performance.now() - begun).toBeLessThan(10_000)
  },
)

/** A git that begins to write the files and then hangs, as on a file system that does. */
const hangingGit = (): string => {
  const folder = join(top, 'bin')
  mkdirSync(folder, { recursive: true })
  const real = (process.env.PATH ?? '').split(':').find((place) => existsSync(join(place, 'git'))) ?? ''
  writeFileSync(
    join(folder, 'git'),
    `#!/bin/sh\ncase "$*" in *read-tree*-u*) echo half > "$GIT_WORK_TREE/half"; touch "${top}/begun"; exec sleep 600;; esac\nexec "${real}/git" "$@"\n`,
  )
  chmodSync(join(folder, 'git'), 0o755)
  return `${folder}:${environment.PATH}`
}

test.each([
  ['a new folder', 'new/deep', 'SIGTERM', 143],
  ['an empty folder of the user', 'empty', 'SIGINT', 130],
] as const)('a restore into %s that is stopped leaves nothing of it', async (_title, name, signal, status) => {
  mkdirSync(join(top, 'empty'), { recursive: true })
  rmSync(join(top, 'begun'), { force: true })
  const repository = await openRepository(root)
  const shadow = await openShadow(stateDir, repository)
  const request = {
    runId: 'r-1',
    workTree: root,
    base: repository.head ?? '',
    reason: 'test',
    at: '2026-01-01T00:00:00Z',
  }
  const { id } = await takeSnapshot(shadow, request)
  const child = start(['restore', id, '--into', join(top, name)], hangingGit())
  await until(async () => (existsSync(join(top, 'begun')) ? true : undefined), 'the first file')
  child.kill(signal)
  const { exitCode, stderr } = await child
  expect([exitCode, stderr]).toEqual([status, `unstuck: stopped by ${signal}`])
  expect([existsSync(join(top, 'new')), readdirSync(join(top, 'empty'))]).toEqual([false, []])
})
