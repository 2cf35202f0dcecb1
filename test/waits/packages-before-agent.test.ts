/** Where the owner's checkout has no packages, a run gets them before its agent starts, and the next run gets the same without an install. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

let scene: Scene
afterEach(() => scene?.clear())

/** Packages that come from the repository itself: their install needs no network. */
const asking = (...names: string[]): Record<string, string> => {
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:${name}`]))
  const packages = Object.fromEntries(
    names.flatMap((name) => [
      [name, { name, version: '1.0.0' }],
      [`node_modules/${name}`, { resolved: name, link: true }],
    ]),
  )
  const own = { name: 'app', version: '1.0.0', dependencies }
  return {
    'package.json': JSON.stringify(own),
    'package-lock.json': JSON.stringify({
      ...own,
      lockfileVersion: 3,
      requires: true,
      packages: { '': own, ...packages },
    }),
  }
}

// No file says what git ignores, so packages would be work if nothing else said that they are not.
const files = {
  ...asking('tiny'),
  'tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
  'tiny/index.js': 'module.exports = 1',
  'more/package.json': '{"name":"more","version":"1.0.0"}',
  'more/index.js': 'module.exports = 2',
  'use.js': "for (const name of Object.keys(require('./package.json').dependencies)) require(name)",
}

/** It says for each of its starts whether the packages were there. */
const noting = (work = ''): FaultAgent => ({
  driver: 'claude',
  program: `begin()
    const mine = count('TOP/starts')
    put('TOP/saw-' + mine, String(existsSync('node_modules/tiny/index.js')))
    put('made.txt', 'made')
    put('made-' + process.pid + '.txt', 'made')
    ${work}
    end()`,
})

const saw = (number: number): string => readFileSync(join(scene.top, `saw-${number}`), 'utf8')
const git = (...args: string[]): string => execFileSync('git', args, { cwd: scene.root, encoding: 'utf8' }).trim()

/** Opens a scene with an npm that counts its installs; `instead` = what it does in their place. */
const open = async (agent: FaultAgent, { instead = '', config = {}, more = {} } = {}): Promise<() => number> => {
  const programs = mkdtempSync(join(tmpdir(), 'unstuck-npm-'))
  onTestFinished(() => rmSync(programs, { recursive: true }))
  const npm = `#!/bin/sh
PATH='${process.env.PATH ?? ''}'
[ "$1" = --version ] && exec npm "$@"
echo "$PWD" >> '${programs}/installs'
${instead}
exec npm "$@"
`
  writeFileSync(join(programs, 'npm'), npm, { mode: 0o755 })
  const environment = { PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` }
  scene = await openScene({ agent }, config, { files: { ...files, ...more }, environment })
  return () =>
    existsSync(join(programs, 'installs'))
      ? readFileSync(join(programs, 'installs'), 'utf8').trim().split('\n').length
      : 0
}

const done = async (goal: string, number = 1): Promise<void> => {
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.task(goal, number)).place).toBe('done')
}

const check = { commands: ['node use.js'] }

test('packages are there at the first start, are installed once for all runs, and are no work', async () => {
  const installs = await open(noting())
  const goal = await scene.goal([check, check])
  await done(goal, 2)
  await done(goal)
  await done(await scene.goal([check]))
  expect([saw(1), saw(2), saw(3)]).toEqual(['true', 'true', 'true'])
  expect(existsSync(join(scene.top, 'saw-4'))).toBe(false)
  expect(installs()).toBe(1)
  expect(await scene.events(goal, 'run.packages_installed')).toHaveLength(1)
  expect(await scene.recoveries(goal)).toEqual([])
  expect(git('ls-tree', '-r', '--name-only', `unstuck/goal/${goal}`)).not.toContain('node_modules')
})

test.runIf(isLongForm)('work that changes the lockfile is checked with the packages that it names', async () => {
  const lay = Object.entries(asking('tiny', 'more')).map(([path, text]) => `put('${path}', ${JSON.stringify(text)})`)
  const installs = await open(noting(lay.join('\n')))
  const goal = await scene.goal([check])
  await done(goal)
  expect(saw(1)).toBe('true')
  expect(installs()).toBeGreaterThan(1)
  expect(git('ls-tree', '-r', '--name-only', `unstuck/goal/${goal}`)).not.toContain('node_modules')
})

test.runIf(isLongForm)(
  'an install that fails is diagnosed like a failed check, leaves nothing, and keeps no agent from its work',
  async () => {
    const lost =
      'mkdir -p node_modules/tiny; echo > node_modules/tiny/index.js; echo "npm error code ENOTFOUND" >&2; exit 1'
    await open(noting(), { instead: lost })
    const goal = await scene.goal([{ commands: ['node check.js'] }])
    await done(goal)
    expect(saw(1)).toBe('false')
    const [failed] = await scene.events(goal, 'run.install_failed')
    expect(failed?.payload).toMatchObject({ manager: 'npm', label: 'network_unreachable' })
  },
)

test.runIf(isLongForm)('the set-up command of the owner has precedence', async () => {
  const installs = await open(noting(), { config: { workspace: { setup: 'node tiny/index.js' } } })
  await done(await scene.goal([{ commands: ['node check.js'] }]))
  expect([saw(1), installs()]).toEqual(['false', 0])
})

test.runIf(isLongForm)(
  'packages of the checkout need no install, and a check that installs needs none before it',
  async () => {
    const installs = await open(noting(), { more: { '.gitignore': 'node_modules/\n' } })
    await done(await scene.goal([{ commands: ['npm ci', 'node use.js'] }]))
    expect([saw(1), installs()]).toEqual(['false', 1])
    execFileSync('npm', ['ci', '--offline', '--no-audit', '--no-fund'], { cwd: scene.root, stdio: 'ignore' })
    await done(await scene.goal([check]))
    expect([saw(2), installs()]).toEqual(['true', 1])
  },
)

const starting = (seen: string): FaultAgent => ({
  driver: 'claude',
  program: `begin(); put('TOP/saw-' + count('TOP/starts'), String(existsSync('${seen}'))); put('made.txt', 'made'); put('made-' + process.pid + '.txt', 'made'); end()`,
})

test.each(
  shortened(
    [
      ['once for all runs where git ignores them', 'node_modules\n', 1],
      ['and never are work of a run whose checks do not need them', 'nothing\n', 2],
    ],
    1,
  ),
)('packages of folders below the top are there where a check runs in them, %s', async (_case, ignored, installed) => {
  const web = Object.fromEntries(Object.entries(asking('tiny')).map(([path, text]) => [`web/${path}`, text]))
  const more = {
    ...web,
    'package.json': '{"scripts":{"test":"cd web && node use.js"}}',
    'package-lock.json': '{}',
    'web/tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
    'web/tiny/index.js': 'module.exports = 1',
    'web/use.js': files['use.js'],
    'unused/package.json': asking('tiny')['package.json'] ?? '',
    '.gitignore': ignored,
  }
  await open(starting('web/node_modules/tiny/index.js'), { more })
  const first = await scene.goal([{ commands: ['npm test'] }])
  await done(first)
  const second = await scene.goal([{ commands: ['cd web && node use.js'] }])
  await done(second)
  expect([saw(1), saw(2)]).toEqual(['true', 'true'])
  expect(await scene.events(first, 'run.install_started')).toMatchObject([{ payload: { folder: 'web' } }])
  expect(await scene.events(second, 'run.install_started')).toHaveLength(installed - 1)
  const third = await scene.goal([{ commands: ['node check.js'] }])
  await done(third)
  for (const goal of [first, second, third]) {
    expect(await scene.recoveries(goal)).toEqual([])
    expect(git('ls-tree', '-r', '--name-only', `unstuck/goal/${goal}`)).not.toContain('node_modules')
  }
})
