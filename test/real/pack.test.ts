/** The file that `npm pack` makes, installed into an empty folder as a user would, does the main job under Node 24. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
let folder = ''
let repo = ''

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  UNSTUCK_HOME: join(folder, 'home'),
  XDG_CACHE_HOME: join(folder, 'cache'),
})

const unstuck = (...args: string[]) =>
  spawnSync(process.execPath, [join(folder, 'app', 'node_modules', 'unstuck', 'bin', 'unstuck.js'), ...args], {
    cwd: repo,
    env: environment(),
    encoding: 'utf8',
    timeout: 180_000,
  })

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-pack-'))
  const app = join(folder, 'app')
  repo = join(folder, 'repo')
  mkdirSync(app)
  mkdirSync(join(repo, '.unstuck'), { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const packed = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  writeFileSync(join(app, 'package.json'), '{ "private": true }')
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', join(folder, packed)], {
    cwd: app,
    stdio: 'inherit',
  })
  const agent = join(folder, 'agent.mjs')
  writeFileSync(agent, "import { writeFileSync } from 'node:fs'\nwriteFileSync('note.txt', 'done')\n")
  const config = {
    harness: { default: 'mine', mine: { command: [process.execPath, agent] } },
    verify: { commands: ['test -s note.txt'] },
  }
  writeFileSync(join(repo, '.unstuck', 'config.json'), JSON.stringify(config))
  execFileSync('git', ['init', '-q', '-b', 'main', repo])
  execFileSync(
    'git',
    ['-c', 'user.name=T', '-c', 'user.email=t@localhost', 'commit', '-q', '--allow-empty', '-m', 'base'],
    { cwd: repo },
  )
})

afterAll(() => {
  unstuck('stop')
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
})

it('brings compiled code and no sources', () => {
  const installed = join(folder, 'app', 'node_modules', 'unstuck')
  expect(existsSync(join(installed, 'dist', 'src', 'cli', 'main.js'))).toBe(true)
  expect(existsSync(join(installed, 'src'))).toBe(false)
})

it('declares what a package must declare', async () => {
  const { messages } = await publint({
    pkgDir: join(folder, 'app', 'node_modules', 'unstuck'),
    pack: false,
    strict: true,
  })
  expect(messages).toEqual([])
})

it('prints its version', () => {
  const { stdout, status } = unstuck('--version')
  expect({ stdout: stdout.trim(), status }).toEqual({ stdout: '0.2.0', status: 0 })
})

it('starts its engine, worker and shim, and lands a verified change', () => {
  const { stdout, stderr, status } = unstuck('run', 'Write a note', '--merge')
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' })
  expect(existsSync(join(repo, 'note.txt'))).toBe(true)
})

it('holds the bridge to ACP agents with what it imports', () => {
  const bridge = join(folder, 'app', 'node_modules', 'unstuck', 'dist', 'src', 'harness', 'acp-bridge.js')
  const agent = join(root, 'test', 'fixture', 'process', 'acp-agent.mjs')
  const work = mkdtempSync(join(folder, 'acp-'))
  writeFileSync(join(work, 'prompt.md'), 'hello')
  const orders = [`--prompt-file=${join(work, 'prompt.md')}`, `--cwd=${work}`, '--', process.execPath, agent]
  const { stdout, status } = spawnSync(process.execPath, [bridge, ...orders], { encoding: 'utf8', timeout: 60_000 })
  expect(stdout).toContain('"stopReason":"end_turn"')
  expect(status).toBe(0)
  expect(existsSync(join(work, 'hello.txt'))).toBe(true)
})

it('serves the dashboard that it brings, after a one-time login', async () => {
  const login = unstuck('login-url').stdout.trim()
  const { origin, hash } = new URL(login)
  const begun = await fetch(`${origin}/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: hash.replace('#login=', '') }),
  })
  expect(begun.status).toBe(200)
  const page = await fetch(`${origin}/`)
  const script = /<script type="module"[^>]* src="\.(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1]
  expect([page.status, script]).toEqual([200, expect.stringMatching(/-[\w-]{8}\.js$/)])
  const served = await fetch(`${origin}${script}`)
  expect([served.status, served.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  // Its build tools stay at home.
  expect(existsSync(join(folder, 'app', 'node_modules', 'vite'))).toBe(false)
  expect(existsSync(join(folder, 'app', 'node_modules', 'react'))).toBe(false)
})
