/** Submodules of a fresh clone: from local objects or not at all, and nothing that is done below them is lost in silence. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureTree } from '../../src/workspace/changes.ts'
import { overlayWork } from '../../src/workspace/overlay.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { restoreSnapshot, takeSnapshot } from '../../src/workspace/snapshot.ts'
import { checkOutSubmodules, type Submodules } from '../../src/workspace/submodules.ts'
import {
  attributes,
  commitAll,
  makeCanary,
  makeHostile,
  makeRepository,
  put,
  setScene,
  user,
  workspaceOf,
} from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const local = ['-c', 'protocol.file.allow=always'] as const

const add = (root: string, from: string, path: string): void => {
  user(root, ...local, 'submodule', 'add', '--quiet', from, path)
  commitAll(root)
}

/** A project with a submodule that has one itself. */
const nestedScene = async (): Promise<void> => {
  scene = await setScene({ 'a.txt': 'a' })
  makeRepository(join(scene.top, 'inner'), { 'inner.txt': 'inner' })
  makeRepository(join(scene.top, 'library'), { 'lib.txt': 'lib' })
  add(join(scene.top, 'library'), join(scene.top, 'inner'), 'deep/inner')
  add(scene.root, join(scene.top, 'library'), 'lib')
  user(scene.root, ...local, 'submodule', 'update', '--quiet', '--init', '--recursive')
  scene.head = user(scene.root, 'rev-parse', 'HEAD')
}

const lay = (workspace: string): Promise<Submodules> => checkOutSubmodules({ repository: scene.repository, workspace })

const capture = (dir: string) =>
  captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index, exclude: [] })

/** Without what the submodules were cloned from, a fetch could bring nothing. */
const cutOff = (): void => {
  for (const name of ['library', 'inner']) rmSync(join(scene.top, name), { recursive: true })
}

test('they are checked out from the local checkout, recursively and without their remotes', async () => {
  await nestedScene()
  cutOff()
  const dir = await workspaceOf(scene)
  expect(await lay(dir)).toEqual({ laid: ['lib', 'lib/deep/inner'], missing: [] })
  expect(readFileSync(join(dir, 'lib/deep/inner/inner.txt'), 'utf8')).toBe('inner')
  expect(user(dir, 'status', '--porcelain')).toBe('')
  expect(user(join(dir, 'lib'), 'status', '--porcelain')).toBe('')
  expect(await capture(dir)).toMatchObject({ changes: [], nestedRepositories: [], leftOut: [] })
})

test('from a linked worktree, and from a submodule that is checked out nowhere, they are found as well', async () => {
  await nestedScene()
  cutOff()
  user(scene.root, 'worktree', 'add', '--quiet', join(scene.top, 'linked'))
  scene.repository = await openRepository(join(scene.top, 'linked'))
  expect(await lay(await workspaceOf(scene))).toEqual({ laid: ['lib', 'lib/deep/inner'], missing: [] })
})

test('one without objects here is reported, its folder stays empty, and what an agent puts there is named', async () => {
  await nestedScene()
  rmSync(join(scene.root, '.git/modules/lib/modules'), { recursive: true })
  rmSync(join(scene.root, 'lib/deep/inner/.git'))
  const dir = await workspaceOf(scene)
  expect(await lay(dir)).toEqual({
    laid: ['lib'],
    missing: [{ path: 'lib/deep/inner', reason: 'its objects are not on this machine' }],
  })
  expect(readdirSync(join(dir, 'lib/deep/inner'))).toEqual([])
  put(dir, { 'lib/deep/inner/new.txt': 'x' })
  expect((await capture(dir)).leftOut).toMatchObject([
    { path: 'lib/deep/inner', reason: expect.stringContaining('lib/deep/inner/new.txt') },
  ])
})

test('a commit that the local objects do not hold counts as missing', async () => {
  await nestedScene()
  put(join(scene.top, 'library'), { 'newer.txt': 'n' })
  const newer = commitAll(join(scene.top, 'library'))
  user(scene.root, 'update-index', '--cacheinfo', `160000,${newer},lib`)
  user(scene.root, 'commit', '-qm', 'newer')
  scene.head = user(scene.root, 'rev-parse', 'HEAD')
  const dir = await workspaceOf(scene)
  const { laid, missing } = await lay(dir)
  expect(laid).toEqual([])
  expect(missing).toMatchObject([{ path: 'lib', reason: expect.stringContaining(newer.slice(0, 12)) }])
  expect(readdirSync(join(dir, 'lib'))).toEqual([])
})

test('changes below one are named, committed or not, keep the gitlink, and are kept in the snapshot', async () => {
  await nestedScene()
  const dir = await workspaceOf(scene)
  await lay(dir)
  put(dir, { 'a.txt': 'A', 'lib/lib.txt': 'changed', 'lib/new.txt': 'new' })
  commitAll(join(dir, 'lib'))
  rmSync(join(dir, 'lib', '.git'), { recursive: true })
  const found = await capture(dir)
  expect(found.changes).toMatchObject([{ path: 'a.txt' }])
  expect(found.nestedRepositories).toEqual([])
  const [leftOut, ...others] = found.leftOut
  expect(others).toEqual([])
  expect(leftOut).toMatchObject({ path: 'lib', reason: expect.stringContaining('(lib/lib.txt, lib/new.txt)') })
  const made = { runId: 'run1', workTree: dir, base: scene.head, reason: 'stop', at: '2026-01-01T00:00:00Z' }
  const kept = await takeSnapshot(scene.shadow, made)
  const into = join(scene.top, 'restored')
  await restoreSnapshot(scene.shadow, { id: kept.id, into })
  expect(readFileSync(join(into, 'lib/lib.txt'), 'utf8')).toBe('changed')
  // What was not changed is not copied into every snapshot.
  expect(existsSync(join(into, 'lib/deep'))).toBe(false)
  const next = await workspaceOf(scene, 'run2')
  await lay(next)
  await overlayWork(scene.shadow, { snapshot: kept.commit, from: scene.head, onto: scene.head, into: next })
  expect(readFileSync(join(next, 'lib/lib.txt'), 'utf8')).toBe('changed')
  expect(readFileSync(join(next, 'lib/deep/inner/inner.txt'), 'utf8')).toBe('inner')
})

test('names that lead out, URLs that start programs, hooks and filters of the source start nothing and lead nowhere', async () => {
  await nestedScene()
  const canary = makeCanary(scene.top)
  const source = join(scene.root, '.git/modules/lib')
  makeHostile(source, canary)
  writeFileSync(join(source, 'info', 'attributes'), attributes)
  mkdirSync(join(scene.top, 'elsewhere', 'objects'), { recursive: true })
  const modules = `[submodule "../../../elsewhere"]\n\tpath = lib\n\turl = ext::${canary.program}\n\tupdate = !${canary.program}\n`
  appendFileSync(join(scene.root, '.gitmodules'), modules)
  user(scene.root, '-c', 'core.hooksPath=/dev/null', 'commit', '-qam', 'hostile')
  scene.head = user(scene.root, 'rev-parse', 'HEAD')
  await canary.reset()
  const dir = await workspaceOf(scene)
  expect((await lay(dir)).laid).toContain('lib')
  put(dir, { 'lib/lib.txt': 'changed' })
  makeHostile(join(dir, 'lib', '.git'), canary)
  expect((await capture(dir)).leftOut).toHaveLength(1)
  expect(canary.sung()).toBe(false)
  // Only the name that leads out would have it now.
  rmSync(join(scene.root, 'lib', '.git'))
  rmSync(source, { recursive: true })
  expect((await lay(await workspaceOf(scene, 'run2'))).laid).toEqual([])
})
