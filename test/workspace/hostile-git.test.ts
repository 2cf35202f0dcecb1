import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureBase, captureTree } from '../../src/workspace/changes.ts'
import { createWorkspace, removeWorkspace } from '../../src/workspace/clone.ts'
import { buildCommit, buildTree } from '../../src/workspace/commit.ts'
import { fastForward } from '../../src/workspace/forward.ts'
import { ensureGoalBranch, integrate, publish, restoreRef } from '../../src/workspace/branches.ts'
import { compareRefs, readRefs } from '../../src/workspace/refs.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { keepAgentCommits, restoreSnapshot, takeSnapshot } from '../../src/workspace/snapshot.ts'
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
import type { Canary, Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const at = '2026-01-01T00:00:00.000Z'

/** Everything the engine does with a workspace once an agent was in it. Returns what it found there, with what no filter may store. */
const handle = async (dir: string): Promise<string[]> => {
  const { shadow, head } = scene
  const list = await captureTree(shadow, { base: head, workTree: dir, indexFile: scene.index })
  const kept = await takeSnapshot(shadow, {
    runId: 'run1',
    workTree: dir,
    base: head,
    reason: 'stop',
    at,
    includeIgnored: true,
  })
  await restoreSnapshot(shadow, { id: kept.id, into: mkdtempSync(join(scene.top, 'restored-')) })
  await keepAgentCommits(shadow, { workspace: dir, runId: 'run1', base: head })
  const paths = list.changes.map(({ path }) => path)
  const tree = await buildTree(shadow, { base: head, tree: list.tree, paths })
  await buildCommit(shadow, { base: head, tree, subject: 's', body: '', trailers: {} })
  return [...paths, ...list.leftOut.map(({ path }) => path)].sort()
}

/** The trap is real: plain git in the same place starts the canary. */
const expectTrap = async (canary: Canary, cwd: string): Promise<void> => {
  try {
    user(cwd, 'status')
    user(cwd, 'add', '-A', '--dry-run')
  } catch {
    // plain git may fail on what the canary answers; only that it was started counts
  }
  expect(canary.sung()).toBe(true)
  await canary.reset()
}

test('hooks, configuration, filters and includes of an agent start nothing', async () => {
  scene = await setScene({ 'a.md': 'a', 'b.txt': 'b', 'c.ts': 'c', 'd.js': 'd' })
  const dir = await workspaceOf(scene)
  const canary = makeCanary(scene.top)
  put(dir, { 'committed.txt': 'x' })
  commitAll(dir)
  makeHostile(join(dir, '.git'), canary)
  put(dir, { '.gitattributes': attributes, 'a.md': 'A', 'c.ts': 'C', 'd.js': 'D', 'e.txt': 'E' })
  await expectTrap(canary, dir)
  expect(await handle(dir)).toEqual(['.gitattributes', 'a.md', 'c.ts', 'committed.txt', 'd.js', 'e.txt'])
  await removeWorkspace(dir)
  expect(canary.sung()).toBe(false)
})

test('a nested repository with a monitor of its own is not entered', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  makeRepository(join(scene.top, 'library'))
  user(scene.root, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', join(scene.top, 'library'), 'lib')
  scene.head = commitAll(scene.root)
  const dir = await workspaceOf(scene)
  const canary = makeCanary(scene.top)
  // At the very commit that the base records, because only then git would look for changes inside.
  user(dir, 'clone', '--quiet', join(scene.top, 'library'), 'lib')
  makeRepository(join(dir, 'inner'), { 'x.md': 'x' })
  for (const name of ['lib', 'inner']) {
    makeHostile(join(dir, name, '.git'), canary)
    put(join(dir, name), { '.gitattributes': attributes, 'x.md': 'y' })
  }
  await expectTrap(canary, join(dir, 'inner'))
  await handle(dir)
  expect(canary.sung()).toBe(false)
})

test('core.worktree, moved refs and a repository format of the future do not mislead', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'changed' })
  user(dir, 'commit', '-qam', 'x')
  user(dir, 'config', 'core.worktree', '/etc')
  user(dir, 'update-ref', 'refs/heads/other', 'HEAD')
  user(dir, 'update-ref', '-d', 'HEAD')
  appendFileSync(join(dir, '.git/config'), '[core]\n\trepositoryformatversion = 99\n')
  expect(await handle(dir)).toEqual(['a.txt'])
})

test('a .git led to another repository by file, symlink or shared objects leaks nothing and starts nothing', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  const canary = makeCanary(scene.top)
  const other = join(scene.top, 'other')
  makeRepository(other, { 'SECRET.txt': 's' })
  makeHostile(join(other, '.git'), canary)
  put(dir, { 'a.txt': 'changed' })
  renameSync(join(dir, '.git'), join(scene.top, 'aside'))
  symlinkSync(join(other, '.git'), join(dir, '.git'))
  await expectTrap(canary, dir)
  expect(await handle(dir)).toEqual(['a.txt'])
  expect(await keepAgentCommits(scene.shadow, { workspace: dir, runId: 'r', base: scene.head })).toMatchObject({
    kept: [],
  })
  unlinkSync(join(dir, '.git'))
  writeFileSync(join(dir, '.git'), `gitdir: ${join(other, '.git')}\n`)
  expect(await handle(dir)).toEqual(['a.txt'])
  rmSync(join(dir, '.git'))
  expect(await handle(dir)).toEqual(['a.txt'])
  expect(canary.sung()).toBe(false)
})

test('symlinks that lead out of the workspace are stored as links and restored as links', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  put(scene.top, { 'outside/secret.txt': 'SECRET' })
  symlinkSync(join(scene.top, 'outside'), join(dir, 'out'))
  symlinkSync(join(scene.top, 'outside/secret.txt'), join(dir, '.gitignore'))
  expect(await handle(dir)).toEqual(['.gitignore', 'out'])
  const objects = user(scene.shadow.gitDir, 'cat-file', '--batch-check', '--batch-all-objects')
  const secret = user(scene.root, 'hash-object', join(scene.top, 'outside/secret.txt'))
  expect(objects).not.toContain(secret)
})

test("hooks, monitor, filters and programs configured in the user's repository are never started by the engine", async () => {
  const files = { '.gitattributes': `${attributes}a.md !filter\n`, 'a.md': 'a', 'b.txt': 'b', 'c.ts': 'c', 'd.js': 'd' }
  scene = await setScene(files)
  const canary = makeCanary(scene.top)
  user(scene.root, 'branch', 'idle')
  const untouched = readFileSync(join(scene.root, '.git/index'))
  makeHostile(join(scene.root, '.git'), canary)
  await expectTrap(canary, scene.root)
  writeFileSync(join(scene.root, '.git/index'), untouched)

  const repository = await openRepository(scene.root)
  const before = await readRefs(repository)
  const shadow = await openShadow(join(scene.top, 'state'), repository)
  scene = { ...scene, repository, shadow }
  const dir = join(scene.top, 'ws')
  await createWorkspace({ repository, base: scene.head, dir, branch: 'work' })
  put(dir, { 'a.md': 'A', 'c.ts': 'C', 'new.js': 'N' })
  rmSync(join(dir, 'd.js'))
  const { tree } = await captureTree(shadow, { base: scene.head, workTree: dir, indexFile: scene.index })
  await captureBase(shadow, { workTree: scene.root, indexFile: `${scene.index}2`, name: 'g', at })
  await takeSnapshot(shadow, { runId: 'r', workTree: scene.root, base: scene.head, reason: 'x', at })
  const commit = await buildCommit(shadow, {
    base: scene.head,
    tree,
    subject: 's',
    body: '',
    trailers: { 'Unstuck-Task': 't' },
  })
  const goal = await ensureGoalBranch(repository, { name: 'unstuck/goal/g', start: scene.head })
  const landed = await integrate(shadow, { commit, onto: goal.head })
  if (!landed.ok) throw new Error('conflict')
  expect(await publish(repository, shadow, { ref: goal.ref, from: goal.head, to: landed.commit })).toBe('done')
  expect(landed.commit).toBe(commit)
  expect(await fastForward(repository, { branch: 'idle', to: commit })).toMatchObject({ ok: true })
  expect(await fastForward(repository, { branch: 'main', to: commit })).toMatchObject({ ok: true })
  expect(compareRefs(before, await readRefs(repository)).map(({ ref }) => ref)).toEqual([
    'refs/heads/idle',
    'refs/heads/main',
    'refs/heads/unstuck/goal/g',
  ])
  expect(await restoreRef(repository, { ref: 'refs/heads/idle', from: commit, to: scene.head })).toBe('done')
  expect([readFileSync(join(scene.root, 'a.md'), 'utf8'), existsSync(join(scene.root, 'd.js'))]).toEqual(['A', false])
  expect(canary.sung()).toBe(false)
})

test('a submodule of the user with a monitor of its own is not entered by a fast-forward', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  makeRepository(join(scene.top, 'library'))
  user(scene.root, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', join(scene.top, 'library'), 'lib')
  scene.head = commitAll(scene.root)
  const canary = makeCanary(scene.top)
  makeHostile(join(scene.root, '.git/modules/lib'), canary)
  put(scene.root, { 'lib/a.txt': 'dirty' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'A' })
  const { tree } = await captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index })
  const to = await buildCommit(scene.shadow, { base: scene.head, tree, subject: 's', body: '', trailers: {} })
  await publish(scene.repository, scene.shadow, { ref: 'refs/heads/g', from: null, to })
  await expectTrap(canary, join(scene.root, 'lib'))
  expect(await fastForward(scene.repository, { branch: 'main', to })).toMatchObject({ ok: true })
  expect(canary.sung()).toBe(false)
})
