/** Packages that an install of Unstuck brought: which later workspace gets them, and which must not. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { removeWorkspace } from '../../src/workspace/clone.ts'
import { prepareDependencies } from '../../src/workspace/dependencies.ts'
import { hasOwnInstall, keepOwnInstall } from '../../src/workspace/own-installs.ts'
import { maintainPool } from '../../src/workspace/package-pool.ts'
import { commitAll, put, setScene, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const manifest = (more: object = {}): string => JSON.stringify({ dependencies: { dep: '1' }, ...more })

const ignoring = { '.gitignore': 'node_modules\n' }

const files = {
  ...ignoring,
  'package.json': manifest(),
  'package-lock.json': '{"v":1}',
  'packages/own/package.json': manifest(),
  'extra/readme.txt': '',
}

const cacheDir = (): string => join(scene.top, 'cache')
const at = (workspace: string) => ({ repository: scene.repository, workspace, cacheDir: cacheDir() })
const lay = (workspace: string, more: object = {}) => prepareDependencies({ ...at(workspace), ...more })
const hasPackages = (workspace: string): boolean => existsSync(join(workspace, 'node_modules/dep/index.js'))

/** What a package manager leaves in a fresh clone. */
const install = async (workspace: string): Promise<boolean> => {
  put(workspace, {
    'node_modules/dep/index.js': 'installed',
    'packages/own/node_modules/other/index.js': 'installed',
    'extra/node_modules/there-before.js': '',
  })
  return keepOwnInstall({ ...at(workspace), before: ['extra'] })
}

test('the next workspace gets all folders of the install, and not what its agent wrote', async () => {
  scene = await setScene(files)
  const first = await workspaceOf(scene)
  expect((await lay(first)).kind).toBe('none')
  expect(await install(first)).toBe(true)
  put(first, { 'node_modules/dep/index.js': 'changed by an agent' })
  const second = await workspaceOf(scene, 'run2')
  expect((await lay(second)).kind).toBe('copied')
  expect(readFileSync(join(second, 'node_modules/dep/index.js'), 'utf8')).toBe('installed')
  expect(existsSync(join(second, 'packages/own/node_modules/other/index.js'))).toBe(true)
  expect(existsSync(join(second, 'extra/node_modules'))).toBe(false)
  expect(await hasOwnInstall(second)).toBe(true)
  // An ended run gives its packages back; only those that are as they were installed are used again.
  for (const each of [first, second]) await removeWorkspace(each)
  await maintainPool({ cacheDir: cacheDir(), signal: new AbortController().signal })
  const third = await workspaceOf(scene, 'run3')
  await lay(third)
  expect(readFileSync(join(third, 'node_modules/dep/index.js'), 'utf8')).toBe('installed')
})

test.each([
  ['another lockfile', { 'package-lock.json': '{"v":2}' }],
  ['a manifest that asks for more', { 'package.json': manifest({ devDependencies: { more: '1' } }) }],
  ['a part that asks for more', { 'packages/own/package.json': manifest({ devDependencies: { more: '1' } }) }],
  ['other settings', { '.npmrc': 'legacy-peer-deps=true\n' }],
  ['a script that runs at an install', { 'package.json': manifest({ scripts: { postinstall: 'node make.js' } }) }],
])('%s needs an install of its own', async (_what, changed) => {
  scene = await setScene(files)
  await install(await workspaceOf(scene))
  const workspace = await workspaceOf(scene, 'run2')
  put(workspace, changed)
  expect((await lay(workspace)).kind).toBe('none')
  expect([hasPackages(workspace), await hasOwnInstall(workspace)]).toEqual([false, false])
})

test('an install that runs scripts of the repository serves only its own workspace; one that only sets up hooks serves all', async () => {
  scene = await setScene({ ...files, 'package.json': manifest({ scripts: { prepare: 'node make.js' } }) })
  expect(await install(await workspaceOf(scene))).toBe(false)
  put(scene.root, { 'package.json': manifest({ scripts: { prepare: 'husky || true', test: 'node test.js' } }) })
  const base = commitAll(scene.root)
  expect(await install(await workspaceOf({ ...scene, head: base }, 'run2'))).toBe(true)
})

test('an install whose record is missing, or whose trees are damaged, is not used', async () => {
  scene = await setScene(files)
  await install(await workspaceOf(scene))
  const damaged = await workspaceOf(scene, 'run2')
  expect((await lay(damaged, { anew: true })).kind).toBe('none')
  await install(damaged)
  const again = await workspaceOf(scene, 'run3')
  expect((await lay(again)).kind).toBe('copied')
  rmSync(join(again, 'node_modules'), { recursive: true })
  expect(await hasOwnInstall(again)).toBe(false)
})

test('an install in a folder serves that folder, by its own files and those above', async () => {
  const parts = { 'web/package.json': manifest(), 'web/package-lock.json': '{"v":1}', 'api/package.json': manifest() }
  scene = await setScene({ ...ignoring, ...parts, 'api/package-lock.json': '{"v":1}', 'web/part/readme.txt': '' })
  const first = await workspaceOf(scene)
  put(first, { 'web/node_modules/dep/index.js': 'installed', 'web/part/node_modules/more/index.js': 'installed' })
  expect(await keepOwnInstall({ ...at(first), folder: 'web', before: [] })).toBe(true)
  const laidIn = async (name: string, changed: Record<string, string>): Promise<boolean[]> => {
    const workspace = await workspaceOf(scene, name)
    put(workspace, changed)
    await lay(workspace)
    return Promise.all(['', 'web', 'api'].map((folder) => hasOwnInstall(workspace, folder)))
  }
  expect(await laidIn('run2', {})).toEqual([false, true, false])
  expect(await laidIn('run3', { 'api/package-lock.json': '{"v":2}', 'package.json': '{}' })).toEqual([
    false,
    true,
    false,
  ])
  expect(await laidIn('run4', { 'web/package-lock.json': '{"v":2}' })).toEqual([false, false, false])
  expect(await laidIn('run5', { '.npmrc': 'legacy-peer-deps=true\n' })).toEqual([false, false, false])
})

test('an install that takes a package from beside its folder is kept by the manifests of all folders', async () => {
  const beside = JSON.stringify({ dependencies: { own: 'file:../own' } })
  scene = await setScene({ ...ignoring, 'web/package.json': beside, 'own/package.json': manifest() })
  const first = await workspaceOf(scene)
  put(first, { 'web/node_modules/dep/index.js': 'installed' })
  expect(await keepOwnInstall({ ...at(first), folder: 'web', before: [] })).toBe(true)
  const second = await workspaceOf(scene, 'run2')
  await lay(second)
  expect(await hasOwnInstall(second, 'web')).toBe(true)
  const third = await workspaceOf(scene, 'run3')
  put(third, { 'own/package.json': manifest({ devDependencies: { more: '1' } }) })
  await lay(third)
  expect(await hasOwnInstall(third, 'web')).toBe(false)
})

test('packages in a folder are not laid where git does not ignore them: they would be work', async () => {
  scene = await setScene({ 'web/package.json': manifest() })
  const first = await workspaceOf(scene)
  put(first, { 'web/node_modules/dep/index.js': 'installed' })
  expect(await keepOwnInstall({ ...at(first), folder: 'web', before: [] })).toBe(true)
  const second = await workspaceOf(scene, 'run2')
  expect((await lay(second)).kind).toBe('none')
  expect(existsSync(join(second, 'web/node_modules'))).toBe(false)
})
