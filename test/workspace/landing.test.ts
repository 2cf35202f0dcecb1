import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { authorOf } from '../../src/workspace/author.ts'
import { captureTree } from '../../src/workspace/changes.ts'
import { buildCommit, buildTree, parseTrailers } from '../../src/workspace/commit.ts'
import { fastForward } from '../../src/workspace/forward.ts'
import { ensureGoalBranch, integrate, publish, readRef, restoreRef } from '../../src/workspace/branches.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { commitAll, put, setScene, user, workspaceOf } from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const trailers = (task: string): Record<string, string> => ({
  'Unstuck-Task': task,
  'Unstuck-Run': 'run1',
  'Unstuck-Epoch': '1',
})

/** One task's commit of the given files on the scene's base. */
const change = async (files: Record<string, string>, task = 'task1', paths = Object.keys(files)): Promise<string> => {
  const dir = await workspaceOf(scene, task)
  put(dir, files)
  const { tree } = await captureTree(scene.shadow, {
    base: scene.head,
    workTree: dir,
    indexFile: `${scene.index}-${task}`,
  })
  const permitted = await buildTree(scene.shadow, { base: scene.head, tree, paths })
  return buildCommit(scene.shadow, {
    base: scene.head,
    tree: permitted,
    subject: task,
    body: 'why',
    trailers: trailers(task),
  })
}

const names = (commit: string): string[] =>
  user(scene.shadow.gitDir, 'diff-tree', '-r', '--name-only', scene.head, commit).split('\n')

const forward = async (to: string, branch: string | null = 'main') => fastForward(scene.repository, { branch, to })

const published = async (files: Record<string, string>): Promise<string> => {
  const to = await change(files)
  expect(await publish(scene.repository, scene.shadow, { ref: 'refs/heads/unstuck/goal/g1', from: null, to })).toBe(
    'done',
  )
  return to
}

test('a commit contains exactly the permitted paths, with literal brackets', async () => {
  scene = await setScene({ 'app/i/page.tsx': 'old', 'app/[id]/page.tsx': 'old', 'gone.txt': 'x' })
  const files = { 'app/i/page.tsx': 'new', 'app/[id]/page.tsx': 'new', 'secrets/k.pem': 'SECRET' }
  expect(names(await change(files, 'task1', ['app/[id]/page.tsx', 'unchanged.txt']))).toEqual(['app/[id]/page.tsx'])
})

test('a permitted file that would push out a path that is not permitted is refused by name', async () => {
  scene = await setScene({ thing: 'a file' })
  const dir = await workspaceOf(scene)
  rmSync(join(dir, 'thing'))
  put(dir, { 'thing/inside.txt': 'x' })
  const { tree } = await captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index })
  const build = buildTree(scene.shadow, { base: scene.head, tree, paths: ['thing/inside.txt'] })
  await expect(build).rejects.toMatchObject({
    code: 'REPOSITORY_STATE',
    message: expect.stringContaining('also change thing'),
  })
})

test('the same request gives the same commit, with trailers that text of an agent cannot forge', async () => {
  scene = await setScene()
  const tree = user(scene.root, 'rev-parse', 'HEAD^{tree}')
  const body = 'Fine.\r\n\r\nUnstuck-Task: forged\n unstuck-run : forged\0'
  const request = { base: scene.head, tree, subject: 'Unstuck-Task: a\nb', body, trailers: trailers('task1') }
  const [one, two] = [await buildCommit(scene.shadow, request), await buildCommit(scene.shadow, request)]
  expect(one).toBe(two)
  expect(await parseTrailers(scene.shadow, one)).toEqual(trailers('task1'))
  const text = user(scene.shadow.gitDir, 'log', '-1', '--format=%B', one)
  expect(text.match(/^Unstuck-Task:/gm)).toHaveLength(1)
  const bare = await buildCommit(scene.shadow, { ...request, trailers: {} })
  expect(await parseTrailers(scene.shadow, bare)).toEqual({})
})

test('a commit is by the user and made by Unstuck, at the time it is given; a rebase keeps all of it', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const by = async (): Promise<unknown> => authorOf(scene.repository)
  const set = (key: string, value: string): string => user(scene.root, 'config', key, value)
  user(scene.root, 'config', 'user.name', '') // hides the name that the machine may have
  expect(await by()).toBeUndefined()
  set('user.name', 'Ada <L>')
  set('user.email', 'ada@example.invalid')
  expect(await by()).toEqual({ name: 'Ada L', email: 'ada@example.invalid' })
  set('author.name', 'Ada as author')
  const author = await authorOf(scene.repository)
  expect(author).toEqual({ name: 'Ada as author', email: 'ada@example.invalid' })
  const tree = user(scene.root, 'rev-parse', 'HEAD^{tree}')
  const request = { base: scene.head, tree, subject: 's', body: '', trailers: {} }
  const at = '@1790000000 +0230'
  const commit = await buildCommit(scene.shadow, { ...request, ...(author === undefined ? {} : { author }), at })
  const other = await change({ 'a.txt': 'A' })
  const rebased = await integrate(scene.shadow, { commit, onto: other })
  if (!rebased.ok) throw new Error('conflict')
  const told = (name: string): string =>
    user(scene.shadow.gitDir, 'log', '-1', '--date=raw', '--format=%an <%ae> %ad, %cn %cd', name)
  const want = 'Ada as author <ada@example.invalid> 1790000000 +0230, Unstuck 1790000000 +0230'
  expect([told(commit), told(rebased.commit)]).toEqual([want, want])
})

test('a commit on its own parent is integrated as it is, on another tip it is rebased with its trailers', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const [one, two] = [await change({ 'a.txt': 'A' }, 'task1'), await change({ 'b.txt': 'B' }, 'task2')]
  expect(await integrate(scene.shadow, { commit: one, onto: scene.head })).toEqual({
    ok: true,
    commit: one,
    rebased: false,
  })
  const rebased = await integrate(scene.shadow, { commit: two, onto: one })
  if (!rebased.ok) throw new Error('conflict')
  expect(rebased.rebased).toBe(true)
  expect(names(rebased.commit)).toEqual(['a.txt', 'b.txt'])
  expect(user(scene.shadow.gitDir, 'rev-parse', `${rebased.commit}^`)).toBe(one)
  expect(await parseTrailers(scene.shadow, rebased.commit)).toEqual(trailers('task2'))
  expect(await integrate(scene.shadow, { commit: two, onto: one })).toEqual(rebased)
})

test('conflicts are listed by path and a change never wanders along a rename', async () => {
  const long = 'the same long line\n'.repeat(30)
  scene = await setScene({ 'ü [x].txt': 'old', 'src/a.txt': long })
  const one = await change({ 'ü [x].txt': 'one' }, 'task1')
  const two = await change({ 'ü [x].txt': 'two' }, 'task2')
  expect(await integrate(scene.shadow, { commit: two, onto: one })).toEqual({ ok: false, conflicts: ['ü [x].txt'] })
  const edit = await change({ 'src/a.txt': `${long}more\n` }, 'task3')
  mkdirSync(join(scene.root, 'lib'))
  user(scene.root, 'mv', 'src/a.txt', 'lib/a.txt')
  const moved = commitAll(scene.root)
  expect(await integrate(scene.shadow, { commit: edit, onto: moved })).toEqual({ ok: false, conflicts: ['src/a.txt'] })
})

test('a commit is integrated also onto a tip with which its parent has no common history', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const commit = await change({ 'b.txt': 'B' })
  user(scene.root, 'checkout', '--quiet', '--orphan', 'fresh')
  put(scene.root, { 'c.txt': 'c' })
  const onto = commitAll(scene.root)
  const result = await integrate(scene.shadow, { commit, onto })
  expect(result.ok && user(scene.shadow.gitDir, 'ls-tree', '--name-only', result.commit)).toBe('a.txt\nb.txt\nc.txt')
})

test('a goal branch is made once and publishing twice is done twice', async () => {
  scene = await setScene()
  const name = 'unstuck/goal/g1'
  const ref = `refs/heads/${name}`
  expect(await ensureGoalBranch(scene.repository, { name, start: scene.head })).toEqual({
    ref,
    head: scene.head,
    created: true,
  })
  expect(await ensureGoalBranch(scene.repository, { name, start: scene.head })).toMatchObject({ created: false })
  const to = await change({ 'b.txt': 'b' })
  const step = { ref, from: scene.head, to }
  expect(await publish(scene.repository, scene.shadow, step)).toBe('done')
  expect(await publish(scene.repository, scene.shadow, step)).toBe('done')
  expect(await readRef(scene.repository, ref)).toBe(to)
  rmSync(join(scene.top, 'state'), { recursive: true })
  expect(user(scene.root, 'show', `${to}:b.txt`)).toBe('b')
  expect(user(scene.root, 'fsck', '--strict')).not.toMatch(/missing|error/)
})

test('publishing onto a ref that another process moved returns `moved` and changes nothing', async () => {
  scene = await setScene()
  const to = await change({ 'b.txt': 'b' })
  put(scene.root, { 'c.txt': 'c' })
  const moved = commitAll(scene.root)
  expect(await publish(scene.repository, scene.shadow, { ref: 'refs/heads/main', from: scene.head, to })).toBe('moved')
  expect(await readRef(scene.repository, 'refs/heads/main')).toBe(moved)
  expect(await publish(scene.repository, scene.shadow, { ref: 'refs/heads/main', from: null, to })).toBe('moved')
})

test('a ref whose name collides with another branch is an error, not a silent loss', async () => {
  scene = await setScene()
  user(scene.root, 'branch', 'unstuck')
  const ensure = ensureGoalBranch(scene.repository, { name: 'unstuck/goal/g1', start: scene.head })
  await expect(ensure).rejects.toMatchObject({
    code: 'REPOSITORY_STATE',
    message: expect.stringContaining('unstuck/goal/g1'),
  })
})

test('a ref that an agent moved, made or deleted is put back, unless it moved again', async () => {
  scene = await setScene()
  put(scene.root, { 'b.txt': 'b' })
  const moved = commitAll(scene.root)
  const ref = 'refs/heads/main'
  expect(await restoreRef(scene.repository, { ref, from: moved, to: scene.head })).toBe('done')
  expect(await restoreRef(scene.repository, { ref, from: moved, to: scene.head })).toBe('done')
  expect(await restoreRef(scene.repository, { ref, from: moved, to: null })).toBe('moved')
  user(scene.root, 'branch', 'made')
  expect(await restoreRef(scene.repository, { ref: 'refs/heads/made', from: scene.head, to: null })).toBe('done')
  expect(await restoreRef(scene.repository, { ref: 'refs/heads/made', from: null, to: moved })).toBe('done')
  expect(await readRef(scene.repository, 'refs/heads/made')).toBe(moved)
})

test('a fast-forward moves branch, index and files, and leaves unrelated untracked files', async () => {
  scene = await setScene({ 'a.txt': 'a', 'gone.txt': 'x' })
  const to = await published({ 'a.txt': 'A', 'new/b.txt': 'b' })
  put(scene.root, { 'mine.txt': 'untracked' })
  expect(await forward(to)).toEqual({ ok: true, from: scene.head, to })
  expect(user(scene.root, 'status', '--porcelain')).toBe('?? mine.txt')
  expect(readFileSync(join(scene.root, 'new/b.txt'), 'utf8')).toBe('b')
  expect(user(scene.root, 'rev-parse', 'HEAD')).toBe(to)
  expect(await forward(to)).toEqual({ ok: true, from: to, to })
})

test('a checkout whose git directory lies elsewhere is forwarded with its branch', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'a.txt': 'A' })
  user(scene.root, 'init', '-q', '--separate-git-dir', join(scene.top, 'elsewhere'))
  const repository = await openRepository(scene.root)
  expect(await fastForward(repository, { branch: 'main', to })).toMatchObject({ ok: true, to })
  expect(readFileSync(join(scene.root, 'a.txt'), 'utf8')).toBe('A')
  expect(user(scene.root, 'status', '--porcelain')).toBe('')
})

test('staged, unstaged or merging work on what it writes stops a fast-forward and stays as it was', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const to = await published({ 'a.txt': 'A' })
  put(scene.root, { 'a.txt': 'unstaged', 'b.txt': 'unstaged' })
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'dirty', paths: ['a.txt'] })
  user(scene.root, 'add', 'a.txt')
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'dirty', paths: ['a.txt'] })
  expect(user(scene.root, 'status', '--porcelain')).toBe('M  a.txt\n M b.txt')
  user(scene.root, 'reset', '--quiet', '--hard')
  writeFileSync(join(scene.root, '.git/MERGE_HEAD'), scene.head)
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'busy', detail: expect.stringContaining('MERGE_HEAD') })
  expect(await readRef(scene.repository, 'refs/heads/main')).toBe(scene.head)
})

test('work on other files stays as it is, staged or not, also where a crash left the ref behind', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' })
  const to = await published({ 'a.txt': 'A', 'n.txt': 'n' })
  put(scene.root, { 'b.txt': 'unstaged', 'c.txt': 'staged' })
  user(scene.root, 'add', 'c.txt')
  rmSync(join(scene.root, 'd.txt'))
  const before = user(scene.root, 'status', '--porcelain')
  user(scene.root, 'read-tree', '-m', '-u', scene.head, to)
  expect(await forward(to)).toMatchObject({ ok: true })
  expect(user(scene.root, 'status', '--porcelain')).toBe(before)
  expect(readFileSync(join(scene.root, 'a.txt'), 'utf8')).toBe('A')
})

test('a crash after an equal untracked file was taken into the index is finished by the next call', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'new.txt': 'same\n', 'a.txt': 'A' })
  put(scene.root, { 'new.txt': 'same\n' })
  user(scene.root, 'add', 'new.txt')
  expect(await forward(to)).toMatchObject({ ok: true })
  expect(user(scene.root, 'status', '--porcelain')).toBe('')
})

test('an edited file in the place of a folder that it writes stops it', async () => {
  scene = await setScene({ lib: 'a file', 'a.txt': 'a' })
  user(scene.root, 'checkout', '--quiet', '-b', 'other')
  rmSync(join(scene.root, 'lib'))
  put(scene.root, { 'lib/x.txt': 'x' })
  const to = commitAll(scene.root)
  user(scene.root, 'checkout', '--quiet', 'main')
  put(scene.root, { lib: 'edited' })
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'dirty', paths: ['lib'] })
  expect(readFileSync(join(scene.root, 'lib'), 'utf8')).toBe('edited')
})

test('an untracked file that is what it would write blocks nothing; one with other bytes or another mode does', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'new.txt': 'same\n', 'a.txt': 'A' })
  put(scene.root, { 'new.txt': 'other' })
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'untracked-in-the-way', paths: ['new.txt'] })
  put(scene.root, { 'new.txt': 'same\n' })
  chmodSync(join(scene.root, 'new.txt'), 0o755)
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'untracked-in-the-way' })
  chmodSync(join(scene.root, 'new.txt'), 0o644)
  expect(await forward(to)).toMatchObject({ ok: true })
  expect(user(scene.root, 'status', '--porcelain')).toBe('')
})

test('a file that was only touched does not count as work', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'a.txt': 'A' })
  rmSync(join(scene.root, 'a.txt'))
  put(scene.root, { 'a.txt': 'a' })
  expect(await forward(to)).toMatchObject({ ok: true })
})

test('an untracked path that would be written stops a fast-forward', async () => {
  scene = await setScene()
  const to = await published({ 'dir/new.txt': 'b', other: 'o', 'linked/x.txt': 'x' })
  put(scene.root, { 'dir/new.txt': 'mine', 'other/deep.txt': 'mine' })
  mkdirSync(join(scene.top, 'outside'))
  symlinkSync(join(scene.top, 'outside'), join(scene.root, 'linked'))
  const result = await forward(to)
  expect(result).toMatchObject({ ok: false, reason: 'untracked-in-the-way' })
  expect(result.ok ? [] : result.paths.toSorted()).toEqual(['dir/new.txt', 'linked', 'other/deep.txt'])
  expect(readFileSync(join(scene.root, 'dir/new.txt'), 'utf8')).toBe('mine')
  expect(existsSync(join(scene.top, 'outside/x.txt'))).toBe(false)
})

test('an ignored file of the user is not overwritten by a tracked one', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'local.env': 'theirs' })
  put(scene.root, { '.git/info/exclude': 'local.env\n', 'local.env': 'mine' })
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'untracked-in-the-way', paths: ['local.env'] })
  expect(readFileSync(join(scene.root, 'local.env'), 'utf8')).toBe('mine')
})

test('diverged, missing and detached are values with a reason', async () => {
  scene = await setScene()
  const to = await published({ 'b.txt': 'b' })
  expect(await forward(to, 'absent')).toMatchObject({ ok: false, reason: 'branch-missing' })
  expect(await forward(to, null)).toMatchObject({
    ok: false,
    reason: 'branch-missing',
    detail: expect.stringContaining('detached'),
  })
  put(scene.root, { 'c.txt': 'c' })
  commitAll(scene.root)
  expect(await forward(to)).toMatchObject({ ok: false, reason: 'diverged' })
})

test('a branch that was reset to before the base does not get the commits up to the base back', async () => {
  scene = await setScene()
  put(scene.root, { 'taken-back.txt': 'a key' })
  commitAll(scene.root)
  const base = user(scene.root, 'rev-parse', 'HEAD')
  user(scene.root, 'checkout', '--quiet', '-b', 'goal')
  put(scene.root, { 'b.txt': 'b' })
  commitAll(scene.root)
  const to = user(scene.root, 'rev-parse', 'HEAD')
  user(scene.root, 'checkout', '--quiet', 'main')
  user(scene.root, 'reset', '--quiet', '--hard', 'HEAD~1')
  const request = { branch: 'main', to, base }
  expect(await fastForward(scene.repository, request)).toMatchObject({ ok: false, reason: 'diverged' })
  user(scene.root, 'reset', '--quiet', '--hard', base)
  expect(await fastForward(scene.repository, request)).toMatchObject({ ok: true, to })
})

test('a branch that is checked out nowhere moves alone, one in a linked worktree moves there', async () => {
  scene = await setScene()
  const to = await published({ 'b.txt': 'b' })
  const linked = join(scene.top, 'linked tree')
  user(scene.root, 'branch', 'idle')
  user(scene.root, 'worktree', 'add', '--quiet', '-b', 'side', linked)
  expect(await forward(to, 'idle')).toMatchObject({ ok: true })
  expect(existsSync(join(scene.root, 'b.txt'))).toBe(false)
  expect(await forward(to, 'side')).toMatchObject({ ok: true })
  expect(readFileSync(join(linked, 'b.txt'), 'utf8')).toBe('b')
  expect([user(linked, 'status', '--porcelain'), user(scene.root, 'status', '--porcelain')]).toEqual(['', ''])
  expect(user(scene.root, 'rev-parse', 'main', 'idle', 'side')).toBe([scene.head, to, to].join('\n'))
})

test('a crash between files and ref is finished by the next call', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const to = await published({ 'a.txt': 'A', 'b.txt': 'b' })
  user(scene.root, 'read-tree', '-m', '-u', scene.head, to)
  expect(await forward(to)).toEqual({ ok: true, from: scene.head, to })
  expect(user(scene.root, 'status', '--porcelain')).toBe('')
})

test("executable bits and symlinks arrive in the user's checkout", async () => {
  scene = await setScene()
  const dir = await workspaceOf(scene)
  put(dir, { 'run.sh': 'x' })
  chmodSync(join(dir, 'run.sh'), 0o755)
  symlinkSync('a.txt', join(dir, 'link'))
  const { tree } = await captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index })
  const to = await buildCommit(scene.shadow, { base: scene.head, tree, subject: 's', body: '', trailers: {} })
  await publish(scene.repository, scene.shadow, { ref: 'refs/heads/g', from: null, to })
  await forward(to)
  expect(user(scene.root, 'ls-files', '-s').replace(/ [0-9a-f]{40} 0/g, '')).toBe(
    '100644\ta.txt\n120000\tlink\n100755\trun.sh',
  )
})

test('a repository with sha256 objects, in a folder whose name has a colon and a quote, goes all the way', async () => {
  scene = await setScene()
  const root = join(scene.top, 'odd: "name')
  mkdirSync(root)
  user(root, 'init', '--quiet', '--initial-branch=main', '--object-format=sha256')
  put(root, { 'a.txt': 'a', 'b.txt': 'b' })
  const head = commitAll(root)
  const repository = await openRepository(root)
  const shadow = await openShadow(join(root, '..', 'odd: "state'), repository)
  scene = { ...scene, root, head, repository, shadow }
  const one = await published({ 'a.txt': 'A' })
  const two = await integrate(scene.shadow, { commit: await change({ 'b.txt': 'B' }, 'task2'), onto: one })
  if (!two.ok) throw new Error('conflict')
  const ref = 'refs/heads/unstuck/goal/g1'
  expect(await publish(repository, shadow, { ref, from: one, to: two.commit })).toBe('done')
  expect(await forward(two.commit)).toMatchObject({ ok: true })
  expect([user(root, 'status', '--porcelain'), readFileSync(join(root, 'b.txt'), 'utf8')]).toEqual(['', 'B'])
})
