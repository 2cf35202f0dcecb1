/** `unstuck stop --all`: from any folder, every engine of the user and then the server that they share. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hasStarter } from '../../src/cli/engine/starter.ts'
import { exitCodes } from '../../src/errors.ts'
import { serverOf } from '../../src/store/server/embedded-server.ts'
import { isLongForm } from '../support/form.ts'

const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')

let top = ''
let home = ''
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-stop-all-')))
  home = join(top, 'home')
  mkdirSync(home)
})
afterEach(async () => {
  await serverOf({ home, environment: process.env }).stop()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

const environment = () => ({ PATH: process.env['PATH'], HOME: top, UNSTUCK_HOME: home })

const cli = (cwd: string, ...args: string[]) =>
  execa(process.execPath, [entry, ...args], { cwd, env: environment(), extendEnv: false, reject: false })

const up = async (name: string): Promise<() => Promise<void>> => (await startUp(name)).ended

const startUp = async (name: string) => {
  const root = join(top, name)
  await execa('git', ['init', '-q', root])
  const child = spawn(process.execPath, [entry, 'up'], {
    cwd: root,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const ended = async (): Promise<void> => {
    if (child.exitCode === null) await once(child, 'exit')
  }
  return { child, ended }
}

const pidFile = (): string => {
  const major = readdirSync(join(home, 'postgres')).find((entryName) => /^\d+$/.test(entryName)) ?? ''
  return join(home, 'postgres', major, 'data', 'postmaster.pid')
}

it('stops the engines of all repositories and then the server that they share', async () => {
  const ended = await Promise.all([up('one'), up('two')])
  expect(readFileSync(pidFile(), 'utf8')).not.toBe('')
  // The folder of all states holds more than folders: the reserve of the disk, for example.
  writeFileSync(join(home, 'reserve'), '')
  const { exitCode, stdout } = await cli(top, 'stop', '--all')
  expect(exitCode).toBe(0)
  for (const name of ['one', 'two']) expect(stdout).toContain(join(top, name))
  for (const end of ended) await end()
  expect(existsSync(pidFile())).toBe(false)
  const again = await cli(top, 'stop', '--all')
  expect([again.exitCode, again.stdout.split('\n')]).toEqual([0, [expect.stringContaining('No engine')]])
})

it.runIf(isLongForm)(
  'ends an engine for good, also where another one was being started beside it, as after a crash',
  async () => {
    const end = await up('one')
    const [folder = ''] = readdirSync(home).filter((name) => name.startsWith('one-'))
    const address = join(home, folder, 'engine.json')
    // Without its address the engine is not found, until it writes it anew.
    rmSync(address)
    const other = spawn(process.execPath, [entry, 'up'], { cwd: join(top, 'one'), env: environment(), stdio: 'ignore' })
    const otherEnded = once(other, 'exit')
    while (!existsSync(address)) await delay(20)
    expect((await cli(join(top, 'one'), 'stop')).exitCode).toBe(0)
    await end()
    expect(await otherEnded).toEqual([exitCodes.conflict, null])
    expect(existsSync(address)).toBe(false)
  },
)

it('refuses to wait for runs of all of them at once', async () => {
  const { exitCode, stderr } = await cli(top, 'stop', '--all', '--drain')
  expect(exitCode).toBe(2)
  expect(stderr).toContain('--drain')
})

it.runIf(isLongForm)('ends what would start an engine again that crashed a moment ago', async () => {
  const { child, ended } = await startUp('one')
  const [folder = ''] = readdirSync(home).filter((name) => name.startsWith('one-'))
  const stateDir = join(home, folder)
  const { identity } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { identity: { pid: number } }
  // What started the engine has not seen its end yet when the person stops it.
  child.kill('SIGSTOP')
  process.kill(identity.pid, 'SIGKILL')
  const stopping = cli(join(top, 'one'), 'stop')
  await expect.poll(() => hasStarter(stateDir), { timeout: 30_000 }).toBe(false)
  child.kill('SIGCONT')
  expect((await stopping).exitCode).toBe(0)
  await ended()
  expect(child.exitCode).toBe(0)
  expect(existsSync(join(stateDir, 'engine.json'))).toBe(false)
})
