/** Verification commands as real processes: what is understood, what is refused, what ends with them. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { processesWithEnvironment } from '../../src/platform/process.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { systemClock } from '../../src/runtime/core/system-clock.ts'
import { runChecks } from '../../src/runtime/checks/command-runner.ts'
import type { CheckReport } from '../../src/runtime/checks/check-request.ts'

let top: string
let workspace: string
let passed: number
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-verify-')))
  workspace = join(top, 'workspace')
  passed = 0
  mkdirSync(join(workspace, 'sub', 'deep'), { recursive: true })
  mkdirSync(join(top, 'outside'))
  writeFileSync(
    join(workspace, 'note.mjs'),
    "import { appendFileSync } from 'node:fs'\nappendFileSync(process.argv[2], `${process.cwd()}\\n`)\n",
  )
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const check = (
  commands: string[],
  more: { environment?: Record<string, string>; extraNames?: string[]; timeoutMs?: number; totalMs?: number } = {},
): Promise<CheckReport> =>
  runChecks({
    clock: systemClock,
    ports: realPorts,
    repository: { root: top, commonDir: null, id: 'r', head: null, branch: null },
    commands,
    source: () => 'task',
    workspace,
    folder: (number) => join(top, 'checks', String(number)),
    marker: `verify-${process.pid}-${top.slice(-6)}`,
    environment: { PATH: process.env.PATH ?? '' },
    extraNames: [],
    timeoutMs: 30_000,
    totalMs: 60_000,
    keepAliveMs: 60_000,
    signal: new AbortController().signal,
    passed: () => (passed += 1),
    ...more,
  })

const note = process.execPath + ' {workspace}/note.mjs {top}/seen'
const filled = (text: string): string =>
  text.replaceAll('{note}', note).replaceAll('{workspace}', workspace).replaceAll('{top}', top)
const seen = (): string[] =>
  existsSync(join(top, 'seen')) ? readFileSync(join(top, 'seen'), 'utf8').trim().split('\n') : []

describe('chains', () => {
  test('run in order, each cd for what follows in its own entry only', async () => {
    const report = await check(['{note} && cd sub && {note} && cd deep && {note}', '{note}'].map(filled))
    expect(report.failed).toBeUndefined()
    expect(seen().map((path) => path.slice(workspace.length))).toEqual(['', '/sub', '/sub/deep', ''])
    expect([report.results.map(({ exitCode }) => exitCode), passed]).toEqual([[0, 0], 2])
  })
  test('end at the first that fails, and so does the list', async () => {
    const report = await check(['{note} && false && {note}', '{note}'].map(filled))
    expect(report.failed).toMatchObject({ exitCode: 1, timedOut: false, remaining: 1 })
    expect([seen().length, report.results.length, passed]).toEqual([1, 1, 0])
  })
  test('no shell stands behind them', async () => {
    const report = await check(['echo "$(touch {top}/made)"', 'echo a > {top}/made'].map(filled))
    expect(report.failed?.unsupported).toMatchObject({ piece: expect.stringContaining('touch') })
    expect(existsSync(join(top, 'made'))).toBe(false)
  })
})

describe('cd', () => {
  test.each([
    ['..', /leads out of the repository/],
    ['../outside', /leads out of the repository/],
    ['/', /leads out|no folder/],
    ['link', /leads out of the repository/],
    ['sub/../../outside', /leads out of the repository/],
    ['nosuch', /there is no folder nosuch/],
    ['note.mjs', /there is no folder note\.mjs/],
  ])('to %s is refused before anything runs there', async (folder, reason) => {
    symlinkSync(join(top, 'outside'), join(workspace, 'link'))
    const report = await check([filled(`cd ${folder} && {note}`)])
    expect(report.failed).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(reason) })
    expect(seen()).toEqual([])
  })
  test('through a link that stays inside is followed', async () => {
    symlinkSync(join(workspace, 'sub'), join(workspace, 'link'))
    expect((await check([filled('cd link && {note}')])).failed).toBeUndefined()
    expect(seen()).toEqual([join(workspace, 'sub')])
  })
})

describe('the environment of a check', () => {
  const show = (): string => {
    writeFileSync(
      join(workspace, 'env.mjs'),
      "import { writeFileSync } from 'node:fs'\nwriteFileSync(process.argv[2], JSON.stringify(process.env))\n",
    )
    return `${process.execPath} ${workspace}/env.mjs ${top}/env.json`
  }
  const shown = (): Record<string, string> =>
    JSON.parse(readFileSync(join(top, 'env.json'), 'utf8')) as Record<string, string>

  test('has what is listed, and neither a secret nor a setting of the engine', async () => {
    const environment = {
      ...{ PATH: process.env.PATH ?? '', HOME: '/home/ada', LISTED: 'yes', AWS_SECRET_ACCESS_KEY: 'secret-0123456789' },
      ...{ ANTHROPIC_API_KEY: 'secret-0123456789', UNSTUCK_HOME: '/state', NODE_OPTIONS: '--no-warnings' },
    }
    await check([`OWN=1 ${show()}`], { environment, extraNames: ['LISTED', 'UNSTUCK_HOME'] })
    const names = Object.keys(shown())
    expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'LISTED', 'OWN']))
    for (const name of ['AWS_SECRET_ACCESS_KEY', 'ANTHROPIC_API_KEY', 'UNSTUCK_HOME', 'NODE_OPTIONS'])
      expect(names).not.toContain(name)
  })
  test("finds the workspace's own tools first and no other project's", async () => {
    await check([show()], { environment: { PATH: `/other/node_modules/.bin:${process.env.PATH ?? ''}` } })
    expect(shown().PATH?.split(':')[0]).toBe(join(workspace, 'node_modules', '.bin'))
    expect(shown().PATH).not.toContain('/other/')
  })
  test('may be empty', async () => {
    expect((await check([show()], { environment: {} })).failed).toBeUndefined()
    expect(Object.keys(shown())).not.toContain('HOME')
  })
})

describe('time', () => {
  const hang = (): string => {
    const grandchild = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`
    writeFileSync(
      join(workspace, 'hang.mjs'),
      `import { spawn } from 'node:child_process'
spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { detached: true, stdio: 'ignore' })
setInterval(() => {}, 1000)\n`,
    )
    return `${process.execPath} ${workspace}/hang.mjs`
  }
  const marker = (): string => `verify-${process.pid}-${top.slice(-6)}`

  test('over for one command ends its whole tree, and says so', async () => {
    const report = await check([hang(), filled('{note}')], { timeoutMs: 1_500 })
    expect(report.failed).toMatchObject({ timedOut: true, remaining: 1 })
    expect(processesWithEnvironment('UNSTUCK_RUN', marker())).toEqual([])
    expect(seen()).toEqual([])
  })
  test('over for all of them ends the one at work', async () => {
    const report = await check([filled('{note}'), hang()], { totalMs: 2_500 })
    expect([report.failed?.command, report.failed?.timedOut, report.results[0]?.exitCode]).toEqual([hang(), true, 0])
  })
})

test('a command that cannot be started names the program and whether the manifest has the script', async () => {
  expect((await check(['no-such-program --x'])).failed?.spawnError).toMatch(/no-such-program was not found/)
  rmSync(join(top, 'checks'), { recursive: true })
  writeFileSync(join(workspace, 'package.json'), '{"scripts":{"test":"true"}}')
  expect((await check(['npm run nosuch'])).failed?.script).toEqual({
    name: 'nosuch',
    manifest: 'package.json',
    exists: false,
  })
})
