import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  chmodSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createWorkspace } from '../../src/workspace/clone.ts'
import { overlayWork } from '../../src/workspace/overlay.ts'
import { takeSnapshot } from '../../src/workspace/snapshot.ts'
import { commitAll, put, setScene, user, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const kept = (workTree: string) =>
  takeSnapshot(scene.shadow, {
    runId: 'run1',
    workTree,
    base: scene.head,
    reason: 'limit',
    at: '2026-01-01T00:00:00.000Z',
  })

const freshAt = async (base: string): Promise<string> => {
  const dir = join(scene.top, 'state', 'runs', 'run2')
  await createWorkspace({ repository: scene.repository, base, dir, branch: 'next' })
  return dir
}

test('the work of an ended run is in the workspace of the next run, as uncommitted changes', async () => {
  scene = await setScene({ 'a.txt': 'a', 'gone.txt': 'g', 'same.txt': 's' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'changed', 'new/b.txt': 'b', 'run.sh': '#!/bin/sh' })
  chmodSync(join(dir, 'run.sh'), 0o755)
  rmSync(join(dir, 'gone.txt'))
  symlinkSync('a.txt', join(dir, 'link'))
  const { commit } = await kept(dir)
  const into = await freshAt(scene.head)
  const { written, kept: left } = await overlayWork(scene.shadow, {
    snapshot: commit,
    from: scene.head,
    onto: scene.head,
    into,
  })
  expect(written.map(({ path, kind }) => `${kind} ${path}`).toSorted()).toEqual(
    ['added link', 'added new/b.txt', 'added run.sh', 'deleted gone.txt', 'modified a.txt'].toSorted(),
  )
  expect(left).toEqual([])
  expect(readFileSync(join(into, 'a.txt'), 'utf8')).toBe('changed')
  expect(readFileSync(join(into, 'new/b.txt'), 'utf8')).toBe('b')
  expect(statSync(join(into, 'run.sh')).mode & 0o111).not.toBe(0)
  expect(readlinkSync(join(into, 'link'))).toBe('a.txt')
  expect(existsSync(join(into, 'gone.txt'))).toBe(false)
  expect(user(into, 'rev-parse', 'HEAD')).toBe(scene.head)
  expect(user(into, 'status', '--porcelain').split('\n')).toHaveLength(5)
})

test('files of a package manager in the ended run are left out, even if the repository does not ignore them', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'changed', 'node_modules/p/index.js': 'p', 'node_modules_of_mine.txt': 'mine' })
  const { commit } = await kept(dir)
  const into = await freshAt(scene.head)
  const request = { snapshot: commit, from: scene.head, onto: scene.head, into, exclude: ['node_modules'] }
  const { written, kept: left } = await overlayWork(scene.shadow, request)
  expect([written.map(({ path }) => path).toSorted(), left]).toEqual([['a.txt', 'node_modules_of_mine.txt'], []])
  expect(existsSync(join(into, 'node_modules'))).toBe(false)
})

test('paths that the base changed meanwhile keep the content of the base, also above and below a path', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'agent', 'b.txt': 'agent', 'place/deep.txt': 'agent' })
  const { commit } = await kept(dir)
  put(scene.root, { 'a.txt': 'others', place: 'a file now' })
  const onto = commitAll(scene.root)
  const into = await freshAt(onto)
  const { written, kept: left } = await overlayWork(scene.shadow, { snapshot: commit, from: scene.head, onto, into })
  expect([written.map(({ path }) => path), left.toSorted()]).toEqual([['b.txt'], ['a.txt', 'place/deep.txt']])
  expect(readFileSync(join(into, 'a.txt'), 'utf8')).toBe('others')
  expect(readFileSync(join(into, 'b.txt'), 'utf8')).toBe('agent')
  expect(readFileSync(join(into, 'place'), 'utf8')).toBe('a file now')
})

test('a link that becomes a folder is replaced and never written through', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const outside = join(scene.top, 'outside')
  mkdirSync(outside)
  symlinkSync(outside, join(scene.root, 'link'))
  const base = commitAll(scene.root)
  scene = { ...scene, head: base }
  const dir = await workspaceOf(scene)
  rmSync(join(dir, 'link'))
  put(dir, { 'link/in.txt': 'inside' })
  const { commit } = await kept(dir)
  const into = await freshAt(base)
  await overlayWork(scene.shadow, { snapshot: commit, from: base, onto: base, into })
  expect(existsSync(join(outside, 'in.txt'))).toBe(false)
  expect(lstatSync(join(into, 'link')).isDirectory()).toBe(true)
  expect(readFileSync(join(into, 'link/in.txt'), 'utf8')).toBe('inside')
})
