import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureBase, captureTree } from '../../src/workspace/changes.ts'
import type { ChangeList } from '../../src/workspace/repository-types.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { commitAll, makeRepository, put, setScene, temporaryFolder, user, workspaceOf } from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const kinds = (list: ChangeList): Record<string, string> =>
  Object.fromEntries(list.changes.map(({ path, kind }) => [path, kind]))

const captured = async (workTree: string): Promise<ChangeList> =>
  captureTree(scene.shadow, { base: scene.head, workTree, indexFile: scene.index })

test('committed, staged, unstaged, untracked and deleted changes count alike', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd', 'same.txt': 's' })
  const dir = await workspaceOf(scene)
  put(dir, { 'a.txt': 'committed' })
  commitAll(dir)
  put(dir, { 'b.txt': 'staged' })
  user(dir, 'add', 'b.txt')
  put(dir, { 'c.txt': 'unstaged', 'new/e.txt': 'untracked' })
  unlinkSync(join(dir, 'd.txt'))
  expect(kinds(await captured(dir))).toEqual({
    'a.txt': 'modified',
    'b.txt': 'modified',
    'c.txt': 'modified',
    'd.txt': 'deleted',
    'new/e.txt': 'added',
  })
})

test('a workspace without changes gives an empty list and the tree of the base', async () => {
  scene = await setScene({ 'a.txt': 'a', 'sub/b.txt': 'b' })
  const list = await captured(await workspaceOf(scene))
  expect(list.changes).toEqual([])
  expect(list.tree).toBe(user(scene.root, 'rev-parse', 'HEAD^{tree}'))
})

test('a rename shows the deleted source and the added target', async () => {
  scene = await setScene({ 'secrets/k.txt': 'the same long content\n'.repeat(20) })
  const dir = await workspaceOf(scene)
  mkdirSync(join(dir, 'src'))
  user(dir, 'mv', 'secrets/k.txt', 'src/k.txt')
  expect(kinds(await captured(dir))).toEqual({ 'secrets/k.txt': 'deleted', 'src/k.txt': 'added' })
})

test('names with brackets, spaces, line breaks, quotes and letters outside ASCII are literal', async () => {
  const names = [
    'app/[id]/page.tsx',
    'app/i/page.tsx',
    'with space.txt',
    'line\nbreak.txt',
    'src/日本.ts',
    'é"q\'.txt',
    '-rf',
    ':(top)x',
    '*.txt',
  ]
  scene = await setScene(Object.fromEntries(names.map((name) => [name, 'old'])))
  const dir = await workspaceOf(scene)
  unlinkSync(join(dir, 'app/[id]/page.tsx'))
  unlinkSync(join(dir, '*.txt'))
  const edited = names.filter((name) => !['app/[id]/page.tsx', 'app/i/page.tsx', '*.txt'].includes(name))
  for (const name of edited) writeFileSync(join(dir, name), 'new')
  put(dir, { 'neu ü.txt': 'x' })
  const expected = {
    ...Object.fromEntries(edited.map((name) => [name, 'modified'])),
    'app/[id]/page.tsx': 'deleted',
    '*.txt': 'deleted',
    'neu ü.txt': 'added',
  }
  expect(kinds(await captured(dir))).toEqual(expected)
})

test('mode changes and changes of type carry both modes', async () => {
  scene = await setScene({ 'run.sh': 'x', 'link.txt': 'x', file: 'x', 'folder/in.txt': 'x' })
  const dir = await workspaceOf(scene)
  chmodSync(join(dir, 'run.sh'), 0o755)
  unlinkSync(join(dir, 'link.txt'))
  symlinkSync('run.sh', join(dir, 'link.txt'))
  unlinkSync(join(dir, 'file'))
  put(dir, { 'file/now-a-folder.txt': 'x' })
  rmSync(join(dir, 'folder'), { recursive: true })
  put(dir, { folder: 'now a file' })
  const { changes } = await captured(dir)
  expect(changes).toContainEqual({ path: 'run.sh', kind: 'mode', oldMode: '100644', newMode: '100755' })
  expect(changes).toContainEqual({ path: 'link.txt', kind: 'type', oldMode: '100644', newMode: '120000' })
  expect(changes).toContainEqual({ path: 'file', kind: 'deleted', oldMode: '100644', newMode: '000000' })
  expect(changes.map(({ path }) => path).sort()).toEqual([
    'file',
    'file/now-a-folder.txt',
    'folder',
    'folder/in.txt',
    'link.txt',
    'run.sh',
  ])
})

test('a folder replaced by a symlink is one entry and nothing behind it is read', async () => {
  scene = await setScene({ 'src/a.txt': 'a', 'src/b.txt': 'b' })
  put(scene.top, { 'outside/a.txt': 'SECRET', 'outside/c.txt': 'SECRET' })
  const dir = await workspaceOf(scene)
  rmSync(join(dir, 'src'), { recursive: true })
  symlinkSync(join(scene.top, 'outside'), join(dir, 'src'))
  const list = await captured(dir)
  expect(kinds(list)).toEqual({ src: 'added', 'src/a.txt': 'deleted', 'src/b.txt': 'deleted' })
  expect(user(scene.shadow.gitDir, 'cat-file', 'blob', `${list.tree}:src`)).toBe(join(scene.top, 'outside'))
})

test('a tracked file that a new ignore pattern would hide is still seen', async () => {
  scene = await setScene({ 'kept.log': 'old', 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  put(dir, { '.gitignore': '*.log\n', 'kept.log': 'new', 'hidden.log': 'x' })
  expect(kinds(await captured(dir))).toEqual({ '.gitignore': 'added', 'kept.log': 'modified' })
})

test('index flags of the agent hide nothing', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const dir = await workspaceOf(scene)
  user(dir, 'update-index', '--assume-unchanged', 'a.txt')
  user(dir, 'update-index', '--skip-worktree', 'b.txt')
  put(dir, { 'a.txt': 'changed', 'b.txt': 'changed' })
  expect(kinds(await captured(dir))).toEqual({ 'a.txt': 'modified', 'b.txt': 'modified' })
})

test('files that the agent took from its checkout without removing them are no deletions, one that it removed is', async () => {
  scene = await setScene({ 'src/a.js': 'a', 'docs/b.md': 'b', 'docs/c.md': 'c' })
  const dir = await workspaceOf(scene)
  user(dir, 'sparse-checkout', 'set', 'docs')
  unlinkSync(join(dir, 'docs/c.md'))
  put(dir, { 'made.txt': 'made' })
  expect(kinds(await captured(dir))).toEqual({ 'docs/c.md': 'deleted', 'made.txt': 'added' })
  // An index that cannot be read says nothing: then what is missing counts as removed.
  writeFileSync(join(dir, '.git/index'), 'damaged')
  expect(kinds(await captured(dir))).toMatchObject({ 'src/a.js': 'deleted' })
})

test('a nested repository is reported, left out and a tracked folder with a .git of its own stays visible', async () => {
  scene = await setScene({ 'pkg/a.txt': 'a', 'was-file': 'x' })
  const dir = await workspaceOf(scene)
  makeRepository(join(dir, 'vendor/inner'))
  unlinkSync(join(dir, 'was-file'))
  makeRepository(join(dir, 'was-file'))
  makeRepository(join(dir, 'pkg'), { 'a.txt': 'changed', 'new.txt': 'n' })
  const list = await captured(dir)
  expect(list.nestedRepositories).toEqual(['vendor/inner', 'was-file'])
  expect(kinds(list)).toEqual({ 'pkg/a.txt': 'modified', 'pkg/new.txt': 'added', 'was-file': 'deleted' })
})

test('a submodule stays as in the base whether empty or filled, and its removal is seen', async () => {
  scene = await setScene()
  makeRepository(join(scene.top, 'library'))
  user(scene.root, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', join(scene.top, 'library'), 'lib')
  scene.head = commitAll(scene.root)
  const dir = await workspaceOf(scene)
  expect((await captured(dir)).changes).toEqual([])
  makeRepository(join(dir, 'lib'), { 'x.txt': 'x' })
  const filled = await captured(dir)
  expect([filled.changes, filled.nestedRepositories]).toEqual([[], ['lib']])
  rmSync(join(dir, 'lib'), { recursive: true })
  expect((await captured(dir)).changes).toEqual([
    { path: 'lib', kind: 'deleted', oldMode: '160000', newMode: '000000' },
  ])
})

test('a .git that was deleted, replaced by a file or by a symlink makes no difference', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const dir = await workspaceOf(scene)
  put(dir, { 'b.txt': 'b' })
  const before = await captured(dir)
  renameSync(join(dir, '.git'), join(scene.top, 'moved'))
  expect(await captured(dir)).toEqual(before)
  writeFileSync(join(dir, '.git'), 'gitdir: /nowhere\n')
  expect(await captured(dir)).toEqual(before)
  unlinkSync(join(dir, '.git'))
  symlinkSync(join(scene.top, 'moved'), join(dir, '.git'))
  expect(await captured(dir)).toEqual(before)
})

test('names that git does not store and unreadable things are listed, pipes are passed over, the rest is captured', async () => {
  scene = await setScene({ 'a.txt': 'a', 'was-file': 'x' })
  const dir = await workspaceOf(scene)
  put(dir, { 'git~1': 'x', 'ok.txt': 'x' })
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/bad-`), Buffer.from([0xff])]), 'x')
  unlinkSync(join(dir, 'was-file'))
  execFileSync('mkfifo', [join(dir, 'was-file'), join(dir, 'pipe')])
  const list = await captured(dir)
  expect(kinds(list)).toEqual({ 'ok.txt': 'added', 'was-file': 'deleted' })
  expect(list.leftOut.map(({ path }) => path).sort()).toEqual(['bad-\uFFFD', 'git~1'])
})

test('a pipe called .gitignore ends in a clear error, not in waiting for ever', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  execFileSync('mkfifo', [join(dir, '.gitignore')])
  const request = { base: scene.head, workTree: dir, indexFile: scene.index, timeoutMs: 1_500 }
  await expect(captureTree(scene.shadow, request)).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('timed out'),
  })
})

test('patterns of ours and of the user hide untracked files only', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  put(scene.root, { '.git/info/exclude': 'mine/\n' })
  scene.shadow = await openShadow(join(scene.top, 'state'), scene.repository)
  const dir = await workspaceOf(scene)
  put(dir, { 'mine/x': 'x', '.run/x': 'x', 'b.txt': 'b' })
  const list = await captureTree(scene.shadow, {
    base: scene.head,
    workTree: dir,
    indexFile: scene.index,
    exclude: ['/.run/'],
  })
  expect(kinds(list)).toEqual({ 'b.txt': 'added' })
})

test('line endings set by attributes do not show as changes', async () => {
  scene = await setScene({ '.gitattributes': '*.bat text eol=crlf\n', 'a.bat': 'one\r\ntwo\r\n' })
  const dir = await workspaceOf(scene)
  expect((await captured(dir)).changes).toEqual([])
})

test('a damaged index or a stale lock of a killed process is repaired', async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  put(dir, { 'b.txt': 'b' })
  const before = await captured(dir)
  writeFileSync(scene.index, 'garbage')
  writeFileSync(`${scene.index}.lock`, '')
  expect(await captured(dir)).toEqual(before)
})

test('a plain folder has a base in the shadow and shows only what changed since', async () => {
  scene = await setScene()
  const top = temporaryFolder()
  try {
    put(top, { 'notes/one.txt': '1', 'two.txt': '2' })
    const folder = await openRepository(top)
    scene.shadow = await openShadow(join(scene.top, 'plain-state'), folder)
    const base = await captureBase(scene.shadow, {
      workTree: top,
      indexFile: scene.index,
      name: 'goal1',
      at: '2026-01-01T00:00:00Z',
    })
    put(top, { 'two.txt': 'changed', 'three.txt': '3' })
    const list = await captureTree(scene.shadow, { base, workTree: top, indexFile: scene.index })
    expect(kinds(list)).toEqual({ 'three.txt': 'added', 'two.txt': 'modified' })
  } finally {
    rmSync(top, { recursive: true })
  }
})

test('the base of work in place includes what the user had not committed', async () => {
  scene = await setScene({ 'a.txt': 'a', '.gitignore': '*.log\n' })
  put(scene.root, { 'forced.log': 'tracked though ignored' })
  user(scene.root, 'add', '-f', 'forced.log')
  user(scene.root, 'commit', '-qm', 'log')
  scene.repository = await openRepository(scene.root)
  scene.shadow = await openShadow(join(scene.top, 'state'), scene.repository)
  put(scene.root, { 'a.txt': 'dirty', 'untracked.txt': 'u' })
  const base = await captureBase(scene.shadow, {
    workTree: scene.root,
    indexFile: scene.index,
    name: 'g',
    at: '2026-01-01T00:00:00Z',
  })
  put(scene.root, { 'forced.log': 'agent' })
  const list = await captureTree(scene.shadow, { base, workTree: scene.root, indexFile: scene.index })
  expect(kinds(list)).toEqual({ 'forced.log': 'modified' })
  expect(user(scene.root, 'status', '--porcelain')).toContain('?? untracked.txt')
})
