/** `--repo <git url>` through the real program, against a bare repository: from a goal to a landed branch and every look at it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { parseRemote } from '../../src/workspace/remote-url.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { makeRepository, temporaryFolder, user } from '../workspace/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let top: string
let bare: string
let url: string
let stateDir: string
/** What an address that starts a program would leave. */
const touched = join(tmpdir(), `unstuck-touched-${process.pid}`)

const agent = `
import { readFileSync, writeFileSync } from 'node:fs'
const name = /Make (\\w+\\.txt)/.exec(readFileSync(0, 'utf8'))[1]
writeFileSync(name, JSON.stringify({ environment: Object.entries(process.env).filter(([, value]) => value.includes('origin.git')) }))
`

beforeAll(() => {
  top = temporaryFolder()
  bare = join(top, 'origin.git')
  url = `file://${bare}`
  makeRepository(join(top, 'work'), { 'a.txt': 'a\n', 'package.json': '{"scripts":{"test":"node -e 0"}}' })
  user(top, 'clone', '--quiet', '--bare', join(top, 'work'), bare)
  stateDir = stateDirOf({ UNSTUCK_HOME: join(top, 'home') }, parseRemote(url, top).id)
  prepareEngineHome(join(top, 'home'))
  writeFileSync(join(top, 'agent.mjs'), agent)
  mkdirSync(join(top, 'elsewhere'))
})

afterAll(async () => {
  await cli(['stop', '--repo', url])
  await removeFolder(top)
})

interface Ending {
  code: number
  output: string
}

const cli = async (args: string[], more: Record<string, string> = {}): Promise<Ending> => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const env = { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(top, 'home'), ...more }
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: join(top, 'elsewhere'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

const json = async <T>(args: string[]): Promise<T> => JSON.parse((await cli([...args, '--repo', url])).output) as T

const refs = (): string[] => user(bare, 'for-each-ref', '--format=%(refname)').split('\n')

describe('a repository by URL', () => {
  it('has its configuration in the state folder, and init says where', async () => {
    const { code, output } = await cli(['init', '--repo', url])
    expect(code).toBe(0)
    const path = join(stateDir, 'repository', '.unstuck', 'config.json')
    expect(output).toContain(path)
    const harness = {
      default: 'mine',
      mine: { driver: 'command', command: [process.execPath, join(top, 'agent.mjs')], promptMode: 'stdin' },
    }
    writeFileSync(path, JSON.stringify({ harness }))
  })

  it('run --merge lands on the remote, from a folder that has nothing to do with it', async () => {
    const { code, output } = await cli(['run', '--repo', url, '--merge', 'Make made.txt'])
    expect(output).toContain('refs/unstuck/runs/')
    expect(code, output).toBe(0)
    expect(JSON.parse(user(bare, 'show', 'main:made.txt'))).toEqual({ environment: [] })
    expect(user(bare, 'log', '-1', '--format=%(trailers:key=Unstuck-Run,valueonly)', 'main')).toMatch(/^r-/)
    // The branch of the goal and the run's own ref have done their work.
    await expect.poll(refs, { timeout: 30_000, interval: 200 }).toEqual(['refs/heads/main'])
    expect(readdirSync(join(top, 'elsewhere'))).toEqual([])
  })

  it('without --merge ends ready, and the one command that is shown lands it', async () => {
    const before = user(bare, 'rev-parse', 'main')
    const { code, output } = await cli(['run', '--repo', url, 'Make second.txt'])
    expect(code, output).toBe(0)
    expect(user(bare, 'rev-parse', 'main')).toBe(before)
    const goal = /unstuck land (g-\w+)/.exec(output)?.[1] ?? ''
    const landed = await cli(['land', goal, '--repo', url])
    expect(landed.code, landed.output).toBe(0)
    expect(user(bare, 'show', 'main:second.txt')).not.toBe('')
  })

  it('is what status, report, explain, doctor, restore and clean speak of, with and without the engine', async () => {
    const status = await json<{ goals: { id: string; repoMode: string; tasks: { id: string }[] }[] }>([
      'status',
      '--json',
    ])
    expect(status.goals.map(({ repoMode }) => repoMode)).toEqual(['remote', 'remote'])
    const told = await cli(['explain', status.goals[0]!.tasks[0]!.id, '--repo', url])
    expect(told.output).toMatch(/pushed [0-9a-f]{12} to refs\/unstuck\/runs\/r-.* of the remote/)
    expect((await cli(['report', '--repo', url])).output).toContain('Make second.txt')
    const doctor = await cli(['doctor', '--repo', url])
    expect(doctor.output).toContain(`the git remote responds: ${bare}`)
    expect(doctor.code).toBe(0)
    const cleaned = await json<{ kind: string }[]>(['clean', '--json'])
    expect(cleaned.map(({ kind }) => kind)).toEqual(['workspace', 'workspace', 'checks'])
    expect((await cli(['--repo', url])).output).toContain(`unstuck/goal/<id> of ${bare}`)
    expect((await cli(['stop', '--repo', url])).code).toBe(0)
    expect((await cli(['doctor', '--repo', url])).output).toContain('not checked: no engine is running')
    expect((await cli(['restore', '--repo', url])).code).toBe(0)
    expect((await cli(['stop', '--repo', url])).output).toContain(`No engine is running for ${bare}`)
  })

  it('is found by UNSTUCK_REPO_URL, and by a relative path, as the same one', async () => {
    for (const text of ['../origin.git', bare, `${url}/`])
      expect((await cli(['report', '--json'], { UNSTUCK_REPO_URL: text })).output).toContain('Make made.txt')
  })

  it('a hook that refuses is told at once, before anything is paid for', async () => {
    const hook = join(bare, 'hooks', 'pre-receive')
    mkdirSync(join(bare, 'hooks'), { recursive: true })
    writeFileSync(hook, '#!/bin/sh\necho "no \\033]0;x\\007branches from robots" >&2\nexit 1\n', { mode: 0o755 })
    const { code, output } = await cli(['run', '--repo', url, 'Make third.txt'])
    expect(code).toBe(78)
    expect(output).toMatch(/refused the branch unstuck\/goal\/g-\w+ \(.*no .{0,8}branches from robots/)
    writeFileSync(hook, '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  })
})

describe('what cannot be meant', () => {
  it.each([
    [['run', '--repo', `ext::touch%20${touched}`, 'x'], 2, 'starts a program'],
    [['status', '--repo=--upload-pack=touch'], 2, 'begins with "-"'],
    [['run', '--repo', '/nowhere/p.git', '--direct', 'x'], 2, '--direct'],
    [['demo', '--repo', '/nowhere/p.git'], 2, 'leave out --repo'],
    [['status', '--repo', '/nowhere/p.git'], 4, 'nothing has been run for /nowhere/p.git yet'],
    [['run', '--repo', '', 'x'], 2, 'it is empty'],
  ])('%j', async (args, wanted, text) => {
    const { code, output } = await cli(args)
    expect(output).toContain(text)
    expect(code).toBe(wanted)
  })

  it('a login in the address is in no output and no file, and the first contact that fails says why', async () => {
    const { code, output } = await cli(['up', '--repo', 'http://ada:geheim@127.0.0.1:9/p.git'])
    expect(output).toContain('http://127.0.0.1:9/p.git does not respond')
    expect(code).not.toBe(0)
    const files = readdirSync(join(top, 'home'), { recursive: true, withFileTypes: true }).filter((found) =>
      found.isFile(),
    )
    const holding = files
      .map((found) => join(found.parentPath, found.name))
      .filter((path) => readFileSync(path).includes('geheim'))
    expect([output.includes('geheim'), holding, existsSync(touched)]).toEqual([false, [], false])
  })
})
