import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { prepareDependencies } from '../../src/workspace/dependencies.ts'
import type { Preparation } from '../../src/workspace/dependencies.ts'
import { listing, put, setScene, workspaceOf } from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const setProject = async (files: Record<string, string> = {}): Promise<void> => {
  scene = await setScene({
    'package.json': '{}',
    'package-lock.json': '{"v":1}',
    '.gitignore': 'node_modules\n',
    'packages/own/index.js': '1',
    ...files,
  })
  put(scene.root, { 'node_modules/dep/index.js': 'installed', 'node_modules/.package-lock.json': '{}' })
}

const prepare = async (workspace: string): Promise<Preparation> =>
  prepareDependencies({ repository: scene.repository, workspace, cacheDir: join(scene.top, 'cache') })

test('installed packages are copied if the lockfile is the same, and writing to the copy changes no other tree', async () => {
  await setProject()
  linkSync(join(scene.root, 'node_modules/dep/index.js'), join(scene.root, 'node_modules/dep/hard.js'))
  const [one, two] = [await workspaceOf(scene, 'one'), await workspaceOf(scene, 'two')]
  expect(await prepare(one)).toMatchObject({ kind: 'copied', notes: [] })
  writeFileSync(join(one, 'node_modules/dep/index.js'), 'overwritten by an install')
  expect(await prepare(two)).toMatchObject({ kind: 'copied' })
  const user = join(scene.root, 'node_modules/dep/index.js')
  expect([readFileSync(user, 'utf8'), readFileSync(join(two, 'node_modules/dep/index.js'), 'utf8')]).toEqual([
    'installed',
    'installed',
  ])
  expect(statSync(join(two, 'node_modules/dep/index.js')).ino).not.toBe(statSync(user).ino)
  expect(lstatSync(join(two, 'node_modules')).isSymbolicLink()).toBe(false)
})

test('runs that are prepared at the same time all get the packages', async () => {
  await setProject()
  for (let file = 0; file < 200; file += 1) put(scene.root, { [`node_modules/dep/${file % 20}/${file}.js`]: 'x' })
  const names = ['one', 'two', 'three', 'four']
  const workspaces = await Promise.all(names.map((name) => workspaceOf(scene, name)))
  const results = await Promise.all(workspaces.map((workspace) => prepare(workspace)))
  expect(results.map(({ kind }) => kind)).toEqual(['copied', 'copied', 'copied', 'copied'])
  for (const workspace of workspaces)
    expect(listing(join(workspace, 'node_modules'))).toEqual(listing(join(scene.root, 'node_modules')))
  expect(readdirSync(join(scene.top, 'cache')).filter((name) => name.includes('making'))).toEqual([])
})

test('links of workspaces lead into the own workspace, links out of the checkout are dropped with a note', async () => {
  await setProject()
  put(scene.top, { 'elsewhere/index.js': 'foreign' })
  const modules = join(scene.root, 'node_modules')
  symlinkSync('../packages/own', join(modules, 'relative'))
  symlinkSync(join(scene.root, 'packages/own'), join(modules, 'absolute'))
  symlinkSync(join(scene.top, 'elsewhere'), join(modules, 'foreign'))
  symlinkSync('../../elsewhere', join(modules, 'dep/foreign-too'))
  symlinkSync('../../../elsewhere', join(modules, 'dep/foreign-relative'))
  const dir = await workspaceOf(scene)
  const result = await prepare(dir)
  expect(result.notes).toHaveLength(2)
  expect(result.notes.join()).toContain('node_modules/foreign leads out')
  expect(readlinkSync(join(dir, 'node_modules/absolute'))).toBe('../packages/own')
  writeFileSync(join(dir, 'node_modules/relative/index.js'), 'changed')
  expect(readFileSync(join(dir, 'packages/own/index.js'), 'utf8')).toBe('changed')
  expect(readFileSync(join(scene.root, 'packages/own/index.js'), 'utf8')).toBe('1')
  expect(existsSync(join(dir, 'node_modules/foreign'))).toBe(false)
})

test('a changed or missing lockfile means no copy, with the reason', async () => {
  await setProject()
  const dir = await workspaceOf(scene)
  put(dir, { 'package-lock.json': '{"v":2}' })
  expect(await prepare(dir)).toMatchObject({
    kind: 'skipped',
    reason: expect.stringContaining('package-lock.json differs'),
  })
  rmSync(join(dir, 'package-lock.json'))
  rmSync(join(scene.root, 'package-lock.json'))
  expect(await prepare(dir)).toMatchObject({ kind: 'skipped', reason: expect.stringContaining('neither a lockfile') })
  expect(existsSync(join(dir, 'node_modules'))).toBe(false)
})

test('npm workspaces without a lockfile are copied until one of them asks for something else', async () => {
  scene = await setScene({
    'package.json': '{"workspaces":["packages/*"]}',
    'packages/own/package.json': '{"name":"own","dependencies":{"dep":"1.0.0"}}',
  })
  const packages = { 'node_modules/own': { resolved: 'packages/own', link: true } }
  put(scene.root, {
    'node_modules/.package-lock.json': JSON.stringify({ packages }),
    'node_modules/dep/index.js': 'installed',
  })
  const same = await workspaceOf(scene, 'same')
  expect(await prepare(same)).toMatchObject({ kind: 'copied' })
  const other = await workspaceOf(scene, 'other')
  put(other, { 'packages/own/package.json': '{"name":"own","dependencies":{"dep":"2.0.0"}}' })
  expect(await prepare(other)).toMatchObject({ kind: 'skipped', reason: expect.stringContaining('packages/own') })
})

test('nothing installed, or node_modules as a symlink, is none', async () => {
  scene = await setScene({ 'package-lock.json': '{}' })
  const dir = await workspaceOf(scene)
  expect(await prepare(dir)).toMatchObject({ kind: 'none' })
  mkdirSync(join(scene.top, 'elsewhere'))
  symlinkSync(join(scene.top, 'elsewhere'), join(scene.root, 'node_modules'))
  expect(await prepare(dir)).toMatchObject({ kind: 'none' })
  expect(existsSync(join(dir, 'node_modules'))).toBe(false)
})

test.each(['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'npm-shrinkwrap.json'])(
  'a project with %s is copied, sub-packages included',
  async (lock) => {
    scene = await setScene({ [lock]: 'x', 'packages/own/package.json': '{}' })
    put(scene.root, { 'node_modules/dep/i.js': '1', 'packages/own/node_modules/sub/i.js': '2' })
    const dir = await workspaceOf(scene)
    expect(await prepare(dir)).toMatchObject({ kind: 'copied', reason: '2 of 2 package folders copied' })
    expect(readFileSync(join(dir, 'packages/own/node_modules/sub/i.js'), 'utf8')).toBe('2')
  },
)

test('a new install in the checkout is copied anew, a half-made cache or copy of a crash is not used', async () => {
  await setProject()
  const one = await workspaceOf(scene, 'one')
  await prepare(one)
  put(scene.root, { 'node_modules/.package-lock.json': '{"new":1}', 'node_modules/dep/index.js': 'newer' })
  const two = await workspaceOf(scene, 'two')
  put(scene.top, { 'state/runs/two.dependencies/half.js': 'half' })
  await prepare(two)
  expect(readFileSync(join(two, 'node_modules/dep/index.js'), 'utf8')).toBe('newer')
  expect(listing(join(two, 'node_modules'))).toEqual(['.package-lock.json', 'dep'])
  expect(listing(join(scene.top, 'state/runs'))).not.toContain('two.dependencies')
  expect(await prepare(two)).toMatchObject({ kind: 'copied' })
})

test('an aborted copy throws and leaves no node_modules', async () => {
  await setProject()
  const dir = await workspaceOf(scene)
  const request = {
    repository: scene.repository,
    workspace: dir,
    cacheDir: join(scene.top, 'cache'),
    signal: AbortSignal.abort(),
  }
  await expect(prepareDependencies(request)).rejects.toThrow(/abort/i)
  expect(existsSync(join(dir, 'node_modules'))).toBe(false)
})
