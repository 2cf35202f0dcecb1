import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { removeWorkspace } from '../../src/workspace/clone.ts'
import { prepareDependencies, returnDependencies } from '../../src/workspace/dependencies.ts'
import { maintainPool } from '../../src/workspace/package-pool.ts'
import { listing, put, setScene, workspaceOf } from './scene.ts'
import type { Scene } from './scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

let scene: Scene
afterEach(async () => scene.clear())

const setProject = async (): Promise<void> => {
  scene = await setScene({
    'package.json': '{}',
    'package-lock.json': '{"v":1}',
    '.gitignore': 'node_modules\n',
    'packages/own/package.json': '{}',
  })
  put(scene.root, {
    'node_modules/dep/index.js': 'installed',
    'node_modules/.bin/tool': '#!/bin/sh\n',
    'node_modules/.package-lock.json': '{}',
  })
}

const cacheDir = (): string => join(scene.top, 'cache')
const prepare = (workspace: string) =>
  prepareDependencies({ repository: scene.repository, workspace, cacheDir: cacheDir() })
const tend = (): Promise<void> => maintainPool({ cacheDir: cacheDir(), signal: new AbortController().signal })

const kinds = (): string[] => readdirSync(cacheDir()).map((key) => join(cacheDir(), key))
const readyIn = (kind: string): string[] => {
  const ready = join(kind, 'ready')
  return existsSync(ready) ? readdirSync(ready).map((name) => join(ready, name)) : []
}
const inodeOf = (path: string): number => statSync(path).ino

/** A workspace that was given a tree of a pool that has some. */
const given = async (name: string): Promise<string> => {
  const workspace = await workspaceOf(scene, name)
  expect(await prepare(workspace)).toMatchObject({ kind: 'copied' })
  return workspace
}

const warmPool = async (): Promise<string> => {
  await setProject()
  await removeWorkspace(await given('first'))
  await tend()
  const [kind = ''] = kinds()
  expect(readyIn(kind)).toHaveLength(2)
  return kind
}

test('a workspace takes a ready tree by rename, and the next one is made', async () => {
  const kind = await warmPool()
  const waiting = readyIn(kind).map(inodeOf)
  const workspaces = [await given('one'), await given('two'), await given('three')]
  const inodes = workspaces.map((workspace) => inodeOf(join(workspace, 'node_modules')))
  expect(new Set(inodes).size).toBe(3)
  expect(new Set(inodes.slice(0, 2))).toEqual(new Set(waiting))
  for (const workspace of workspaces)
    expect(listing(join(workspace, 'node_modules'))).toEqual(listing(join(scene.root, 'node_modules')))
  await tend()
  expect(readyIn(kind)).toHaveLength(2)
  expect(readdirSync(cacheDir()).filter((name) => name.startsWith('making'))).toEqual([])
})

test.runIf(isLongForm)('many workspaces at once get a tree each', async () => {
  await warmPool()
  const workspaces = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => workspaceOf(scene, name)))
  await Promise.all(workspaces.map(prepare))
  const files = workspaces.map((workspace) => join(workspace, 'node_modules/dep/index.js'))
  for (const [index, file] of files.entries()) writeFileSync(file, String(index))
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(['0', '1', '2', '3', '4'])
})

test('a tree that is as it was installed is given again, without what tools put into it', async () => {
  const kind = await warmPool()
  const workspace = await given('one')
  const tree = join(workspace, 'node_modules')
  const inode = inodeOf(tree)
  put(tree, { '.cache/tool/poisoned.js': 'x', 'dep/added.js': 'x' })
  await returnDependencies(workspace)
  expect(existsSync(tree)).toBe(false)
  await tend()
  const back = readyIn(kind).find((path) => inodeOf(path) === inode) ?? ''
  expect(listing(back)).toEqual(listing(join(scene.root, 'node_modules')))
})

test.each<[string, (tree: string) => void]>(
  shortened(
    [
      [
        'was written to, and its times set back',
        (tree) => {
          const path = join(tree, '.bin/tool')
          const { atime, mtime } = statSync(path)
          writeFileSync(path, '#!/bin/no\n')
          utimesSync(path, atime, mtime)
        },
      ],
      ['lost a file', (tree) => rmSync(join(tree, 'dep/index.js'))],
      ['has a file that may run now', (tree) => chmodSync(join(tree, 'dep/index.js'), 0o755)],
      [
        'has a file with a second name elsewhere',
        (tree) => linkSync(join(tree, 'dep/index.js'), join(scene.top, 'second')),
      ],
      [
        'has a link in the place of a folder',
        (tree) => {
          renameSync(join(tree, 'dep'), join(scene.top, 'dep'))
          symlinkSync(join(scene.top, 'dep'), join(tree, 'dep'))
        },
      ],
    ],
    2,
  ),
)('a tree that %s is not given again', async (_what, change) => {
  const kind = await warmPool()
  const workspace = await given('one')
  const tree = join(workspace, 'node_modules')
  const inode = inodeOf(tree)
  // Held open, its number is not given to a new folder.
  const held = openSync(tree, 'r')
  change(tree)
  await removeWorkspace(workspace)
  await tend()
  closeSync(held)
  expect(readyIn(kind).map(inodeOf)).not.toContain(inode)
  expect(readyIn(kind)).toHaveLength(2)
  for (const ready of readyIn(kind)) expect(listing(ready)).toEqual(listing(join(scene.root, 'node_modules')))
  expect(readdirSync(join(kind, 'returned'))).toEqual([])
})

test('what was changed in a tree is kept where the run asks for it', async () => {
  await warmPool()
  const workspace = await given('one')
  put(workspace, {
    'node_modules/dep/index.js': 'patched',
    'node_modules/.cache/x': 'x',
    'node_modules/dep/new.js': 'n',
  })
  rmSync(join(workspace, 'node_modules/.bin'), { recursive: true })
  const keepIn = join(scene.top, 'kept')
  await returnDependencies(workspace, keepIn)
  await tend()
  expect(readFileSync(join(keepIn, 'changes.txt'), 'utf8')).toBe(
    'added: dep/new.js\nchanged: dep/index.js\nremoved: .bin\n',
  )
  expect(readFileSync(join(keepIn, 'files/dep/index.js'), 'utf8')).toBe('patched')
})

test.runIf(isLongForm)('a link on the way to a tree is not followed: what it leads to stays where it is', async () => {
  await setProject()
  put(scene.root, { 'packages/own/node_modules/sub/index.js': 'mine' })
  const workspace = await given('one')
  rmSync(join(workspace, 'packages/own'), { recursive: true })
  symlinkSync(join(scene.root, 'packages/own'), join(workspace, 'packages/own'))
  await removeWorkspace(workspace)
  await tend()
  expect(readFileSync(join(scene.root, 'packages/own/node_modules/sub/index.js'), 'utf8')).toBe('mine')
})

test('nothing is made of a checkout that has other packages by now', async () => {
  await setProject()
  const workspace = await given('one')
  put(scene.root, { 'node_modules/.package-lock.json': '{"other":true}' })
  await removeWorkspace(workspace)
  await tend()
  expect(kinds().map((kind) => readdirSync(kind).sort())).toEqual([['origin.json', 'returned']])
  expect(kinds().flatMap((kind) => readdirSync(join(kind, 'returned')))).toEqual([])
})

test('leftovers of a killed engine are removed, and trees that were not used for long', async () => {
  const kind = await warmPool()
  put(cacheDir(), { 'making-1-dead/node_modules/dep/index.js': 'half' })
  const old = join(cacheDir(), '0'.repeat(32))
  mkdirSync(join(old, 'node_modules'), { recursive: true })
  const before = new Date(Date.now() - 15 * 24 * 3_600_000)
  utimesSync(old, before, before)
  await tend()
  expect(kinds()).toEqual([kind])
  expect(lstatSync(join(kind, 'node_modules')).isDirectory()).toBe(true)
})
