/** `unstuck service` with a stand-in for systemctl, which writes down how it was called: no service manager of the machine is touched. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isLinux } from '../../src/platform/proc.ts'
import { runHere } from './in-process.ts'

let top = ''
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-service-'))
  for (const name of ['repo', 'bin']) mkdirSync(join(top, name))
  execFileSync('git', ['init', '-q'], { cwd: join(top, 'repo') })
  writeFileSync(join(top, 'bin', 'systemctl'), `#!/bin/sh\necho "$@" >> ${top}/calls\n`, { mode: 0o755 })
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const service = (what: string, ...more: string[]) =>
  runHere(['service', what, '--user', ...more], {
    cwd: join(top, 'repo'),
    environment: { HOME: top, PATH: `${join(top, 'bin')}:${process.env.PATH ?? ''}`, UNSTUCK_HOME: join(top, 'home') },
  })

const calls = (): string[] =>
  existsSync(join(top, 'calls')) ? readFileSync(join(top, 'calls'), 'utf8').trim().split('\n') : []
const units = join('.config', 'systemd', 'user')

test.runIf(isLinux)('install writes and starts one unit, again changes nothing, and uninstall removes it', async () => {
  const dry = await service('install', '--dry-run')
  expect([dry.exitCode, existsSync(join(top, units)), calls()]).toEqual([0, false, []])
  expect((await service('status')).exitCode).toBe(4)
  const first = await service('install', '--json')
  const { file } = JSON.parse(first.stdout) as { file: string }
  expect(dry.stdout).toContain(file)
  expect(dirname(file)).toBe(join(top, units))
  const [name = ''] = readdirSync(join(top, units))
  expect(calls()).toEqual(['--user daemon-reload', `--user enable --now ${name}`])
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(`WorkingDirectory=${join(top, 'repo')}`)
  // Where systemd is installed it reads the unit itself; it starts nothing.
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  if (verified.error === undefined) expect([verified.status, verified.stderr]).toEqual([0, ''])
  expect(JSON.parse((await service('install', '--json')).stdout)).toMatchObject({ file, written: false })
  expect(readFileSync(file, 'utf8')).toBe(text)
  const status = await service('status', '--json')
  expect(JSON.parse(status.stdout)).toMatchObject({ installed: true, active: true, outdated: false })
  expect((await service('uninstall')).exitCode).toBe(0)
  expect([existsSync(file), calls().at(-2)]).toEqual([false, `--user disable --now ${name}`])
  expect((await service('uninstall')).exitCode).toBe(0)
})

test.runIf(isLinux)('without systemd nothing is written, and the message says what to run instead', async () => {
  rmSync(join(top, 'bin', 'systemctl'))
  const { exitCode, stderr } = await runHere(['service', 'install', '--user'], {
    cwd: join(top, 'repo'),
    environment: { HOME: top, PATH: join(top, 'bin'), UNSTUCK_HOME: join(top, 'home') },
  })
  expect([exitCode, existsSync(join(top, units))]).toEqual([5, false])
  expect(stderr).toContain('unstuck up')
})
