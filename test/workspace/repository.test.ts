import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { git, gitInCheckout, refName } from '../../src/workspace/git.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { compareRefs, readRefLog, readRefs } from '../../src/workspace/refs.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { commitAll, makeRepository, put, setScene, user } from './scene.ts'
import type { Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

test('a repository opens from its top, a sub-folder and a symlink to it with one id', async () => {
  scene = await setScene({ 'sub/a.txt': 'a' })
  symlinkSync(scene.root, join(scene.top, 'link'))
  const opened = await Promise.all([scene.root, join(scene.root, 'sub'), join(scene.top, 'link')].map(openRepository))
  expect(opened).toEqual([scene.repository, scene.repository, scene.repository])
  expect(scene.repository).toMatchObject({
    root: scene.root,
    commonDir: join(scene.root, '.git'),
    branch: 'main',
    head: scene.head,
  })
  expect(scene.repository.id).toMatch(/^project-[0-9a-f]{12}$/)
})

test('a linked worktree has its own root and branch and the id of its repository', async () => {
  scene = await setScene()
  const linked = join(scene.top, 'linked')
  user(scene.root, 'worktree', 'add', '--quiet', '-b', 'side', linked)
  expect(await openRepository(linked)).toEqual({ ...scene.repository, root: linked, branch: 'side' })
})

test('an unborn repository has neither branch nor head, a detached one no branch', async () => {
  scene = await setScene()
  const unborn = join(scene.top, 'unborn')
  mkdirSync(unborn)
  user(unborn, 'init', '--quiet')
  expect(await openRepository(unborn)).toMatchObject({
    root: unborn,
    commonDir: join(unborn, '.git'),
    branch: null,
    head: null,
  })
  user(scene.root, 'checkout', '--quiet', '--detach')
  expect(await openRepository(scene.root)).toMatchObject({ branch: null, head: scene.head })
})

test('a plain folder opens without git fields', async () => {
  scene = await setScene()
  const plain = join(scene.top, 'a folder')
  mkdirSync(join(plain, '.git'), { recursive: true })
  expect(await openRepository(plain)).toMatchObject({ root: plain, commonDir: null, branch: null, head: null })
  expect((await openRepository(plain)).id).toMatch(/^a-folder-[0-9a-f]{12}$/)
})

test('a missing path, a file, a bare repository, the inside of .git and a broken repository are refused by name', async () => {
  scene = await setScene()
  const bare = join(scene.top, 'bare.git')
  user(scene.top, 'init', '--quiet', '--bare', bare)
  const broken = join(scene.top, 'broken')
  mkdirSync(broken)
  writeFileSync(join(broken, '.git'), 'gitdir: /nowhere\n')
  const refused = async (path: string, code: string): Promise<void> =>
    expect(openRepository(path)).rejects.toMatchObject({ code, message: expect.stringContaining(basename(path)) })
  await refused(join(scene.top, 'missing'), 'DIRECTORY_MISSING')
  await refused(join(scene.root, 'a.txt'), 'INPUT_INVALID')
  await refused(bare, 'NOT_A_REPOSITORY')
  await refused(join(scene.root, '.git'), 'NOT_A_REPOSITORY')
  await refused(broken, 'REPOSITORY_STATE')
})

test('inherited git variables and a repository above do not lead git elsewhere', async () => {
  scene = await setScene()
  makeRepository(join(scene.top, 'other'))
  const variables = [
    'GIT_DIR',
    'GIT_WORK_TREE',
    'GIT_INDEX_FILE',
    'GIT_CONFIG_PARAMETERS',
    'GIT_EXTERNAL_DIFF',
  ] as const
  for (const name of variables) process.env[name] = join(scene.top, 'other', '.git')
  try {
    expect(await openRepository(scene.root)).toEqual(scene.repository)
  } finally {
    for (const name of variables) delete process.env[name]
  }
  mkdirSync(join(scene.root, 'below'))
  await expect(git(['rev-parse', '--git-dir'], { cwd: join(scene.root, 'below') })).rejects.toMatchObject({
    code: 'GIT_FAILED',
  })
})

test('a given environment replaces the inherited one and loses its git variables', async () => {
  scene = await setScene()
  const environment = { PATH: process.env.PATH, GIT_DIR: '/nowhere', GIT_TRACE: '1' }
  const { stdout, stderr } = await git(['rev-parse', '--git-dir'], { cwd: scene.root, environment })
  expect([stdout, stderr]).toEqual(['.git\n', ''])
})

test('a failing command names the attempt, the folder and what git said', async () => {
  scene = await setScene()
  const failing = git(['cat-file', '-t', 'f'.repeat(40)], { cwd: scene.root })
  await expect(failing).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringMatching(/cat-file .* in .*project failed with exit code 128: /),
  })
  await expect(git(['status'], { cwd: join(scene.top, 'missing') })).rejects.toMatchObject({ code: 'GIT_FAILED' })
})

test('network transports are refused', async () => {
  scene = await setScene()
  for (const url of ['ext::sh -c true', 'https://localhost:1/x', 'ssh://localhost/x']) {
    await expect(git(['fetch', url], { cwd: scene.root, owner: 'user' })).rejects.toThrow(/not allowed/)
  }
})

test('filters that the repository defines are off, those of the user are kept', async () => {
  scene = await setScene({ '.gitattributes': '*.x filter=own\n*.y filter=users\n' })
  user(scene.root, 'config', 'filter.own.clean', 'sed s/a/LOCAL/')
  const home = join(scene.top, 'home')
  put(home, { '.gitconfig': '[filter "users"]\n\tclean = sed s/a/GLOBAL/\n' })
  put(scene.root, { 'f.x': 'a', 'f.y': 'a' })
  const environment = { PATH: process.env.PATH, HOME: home }
  await gitInCheckout(['add', '--', 'f.x', 'f.y'], { cwd: scene.root, environment })
  expect([user(scene.root, 'show', ':f.x'), user(scene.root, 'show', ':f.y')]).toEqual(['a', 'GLOBAL'])
})

test.each([
  'refs/heads/-x/../y',
  'refs/heads/a b',
  'refs/heads/a..b',
  'refs/heads/x.lock',
  'main',
  'refs/heads/a\nb',
  'refs/heads/@{1}',
])('the ref name %j is refused', async (name) => {
  scene = await setScene()
  expect(() => refName(name)).toThrow(/not a branch name/)
})

test('created, moved and deleted refs are distinguished', async () => {
  scene = await setScene()
  user(scene.root, 'branch', 'gone')
  const before = await readRefs(scene.repository)
  put(scene.root, { 'b.txt': 'b' })
  const moved = commitAll(scene.root)
  user(scene.root, 'branch', '-D', 'gone')
  user(scene.root, 'checkout', '--quiet', '-b', 'new')
  expect(compareRefs(before, await readRefs(scene.repository))).toEqual([
    { ref: 'HEAD', before: 'ref: refs/heads/main', after: 'ref: refs/heads/new' },
    { ref: 'refs/heads/gone', before: scene.head, after: null },
    { ref: 'refs/heads/main', before: scene.head, after: moved },
    { ref: 'refs/heads/new', before: null, after: moved },
  ])
})

test('HEAD is read where it is on no branch, or on one without a commit', async () => {
  scene = await setScene()
  user(scene.root, 'checkout', '--quiet', '--detach')
  expect((await readRefs(scene.repository)).HEAD).toBe(scene.head)
  user(scene.root, 'checkout', '--quiet', '--orphan', 'empty')
  expect((await readRefs(scene.repository)).HEAD).toBe('ref: refs/heads/empty')
})

test('the log of a branch is read even if its commit does not exist, and a damaged log counts as empty', async () => {
  scene = await setScene()
  const first = scene.head
  put(scene.root, { 'b.txt': 'b' })
  const second = commitAll(scene.root, 'second')
  writeFileSync(join(scene.root, '.git', 'refs', 'heads', 'main'), `${'1'.repeat(40)}\n`)
  const moves = await readRefLog(scene.repository, 'refs/heads/main', 10)
  expect(moves.map(({ to }) => to)).toEqual([second, first])
  expect(moves[0]?.note).toBe('commit: second')
  expect(await readRefLog(scene.repository, 'refs/heads/main', 1)).toHaveLength(1)
  expect(await readRefLog(scene.repository, 'refs/heads/none', 10)).toEqual([])
  const log = join(scene.root, '.git', 'logs', 'refs', 'heads', 'main')
  for (const text of [
    '',
    '\n\n',
    `${second} ${'1'.repeat(40)} Agent <a@example.com> 1795469348 +0000\tcommit: forged\n`,
  ]) {
    writeFileSync(log, text)
    expect(await readRefLog(scene.repository, 'refs/heads/main', 10)).toEqual([])
  }
})

test.each(['', '\0{', 'ref: '])('a shadow whose HEAD and config read %j is mended', async (text) => {
  scene = await setScene()
  const state = join(scene.top, 'damaged-state')
  const { gitDir, rawGitDir } = await openShadow(state, scene.repository)
  user(gitDir, 'update-ref', 'refs/heads/kept', scene.head)
  for (const dir of [gitDir, rawGitDir]) for (const name of ['HEAD', 'config']) writeFileSync(join(dir, name), text)
  await openShadow(state, scene.repository)
  expect(user(gitDir, 'rev-parse', 'refs/heads/kept')).toBe(scene.head)
  expect(user(rawGitDir, 'rev-parse', '--is-bare-repository')).toBe('true')
  expect(readdirSync(join(state, 'damaged')).toSorted()).toContain('shadow.git__HEAD.1.new')
})

test('a shadow half made by a crash is made anew, a finished one is opened again', async () => {
  scene = await setScene()
  const state = join(scene.top, 'crashed')
  put(state, { 'shadow.git.making/HEAD': 'half', 'shadow.git.making/objects': 'a file where a folder belongs' })
  const first = await openShadow(state, scene.repository)
  expect(await openShadow(state, scene.repository)).toEqual(first)
  expect(user(first.gitDir, 'cat-file', '-t', scene.head)).toBe('commit')
})
