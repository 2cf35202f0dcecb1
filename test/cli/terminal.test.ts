/** What a person sees on a terminal, which `script` of util-linux is here: one block in place, and nothing left to repair. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { identityOf } from '../../src/platform/process.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { until } from '../hostile/scene.ts'
import { commitAll, put, user } from '../workspace/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let top = ''
let root = ''
let environment: Record<string, string> = {}
let engine: Server
let place = 'running'
/** The same in each response: another time would be a change, which is another picture. */
const begun = new Date().toISOString()
/** Responses of an engine, as far as these commands ask it. */
const task = () => ({
  ...{
    id: 't-1',
    number: 1,
    title: 'Write the endpoint 修复登录',
    status: place,
    harness: 'x',
    nextStep: null,
    recoveries: 0,
  },
  ...{ commands: ['npm test'], commandSource: 'task', role: 'worker', dependsOn: [] },
  run: { id: 'r-1', phase: 'supervise', startedAt: begun, notes: [], outcome: null, loop: null },
})
const goal = () => ({
  ...{ id: 'g-1', title: 'Add a health endpoint', state: place === 'done' ? 'done' : 'active', reason: '' },
  ...{ createdAt: begun, targetBranch: 'main', mergeCommand: null, stillFailing: [] },
  landing: { target: null },
  tasks: [task()],
})
const status = () => ({
  ...{ at: new Date().toISOString(), lastEvent: 1, goals: [goal()], endedLeftOut: 0, suggestions: [] },
  ...{ escalations: [], agents: [], engines: [], limits: [], undelivered: [], notices: [] },
})
const responses: Record<string, () => unknown> = {
  '/health': () => ({ ok: true, root, store: 'embedded' }),
  '/goals': goal,
  '/goals/g-1': goal,
  '/runs/r-1/activity': () => ({ tokens: 1234, last: 'reading \u001b[31msrc/server.ts', check: null, report: null }),
  '/status': status,
}

const respond = (request: IncomingMessage, response: ServerResponse): void => {
  const path = (request.url ?? '').split('?')[0] ?? ''
  if (path === '/events' && request.headers.accept === 'text/event-stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(': still here\n\n'), 100)
    response.on('close', () => clearInterval(timer))
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(responses[path]?.() ?? []))
}

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-terminal-')))
  root = join(top, 'repository')
  mkdirSync(root)
  const config = { harness: { default: 'x', x: { command: ['sh'] } } }
  put(root, { 'a.txt': 'a\n', '.unstuck/config.json': JSON.stringify(config) })
  user(root, 'init', '--quiet', '--initial-branch=main')
  commitAll(root, 'first')
  environment = { PATH: process.env.PATH ?? '', HOME: top, UNSTUCK_HOME: join(top, 'state'), TERM: 'xterm' }
  const stateDir = stateDirOf(environment, (await openRepository(root)).id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  engine = createServer(respond)
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`
  writeFileSync(join(stateDir, 'engine.json'), JSON.stringify({ url, version: '1', identity: identityOf(process.pid) }))
  writeFileSync(join(stateDir, 'token'), 'x')
  writeFileSync(join(stateDir, 'store.complete'), '')
})
beforeEach(() => void (place = 'running'))
afterAll(() => {
  engine?.close()
  engine?.closeAllConnections()
  rmSync(top, { recursive: true, force: true })
})

/** The command on a terminal of 80 columns. `$$` is written first, so that a test can send it a signal. */
const onTerminal = (args: string, more: Record<string, string> = {}) => {
  const command = `stty cols 80 rows 24; echo pid $$; exec ${process.execPath} ${entry} ${args}`
  const child = execa('script', ['-qec', command, '/dev/null'], {
    ...{ cwd: root, env: { ...environment, ...more }, extendEnv: false, reject: false, stdin: 'pipe' },
  })
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()))
  const shows = (text: string) => until(async () => screen.includes(text) || undefined, `${text} on the terminal`)
  return { child, shows, screen: () => screen, pid: () => Number(/pid (\d+)/.exec(screen)?.[1]) }
}

const moved = /\u001b\[\d*[AJK]/
/** Up to the block's first line, and everything below erased. */
const removed = /\u001b\[\d+A\r\u001b\[J/
const hidden = '\u001b[?25l'

test('run shows what happens in place, and ends without it', async () => {
  const { child, shows, screen } = onTerminal('run something')
  await shows('starting …')
  await shows('the agent is working')
  await shows('1,234 tokens')
  await shows('      reading src/server.ts')
  expect(screen()).toMatch(moved)
  place = 'done'
  await shows('landed on main')
  const { exitCode } = await child
  expect(exitCode).toBe(0)
  expect(screen()).toMatch(removed)
  expect(screen()).not.toContain(hidden)
})

test('a signal leaves nothing to restore', async () => {
  const { child, shows, screen, pid } = onTerminal('run something')
  await shows('the agent is working')
  process.kill(pid(), 'SIGTERM')
  const { exitCode } = await child
  expect(exitCode).toBe(143)
  expect(screen()).toMatch(removed)
  expect(screen()).not.toContain(hidden)
})

test.each([['q'], ['\u0003']])('status --watch refreshes in place until %j', async (key) => {
  const { child, shows, screen } = onTerminal('status --watch')
  await shows('q quits')
  await shows('Write the endpoint')
  place = 'done'
  await shows('landed on main')
  child.stdin.write(key)
  const { exitCode } = await child
  expect(exitCode).toBe(0)
  expect(screen()).toMatch(moved)
})

test('a dumb terminal gets plain lines', async () => {
  place = 'done'
  const { child, screen } = onTerminal('run something', { TERM: 'dumb' })
  await child
  expect(screen()).toContain('landed on main')
  expect(screen()).not.toMatch(moved)
})

test('status --watch on a pipe prints one picture per change', async () => {
  const stop = new AbortController()
  const child = execa(process.execPath, [entry, 'status', '--watch', '--json'], {
    ...{ cwd: root, env: environment, extendEnv: false, reject: false, cancelSignal: stop.signal },
  })
  let said = ''
  const lines = () => said.split('\n').filter((text) => text !== '')
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await until(async () => lines().length === 1 || undefined, 'the first picture')
  place = 'done'
  await until(async () => lines().length === 2 || undefined, 'the second picture')
  stop.abort()
  await child
  const states = lines().map((text) => (JSON.parse(text) as ReturnType<typeof status>).goals[0]?.state)
  expect(states).toEqual(['active', 'done'])
})
