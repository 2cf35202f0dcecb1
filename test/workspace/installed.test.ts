/** The installed packages beside their lockfile, as the real npm leaves them, and as other managers write about themselves. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inspectInstalled } from '../../src/workspace/installed.ts'
import { put } from './scene.ts'

let top: string
let pristine: string
let project: string

/** A package of our own as a file, so that the real npm installs it without any network. */
const pack = (name: string, version: string): string => {
  const bin = { [name]: 'cli.js' }
  put(join(top, `${name}-${version}`), {
    'package/package.json': JSON.stringify({ name, version, bin }),
    'package/index.js': 'module.exports = 1',
    'package/cli.js': '#!/usr/bin/env node\n',
  })
  execFileSync('tar', ['-czf', `${name}-${version}.tgz`, '-C', `${name}-${version}`, 'package'], { cwd: top })
  return `file:../${name}-${version}.tgz`
}

beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-installed-'))
  pristine = join(top, 'pristine')
  put(pristine, {
    'package.json': JSON.stringify({
      name: 'own',
      dependencies: { one: pack('one', '1.0.0'), two: pack('two', '1.0.0') },
    }),
  })
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: pristine })
})
beforeEach(() => {
  project = join(top, 'project')
  rmSync(project, { recursive: true, force: true })
  cpSync(pristine, project, { recursive: true, verbatimSymlinks: true })
})
afterAll(() => rmSync(top, { recursive: true, force: true }))

const tree = async (beside?: string) =>
  (await inspectInstalled(project, beside === undefined ? {} : { beside })).trees.at(0)
const same = {
  ecosystem: 'node',
  folder: '',
  lockfile: 'package-lock.json',
  state: 'same',
  differences: [],
  damage: [],
}

test('what npm installed is the same as its lockfile', async () => {
  expect(await tree(pristine)).toEqual(same)
})

test('a lockfile that moved on names what is missing and what is older', async () => {
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  lock.packages['node_modules/one'].version = '2.0.0'
  lock.packages['node_modules/three'] = { version: '1.0.0' }
  // Whether an optional one is there depends on the machine.
  lock.packages['node_modules/four'] = { version: '1.0.0', optional: true }
  put(project, { 'package-lock.json': JSON.stringify(lock) })
  expect(await tree()).toEqual({
    ...same,
    state: 'differs',
    differences: ['one is 1.0.0 instead of 2.0.0', 'three is missing'],
  })
})

test('a missing tree is absent; without a lockfile or dependencies no tree is expected', async () => {
  rmSync(join(project, 'node_modules'), { recursive: true })
  expect(await tree()).toEqual({ ...same, state: 'absent' })
  rmSync(join(project, 'package-lock.json'))
  expect(await tree()).toBeUndefined()
})

test('a package that is gone, empty or cut to nothing is damage', async () => {
  rmSync(join(project, 'node_modules/one/package.json'))
  truncateSync(join(project, 'node_modules/two/package.json'))
  expect(await tree()).toMatchObject({ damage: ['one has no package.json', 'two has no package.json'] })
})

test('a broken link to a program is damage, unless the checkout has the same', async () => {
  rmSync(join(project, 'node_modules/one/cli.js'))
  expect(await tree()).toMatchObject({ damage: [] })
  expect(await tree(pristine)).toMatchObject({ damage: ['.bin/one is a broken link'] })
  const other = join(top, 'other')
  cpSync(project, other, { recursive: true, verbatimSymlinks: true })
  expect(await tree(other)).toMatchObject({ damage: [] })
})

test.each<[string, Record<string, string>, object]>([
  [
    'pnpm, from the copy of its lockfile',
    { 'pnpm-lock.yaml': 'a: 1', 'node_modules/.pnpm/lock.yaml': 'a: 1', 'node_modules/x/package.json': '{}' },
    { lockfile: 'pnpm-lock.yaml', state: 'same' },
  ],
  [
    'pnpm, after a change',
    { 'pnpm-lock.yaml': 'a: 2', 'node_modules/.pnpm/lock.yaml': 'a: 1' },
    { state: 'differs', differences: ['the lockfile changed since the install'] },
  ],
  [
    'yarn 1, from the headers of its lockfile',
    {
      'yarn.lock':
        '# yarn lockfile v1\n\n\n"@s/one@^1.0.0", "@s/one@^1.1.0":\n  version "1.1.0"\n\ntwo@^2:\n  version "2.0.0"\n',
      'node_modules/.yarn-integrity': JSON.stringify({ lockfileEntries: { '@s/one@^1.0.0': '', '@s/one@^1.1.0': '' } }),
    },
    { lockfile: 'yarn.lock', state: 'differs', differences: ['two@^2 is not installed'] },
  ],
  [
    'bun, of which nothing can be told',
    { 'bun.lock': '{}', 'node_modules/x/package.json': '{}' },
    { state: 'unknown' },
  ],
  ['any, an empty package', { 'bun.lock': '{}', 'node_modules/@s/x/package.json': '' }, { damage: ['@s/x is empty'] }],
])('%s', async (_, files, expected) => {
  rmSync(project, { recursive: true })
  put(project, { 'package.json': '{"dependencies":{"x":"1"}}', ...files })
  expect(await tree()).toMatchObject(expected)
})

test('a package is declared by any manifest or lockfile of the project', async () => {
  put(project, { 'packages/a/package.json': '{"name":"@own/a","devDependencies":{"five":"1"}}' })
  const declared = async (name: string) => (await inspectInstalled(project, { name })).asked?.declared
  expect(await declared('one')).toBe(true)
  expect(await declared('five')).toBe(true)
  expect(await declared('@own/a')).toBe(true)
  expect(await declared('on')).toBe(false)
  expect(await declared('left-pad')).toBe(false)
})

test('nothing is read through a link, and a pipe does not hold it up', async () => {
  const secret = join(top, 'secret')
  put(secret, { 'package.json': '{"dependencies":{"left-pad":"1"}}' })
  rmSync(join(project, 'package.json'))
  symlinkSync(join(secret, 'package.json'), join(project, 'package.json'))
  expect(await inspectInstalled(project, { name: 'left-pad' })).toEqual({
    trees: [],
    asked: { name: 'left-pad', declared: false },
  })
  rmSync(join(project, 'package.json'))
  execFileSync('mkfifo', [join(project, 'package.json')])
  expect(await tree()).toBeUndefined()
})
