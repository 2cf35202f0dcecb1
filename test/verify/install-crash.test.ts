/** The engine is killed while the package manager is at work in the clone: before the agent, or after a check lacked a package. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { processesWithEnvironment } from '../../src/platform/process.ts'
import { markerName } from '../../src/process/find.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { killable } from '../support/killable.ts'
import { isLongForm } from '../support/form.ts'

const lock = {
  ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
  packages: {
    '': { name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } },
    dep: { name: 'tiny', version: '1.0.0' },
    'node_modules/tiny': { resolved: 'dep', link: true },
  },
}
const project = {
  'package.json': JSON.stringify({ name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } }),
  'package-lock.json': JSON.stringify(lock),
  'dep/package.json': '{"name":"tiny","version":"1.0.0"}',
  'dep/index.js': 'module.exports = 1',
  // The whole of the install, and nothing of the half that was there. Packages are removed when their run has ended.
  'use.js': `const one = require('tiny')
const { existsSync, readFileSync, readlinkSync } = require('node:fs')
if (readlinkSync('node_modules/tiny') !== '../dep') throw new Error('tiny is not the linked package')
if (existsSync('node_modules/half')) throw new Error('the half install is still there')
if (!readFileSync('node_modules/.package-lock.json', 'utf8').includes('node_modules/tiny')) throw new Error('not laid by npm')
process.exit(one === 1 ? 0 : 1)`,
}

const inFolder = (folder: string): Record<string, string> => ({
  '.gitignore': 'node_modules\n',
  ...Object.fromEntries(Object.entries(project).map(([path, text]) => [`${folder}${path}`, text])),
})

let programs: string
let scene: Scene
const engines: ChildProcess[] = []

/** At its first install it leaves half of one and comes to no end; at every other start it is npm. */
const npm = (): string => `#!/bin/sh
PATH='${process.env.PATH ?? ''}'
[ "$1" = --version ] && exec npm "$@"
echo "$PWD" >> '${programs}/starts'
if mkdir '${programs}/first' 2>/dev/null; then
  mkdir -p node_modules/tiny node_modules/half
  echo '{"name":"tiny"' > node_modules/tiny/package.json
  echo '{"lockfileVersion":3' > node_modules/.package-lock.json
  echo $$ > '${programs}/waits'
  exec tail -f /dev/null
fi
kill -0 "$(cat '${programs}/waits')" 2>/dev/null && touch '${programs}/beside'
exec npm "$@"
`

const starts = (): string[] => readFileSync(join(programs, 'starts'), 'utf8').trim().split('\n')

const isPid = (path: string): boolean => existsSync(path) && /^\d+\n$/.test(readFileSync(path, 'utf8'))

beforeEach(() => {
  programs = mkdtempSync(join(tmpdir(), 'unstuck-install-'))
  mkdirSync(join(programs, 'bin'))
  writeFileSync(join(programs, 'bin', 'npm'), npm(), { mode: 0o755 })
})
afterEach(async () => {
  await scene.clear()
  engines.length = 0
  rmSync(programs, { recursive: true, force: true })
})

/** Kills the engine in the first install and lets the next one go on. */
const killInInstall = async (
  folder: string,
  command: string,
  config = {},
): Promise<{ goal: string; marker: string }> => {
  const agent = { driver: 'claude' as const, program: `begin(); put('made.txt', 'made'); end()` }
  const environment = { PATH: [join(programs, 'bin'), process.env.PATH ?? ''].join(delimiter) }
  scene = await openScene({ agent }, config, { files: inFolder(folder), environment, start: killable(engines) })
  const goal = await scene.goal([{ commands: [command, 'node check.js'] }])
  await scene.waitFor('the install', async () => isPid(join(programs, 'waits')) || undefined)
  const [before] = await scene.runs(goal)
  await scene.restart()
  expect(engines[0]?.signalCode).toBe('SIGKILL')
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.task(goal)).place).toBe('done')
  const [run, ...others] = await scene.runs(goal)
  expect(others).toEqual([])
  expect(run, JSON.stringify(run?.verdict)).toMatchObject({
    ...{ id: before?.id, state: 'success' },
    verdict: {
      outcome: 'verified',
      checks: [{ command, exitCode: 0 }, { exitCode: 0 }],
      dropped: [],
      installed: [{ manager: 'npm', folder: folder.replace('/', '') }],
    },
  })
  return { goal, marker: `${before?.id}-check` }
}

/** Two installs in one folder would spoil each other's work. */
const nothingIsLeft = (marker: string): void => {
  const [clone = '', ...again] = starts()
  expect(again).toEqual([clone])
  expect(existsSync(join(programs, 'beside'))).toBe(false)
  expect(existsSync(join(clone, 'node_modules'))).toBe(false)
  expect(processesWithEnvironment(markerName, marker)).toEqual([])
}

/** With a set-up command of the owner nothing is installed before the agent. */
const withoutInstalls = { workspace: { setup: 'true' } }

test.runIf(isLongForm)(
  'for a check: the next engine ends what is left, installs again, and the check decides',
  async () => {
    const { goal, marker } = await killInInstall('app/', 'cd app && node use.js', withoutInstalls)
    // The intent of the engine that was killed, carried out by the next one.
    expect(await scene.recoveries(goal)).toMatchObject([
      {
        ...{ playbook: 'dependency-install', status: 'success', counted: true, attempt: 1 },
        detail: 'cd app && node use.js ran and passed',
      },
    ])
    expect(await scene.events(goal, 'recovery.started')).toHaveLength(1)
    nothingIsLeft(marker)
  },
  400_000,
)

test('before the agent: the next engine ends what is left and installs again, and no check lacks a package', async () => {
  const { goal, marker } = await killInInstall('', 'node use.js')
  expect(await scene.recoveries(goal)).toEqual([])
  expect(await scene.events(goal, 'run.packages_installed')).toHaveLength(1)
  nothingIsLeft(marker)
}, 400_000)
