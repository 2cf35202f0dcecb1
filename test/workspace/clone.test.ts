import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureTree } from '../../src/workspace/changes.ts'
import { createWorkspace, removeWorkspace } from '../../src/workspace/clone.ts'
import {
  keepAgentCommits,
  listSnapshots,
  dropSnapshot,
  restoreSnapshot,
  takeSnapshot,
} from '../../src/workspace/snapshot.ts'
import { commitAll, listing, makeRepository, put, setScene, user, workspaceOf } from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const at = '2026-01-01T00:00:00.000Z'

test("a workspace is at the base on its own branch, without remote, hooks or the user's refs", async () => {
  scene = await setScene({ 'a.txt': 'a', 'sub/b.txt': 'b' })
  user(scene.root, 'branch', 'private')
  put(scene.root, { '.git/hooks/post-checkout': '#!/bin/sh\n', 'uncommitted.txt': 'x' })
  const dir = await workspaceOf(scene)
  expect(listing(dir)).toEqual(['.git', 'a.txt', 'sub'])
  expect(user(dir, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/work')
  expect(user(dir, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('work')
  expect(user(dir, 'remote')).toBe('')
  expect(listing(join(dir, '.git/hooks'))).toEqual([])
  expect(user(dir, 'status', '--porcelain')).toBe('')
})

test("an agent can commit in its workspace and the user's repository has no new object", async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  const count = (): string => user(scene.root, 'count-objects', '-v')
  const before = count()
  put(dir, { 'b.txt': 'b' })
  const commit = commitAll(dir)
  expect(user(dir, 'log', '--format=%s')).toBe('change\nfirst')
  expect(commit).not.toBe(scene.head)
  expect(count()).toBe(before)
  expect(() => user(scene.root, 'cat-file', '-e', commit)).toThrow()
})

test('patterns given are ignored inside the workspace', async () => {
  scene = await setScene()
  const dir = join(scene.top, 'ws')
  await createWorkspace({ repository: scene.repository, base: scene.head, dir, branch: 'work', exclude: ['/.run/'] })
  put(dir, { '.run/x': 'x' })
  expect(user(dir, 'status', '--porcelain')).toBe('')
})

test('a half-made folder of a crash is made anew, a finished one is returned with what is in it', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = join(scene.top, 'ws')
  put(scene.top, { 'ws/.git/HEAD': 'garbage', 'ws/a.txt': 'half', 'ws.making/a.txt': 'half' })
  const request = { repository: scene.repository, base: scene.head, dir, branch: 'work' }
  expect(await createWorkspace(request)).toMatchObject({ reused: false })
  expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('a')
  put(dir, { 'work.txt': 'paid for' })
  expect(await createWorkspace(request)).toMatchObject({ reused: true })
  expect(existsSync(join(dir, 'work.txt'))).toBe(true)
  await expect(createWorkspace({ ...request, branch: 'other' })).rejects.toMatchObject({ code: 'ILLEGAL' })
})

test('branch names that look like options or escape are refused before anything is created', async () => {
  scene = await setScene()
  for (const branch of ['-b', '../x', 'a b', '']) {
    const dir = join(scene.top, 'ws')
    await expect(
      createWorkspace({ repository: scene.repository, base: scene.head, dir, branch }),
    ).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(existsSync(dir)).toBe(false)
  }
})

test('removal takes folders without write permission and leaves what symlinks lead to', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  put(scene.top, { 'outside/kept.txt': 'x' })
  put(dir, { 'locked/deep/x.txt': 'x' })
  // So many that their removal is under way when that of the locked ones fails.
  put(dir, Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`many/${index}/x.txt`, 'x'])))
  symlinkSync(join(scene.top, 'outside'), join(dir, 'link'))
  chmodSync(join(dir, 'locked/deep'), 0o000)
  chmodSync(join(dir, 'locked'), 0o500)
  await removeWorkspace(dir)
  expect(existsSync(dir)).toBe(false)
  expect(existsSync(join(scene.top, 'outside/kept.txt'))).toBe(true)
})

test('a snapshot restores tracked and untracked changes byte for byte', async () => {
  scene = await setScene({
    '.gitattributes': '* text=auto eol=lf\n',
    'a.txt': 'a\n',
    'gone.txt': 'x\n',
    '.gitignore': 'out/\n',
  })
  const dir = await workspaceOf(scene)
  const mixed = 'one\r\ntwo\nthree\r\n'
  put(dir, { 'a.txt': mixed, 'new/ü.txt': 'n', 'out/build.txt': 'b', 'inner/file.txt': 'in a nested repository' })
  makeRepository(join(dir, 'inner'), {})
  symlinkSync('/etc/hostname', join(dir, 'link'))
  user(dir, 'rm', '-q', 'gone.txt')
  const base = { runId: 'run1', workTree: dir, base: scene.head, at }
  const plain = await takeSnapshot(scene.shadow, { ...base, reason: 'before the stop\nsecond line' })
  const all = await takeSnapshot(scene.shadow, { ...base, reason: 'before the discard', includeIgnored: true })
  expect([plain.id, all.id]).toEqual(['run1-1', 'run1-2'])
  const into = join(scene.top, 'restored')
  await restoreSnapshot(scene.shadow, { id: plain.id, into })
  expect(listing(into)).toEqual(['.gitattributes', '.gitignore', 'a.txt', 'inner', 'link', 'new'])
  expect(readFileSync(join(into, 'a.txt'), 'utf8')).toBe(mixed)
  await restoreSnapshot(scene.shadow, { id: all.id, into: `${into}2` })
  expect(readFileSync(join(`${into}2`, 'out/build.txt'), 'utf8')).toBe('b')
  expect(await listSnapshots(scene.shadow)).toEqual([plain, all])
  await dropSnapshot(scene.shadow, plain.id)
  expect(await listSnapshots(scene.shadow, 'run1')).toEqual([all])
})

test('files above the cap are left out and named, the others are kept', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  put(dir, { 'small.txt': 's', 'huge.bin': 'x'.repeat(5_000) })
  const kept = await takeSnapshot(scene.shadow, {
    runId: 'r',
    workTree: dir,
    base: scene.head,
    reason: 'x',
    at,
    maxBytes: 1_000,
  })
  expect(kept.leftOut).toEqual([{ path: 'huge.bin', bytes: 5_000 }])
  const into = join(scene.top, 'restored')
  await restoreSnapshot(scene.shadow, { id: kept.id, into })
  expect(listing(into)).toEqual(['a.txt', 'small.txt'])
})

test('a restore overwrites nothing and names what is in the way; an unknown name is an error', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  const { id } = await takeSnapshot(scene.shadow, { runId: 'r', workTree: dir, base: scene.head, reason: 'x', at })
  const into = join(scene.top, 'mine')
  mkdirSync(into)
  writeFileSync(join(into, 'precious.txt'), 'p')
  await expect(restoreSnapshot(scene.shadow, { id, into })).rejects.toMatchObject({
    code: 'ILLEGAL',
    message: expect.stringContaining('precious.txt'),
  })
  expect(listing(into)).toEqual(['precious.txt'])
  await expect(restoreSnapshot(scene.shadow, { id: 'no-such-1', into })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test("the agent's own commits are kept in the shadow, also when packed or on another branch", async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  put(dir, { 'b.txt': 'b' })
  const first = commitAll(dir, 'mine')
  user(dir, 'checkout', '--quiet', '-b', 'side/line')
  put(dir, { 'c.txt': 'c' })
  const second = commitAll(dir, 'aside')
  user(dir, 'gc', '--quiet')
  const result = await keepAgentCommits(scene.shadow, { workspace: dir, runId: 'run1', base: scene.head })
  expect(result.reason).toBeNull()
  expect(result.kept.map(({ commit }) => commit).sort()).toEqual([first, second].sort())
  await removeWorkspace(dir)
  expect(user(scene.shadow.gitDir, 'show', `${second}:c.txt`)).toBe('c')
  expect(user(scene.shadow.gitDir, 'show', `${first}:b.txt`)).toBe('b')
})

test('commits that cannot be kept are a reason, never an error', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  const keep = async () => keepAgentCommits(scene.shadow, { workspace: dir, runId: 'run1', base: scene.head })
  expect(await keep()).toEqual({ kept: [], reason: null })
  writeFileSync(join(dir, '.git/HEAD'), 'f'.repeat(40))
  expect(await keep()).toMatchObject({ kept: [], reason: expect.stringContaining('cat-file') })
  await removeWorkspace(dir)
  expect(await keep()).toMatchObject({ kept: [], reason: expect.any(String) })
})

test('the index of a new workspace makes the first capture know unchanged files', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = join(scene.top, 'ws')
  await createWorkspace({ repository: scene.repository, base: scene.head, dir, branch: 'work', indexFile: scene.index })
  put(dir, { 'a.txt': 'b' })
  const list = await captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index })
  expect(list.changes.map(({ path }) => path)).toEqual(['a.txt'])
})
