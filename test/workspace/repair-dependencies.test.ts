import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { prepareDependencies } from '../../src/workspace/dependencies.ts'
import { maintainPool } from '../../src/workspace/package-pool.ts'
import { repairDependencies, type RepairRequest } from '../../src/workspace/repair-dependencies.ts'
import { listing, put, setScene, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const lock = JSON.stringify({
  packages: { 'node_modules/dep': { version: '1.0.0' }, 'node_modules/two': { version: '1.0.0' } },
})

/** A workspace that was prepared from a checkout with two packages. */
const prepared = async (): Promise<RepairRequest> => {
  scene = await setScene({ 'package.json': '{}', 'package-lock.json': lock, '.gitignore': 'node_modules\n' })
  put(scene.root, {
    'node_modules/.package-lock.json': lock,
    'node_modules/dep/package.json': '{}',
    'node_modules/dep/cli.js': '',
    'node_modules/two/package.json': '{}',
  })
  mkdirSync(join(scene.root, 'node_modules/.bin'))
  symlinkSync('../dep/cli.js', join(scene.root, 'node_modules/.bin/dep'))
  const workspace = await workspaceOf(scene)
  const request = {
    ...{ repository: scene.repository, workspace, cacheDir: join(scene.top, 'cache') },
    asideDir: join(scene.top, 'state/aside'),
  }
  await prepareDependencies(request)
  return request
}

const whole = (request: RepairRequest): void =>
  expect(listing(join(request.workspace, 'node_modules'))).toEqual(listing(join(scene.root, 'node_modules')))

test('an undamaged tree is not changed', async () => {
  const request = await prepared()
  const before = lstatSync(join(request.workspace, 'node_modules')).ino
  expect(await repairDependencies(request)).toEqual({ damage: [], restored: 'copied' })
  expect(lstatSync(join(request.workspace, 'node_modules')).ino).toBe(before)
  expect(existsSync(request.asideDir)).toBe(false)
})

test.each<[string, (modules: string) => void, string]>([
  [
    'a package without its folder',
    (modules) => rmSync(join(modules, 'two'), { recursive: true }),
    'two has no package.json',
  ],
  [
    'a manifest cut to nothing',
    (modules) => truncateSync(join(modules, 'dep/package.json')),
    'dep has no package.json',
  ],
  ['a program that leads nowhere', (modules) => rmSync(join(modules, 'dep/cli.js')), '.bin/dep is a broken link'],
])('%s: put aside and laid again from the cache', async (...[, damage, text]) => {
  const request = await prepared()
  const modules = join(request.workspace, 'node_modules')
  put(modules, { 'patched.txt': 'by the agent' })
  damage(modules)
  expect(await repairDependencies(request)).toEqual({ damage: [`node_modules: ${text}`], restored: 'copied' })
  whole(request)
  expect(readFileSync(join(request.asideDir, '1/patched.txt'), 'utf8')).toBe('by the agent')
})

test('a cache that is damaged as well is refilled from the checkout', async () => {
  const request = await prepared()
  await maintainPool({ cacheDir: request.cacheDir, signal: new AbortController().signal })
  const [entry = ''] = readdirSync(request.cacheDir)
  const kind = join(request.cacheDir, entry)
  truncateSync(join(kind, 'node_modules/dep/package.json'))
  for (const ready of readdirSync(join(kind, 'ready'))) truncateSync(join(kind, 'ready', ready, 'dep/package.json'))
  truncateSync(join(request.workspace, 'node_modules/dep/package.json'))
  expect(await repairDependencies(request)).toMatchObject({ restored: 'copied' })
  whole(request)
  expect(readFileSync(join(request.workspace, 'node_modules/dep/package.json'), 'utf8')).toBe('{}')
})

test('if the checkout is damaged too, or has another lockfile, the packages are left to an install', async () => {
  const request = await prepared()
  truncateSync(join(request.workspace, 'node_modules/dep/package.json'))
  truncateSync(join(scene.root, 'node_modules/dep/package.json'))
  rmSync(request.cacheDir, { recursive: true })
  expect(await repairDependencies(request)).toMatchObject({ restored: 'skipped' })
  expect(existsSync(join(request.workspace, 'node_modules'))).toBe(false)
  put(scene.root, { 'node_modules/dep/package.json': '{}' })
  await prepareDependencies(request)
  put(request.workspace, { 'package-lock.json': lock.replaceAll('1.0.0', '2.0.0') })
  truncateSync(join(request.workspace, 'node_modules/dep/package.json'))
  expect(await repairDependencies(request)).toMatchObject({ restored: 'skipped' })
  expect(existsSync(join(request.workspace, 'node_modules'))).toBe(false)
  expect(readdirSync(request.asideDir)).toEqual(['1', '2'])
})

test('a crash between moving aside and restoring is repaired', async () => {
  const request = await prepared()
  mkdirSync(request.asideDir)
  renameSync(join(request.workspace, 'node_modules'), join(request.asideDir, '1'))
  await repairDependencies(request)
  whole(request)
})

test('packages that only Yarn lists are repaired as well', async () => {
  const request = await prepared()
  const trees = [scene.root, request.workspace]
  const lockfile = '__metadata:\n  version: 10\n'
  for (const root of trees) {
    rmSync(join(root, 'package-lock.json'))
    rmSync(join(root, 'node_modules/.package-lock.json'))
    put(root, {
      'yarn.lock': lockfile,
      '.yarnrc.yml': 'nodeLinker: node-modules\n',
      'node_modules/.yarn-state.yml': '"two@npm:1.0.0":\n  locations:\n    - "node_modules/two"\n',
    })
  }
  rmSync(join(request.workspace, 'node_modules/two/package.json'))
  put(request.workspace, { 'node_modules/two/index.js': '' })
  expect(await repairDependencies(request)).toEqual({
    damage: ['node_modules: two has no package.json'],
    restored: 'copied',
  })
  whole(request)
})

test('a stale virtual environment and stale vendored packages are not changed, because they cannot be restored', async () => {
  const request = await prepared()
  const others = {
    ...{ 'requirements.txt': 'x==1\n', '.venv/pyvenv.cfg': '', '.venv/lib/python3.11/site-packages/y.py': '' },
    ...{ 'go.mod': 'module m\nrequire x v1.0.0\n', 'vendor/modules.txt': '## explicit\n' },
  }
  put(request.workspace, others)
  truncateSync(join(request.workspace, 'node_modules/dep/package.json'))
  expect(await repairDependencies(request)).toMatchObject({ damage: ['node_modules: dep has no package.json'] })
  whole(request)
  for (const [path, text] of Object.entries(others))
    expect(readFileSync(join(request.workspace, path), 'utf8')).toBe(text)
  expect(listing(request.asideDir)).toEqual(['1'])
})

test('a symlink in place of the packages is not moved', async () => {
  const request = await prepared()
  const modules = join(request.workspace, 'node_modules')
  rmSync(modules, { recursive: true })
  put(scene.top, { 'elsewhere/.package-lock.json': lock })
  symlinkSync(join(scene.top, 'elsewhere'), modules)
  expect(await repairDependencies(request)).toMatchObject({ damage: [] })
  expect(lstatSync(modules).isSymbolicLink()).toBe(true)
})
