/** Packages of ended runs: removed once the run has ended, kept while it goes on, laid again where a workspace is entered again. */
import { existsSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { repairDependencies } from '../../src/workspace/repair-dependencies.ts'
import { removePackages } from '../../src/workspace/packages.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { put, setScene, workspaceOf, type Scene as GitScene } from '../workspace/scene.ts'

let scene: Scene | undefined
let place: GitScene | undefined
afterEach(async () => {
  await scene?.clear()
  await place?.clear()
  scene = place = undefined
})

const lock = (name: string): string =>
  JSON.stringify({ name, version: '1.0.0', lockfileVersion: 3, packages: { '': { name, version: '1.0.0' } } })

const files = {
  '.gitignore': '/node_modules\n/lib/node_modules\n.venv\n',
  'package-lock.json': lock('app'),
  'lib/package-lock.json': lock('lib'),
}

const install = (root: string): void => {
  put(root, {
    'node_modules/.package-lock.json': lock('app'),
    'node_modules/tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
    'lib/node_modules/.package-lock.json': lock('lib'),
    'lib/node_modules/other/index.js': 'x'.repeat(100_000),
  })
}

test('what is installed goes, what git tracks and what lies behind a link stays, and a workspace that is entered gets it again', async () => {
  place = await setScene({ ...files, 'vendored/node_modules/kept.js': 'tracked' })
  install(place.root)
  const workspace = await workspaceOf(place)
  const request = { repository: place.repository, workspace, cacheDir: join(place.top, 'cache') }
  const enter = () => repairDependencies({ ...request, asideDir: join(place?.top ?? '', 'aside') })
  await enter()
  put(workspace, { '.venv/bin/python': '#!' })
  put(place.top, { 'outside/node_modules/x': 'x' })
  symlinkSync(join(place.top, 'outside'), join(workspace, 'away'))
  const packages = { workspace, base: place.head, more: ['.venv', 'away/node_modules'] }
  const want = ['.venv', 'lib/node_modules', 'node_modules']
  expect((await removePackages(place.shadow, { ...packages, dryRun: true })).sort()).toEqual(want)
  for (const path of want) expect(existsSync(join(workspace, path))).toBe(true)
  await removePackages(place.shadow, packages)
  for (const path of want) expect(existsSync(join(workspace, path))).toBe(false)
  expect(existsSync(join(workspace, 'vendored/node_modules/kept.js'))).toBe(true)
  expect(existsSync(join(place.top, 'outside/node_modules/x'))).toBe(true)
  expect(await removePackages(place.shadow, packages)).toEqual([])
  await enter()
  expect(readFileSync(join(workspace, 'node_modules/tiny/package.json'), 'utf8')).toContain('tiny')
})

interface Cleaned {
  kind: string
  id: string
  bytes?: number
}

test('they go when the run has ended and not before; what a killed engine left goes at the next start or by `clean`', async () => {
  const program = `begin(); if (existsSync('node_modules/tiny')) put('made.txt', 'made'); end()`
  scene = await openScene({ agent: { driver: 'claude', program } }, {}, { files })
  install(scene.root)
  const goal = await scene.goal([{ commands: ['test -d node_modules/tiny', 'node check.js'] }])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.task(goal)).place).toBe('done')
  const [run] = await scene.runs(goal)
  const home = join(scene.top, 'home')
  const root = join(home, readdirSync(home).find((name) => name.startsWith('repo-')) ?? '', 'runs', run?.id ?? '')
  const packages = join(root, 'workspace', 'node_modules')
  const gone = () => scene?.waitFor('no packages', async () => !existsSync(packages) || undefined)
  await gone()
  expect(existsSync(join(root, 'workspace', 'package.json'))).toBe(true)
  // As a killed engine leaves it.
  rmSync(join(root, 'packages-removed'))
  put(root, { 'workspace/node_modules/left/index.js': 'x', 'checked/node_modules/left/index.js': 'x' })
  await scene.restart()
  await gone()
  expect(existsSync(join(root, 'checked'))).toBe(false)
  put(join(root, 'workspace'), { 'node_modules/left/index.js': 'x' })
  const removed = await scene.post<Cleaned[]>('/clean', { dryRun: true })
  expect(removed).toContainEqual(expect.objectContaining({ kind: 'workspace', id: run?.id, bytes: expect.any(Number) }))
})
