/** A clone is the owner's world: names of commits, environments, packages without a lockfile, ignored files, content filters. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { captureTree } from '../../src/workspace/changes.ts'
import { createWorkspace } from '../../src/workspace/clone.ts'
import { prepareDependencies } from '../../src/workspace/dependencies.ts'
import { fastForward } from '../../src/workspace/forward.ts'
import { ignoredEntries, includedFiles, layOwnersFiles } from '../../src/workspace/owners-files.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { keepAgentCommits } from '../../src/workspace/snapshot.ts'
import { layEnvironments } from '../../src/workspace/virtual-environment.ts'
import { commitAll, put, setScene, user, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const cloneWithRefs = async (): Promise<string> => {
  const dir = join(scene.top, 'clone')
  const { repository, head } = scene
  await createWorkspace({ repository, base: head, dir, branch: 'unstuck/run/r-1', refsOf: repository })
  return dir
}

describe('names of commits', () => {
  test('a clone has branches, tags and remote-tracking refs of the owner, and no branch of Unstuck', async () => {
    scene = await setScene()
    const { root, head } = scene
    user(root, 'tag', 'v1.0.0')
    user(root, 'tag', '-a', 'v1.1.0', '-m', 'noted')
    user(root, 'branch', 'unstuck/goal/g-1')
    user(root, 'update-ref', 'refs/remotes/origin/main', head)
    user(root, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main')
    const dir = await cloneWithRefs()
    expect(user(dir, 'for-each-ref', '--format=%(refname)').split('\n').sort()).toEqual([
      'refs/heads/main',
      'refs/heads/unstuck/run/r-1',
      'refs/remotes/origin/HEAD',
      'refs/remotes/origin/main',
      'refs/tags/v1.0.0',
      'refs/tags/v1.1.0',
    ])
    expect(user(dir, 'describe', '--tags')).toMatch(/^v1\.[01]\.0$/)
    expect(user(dir, 'merge-base', 'origin/HEAD', 'HEAD')).toBe(head)
    user(dir, 'tag', '-d', 'v1.0.0')
    expect(user(root, 'tag')).toContain('v1.0.0')
  })

  test("of an agent's commits only its own are kept, also after it packed its refs", async () => {
    scene = await setScene()
    put(scene.root, { 'later.txt': '' })
    commitAll(scene.root)
    const dir = await cloneWithRefs()
    put(dir, { 'own.txt': '' })
    const own = commitAll(dir)
    user(dir, 'pack-refs', '--all')
    const request = { workspace: dir, runId: 'r-1', base: scene.head }
    expect((await keepAgentCommits(scene.shadow, request)).kept.map(({ commit }) => commit)).toEqual([own])
  })
})

describe('an environment of Python', () => {
  const python = (dir: string, code: string): string =>
    execFileSync(join(dir, '.venv/bin/python'), ['-c', code], { cwd: dir, encoding: 'utf8' }).trim()

  const sitePackages = (root: string): string => {
    const lib = join(root, '.venv/lib')
    return join(lib, readdirSync(lib)[0] ?? '', 'site-packages')
  }

  test('has the packages of the owner, and the sources of the clone in the place of an editable install', async () => {
    scene = await setScene({ 'src/own/__init__.py': 'PLACE = __file__\n', '.gitignore': '__pycache__\n' })
    const { root } = scene
    execFileSync('python3', ['-m', 'venv', '--without-pip', '.venv'], { cwd: root })
    const site = sitePackages(root)
    put(site, {
      'dep/__init__.py': 'X = 5\n',
      '__editable__.own-1.pth': `${root}/src\n`,
      'relative.pth': 'beside\n',
      'beside/beside.py': 'X = 6\n',
      '__editable___other_finder.py': `MAPPING = {'other': '${root}/src/other'}\n`,
    })
    put(root, { '.venv/bin/tool': `#!${root}/.venv/bin/python\nprint('tool')\n` })
    chmodSync(join(root, '.venv/bin/tool'), 0o755)
    const dir = await workspaceOf(scene)
    expect(await layEnvironments({ repository: scene.repository, workspace: dir })).toEqual(['.venv'])
    expect(await layEnvironments({ repository: scene.repository, workspace: dir })).toEqual([])
    expect(python(dir, 'import dep, beside; print(dep.X + beside.X)')).toBe('11')
    expect(python(dir, 'import own; print(own.PLACE)')).toBe(join(dir, 'src/own/__init__.py'))
    expect(python(dir, 'import __editable___other_finder as f; print(f.MAPPING["other"])')).toBe(join(dir, 'src/other'))
    expect(python(dir, 'import sys; print(sys.prefix)')).toBe(join(dir, '.venv'))
    expect(readFileSync(join(dir, '.venv/bin/tool'), 'utf8')).toContain(`#!${dir}/.venv/bin/python`)
    expect(execFileSync(join(dir, '.venv/bin/tool'), { encoding: 'utf8' })).toBe('tool\n')
    // What is installed in the clone stays there.
    writeFileSync(join(sitePackages(dir), 'new.py'), '')
    expect(existsSync(join(site, 'new.py'))).toBe(false)
    expect(user(dir, 'status', '--porcelain')).toBe('')
  })

  test('of another name is laid as well, and one that the commit has stays', async () => {
    scene = await setScene({ '.venv/pyvenv.cfg': 'home = /usr/bin\n' })
    execFileSync('python3', ['-m', 'venv', '--without-pip', 'venv'], { cwd: scene.root })
    const dir = await workspaceOf(scene)
    expect(await layEnvironments({ repository: scene.repository, workspace: dir })).toEqual(['venv'])
  })

  test('of a folder below the top is laid there', async () => {
    scene = await setScene({ 'api/src/own/__init__.py': 'PLACE = __file__\n' })
    const api = join(scene.root, 'api')
    execFileSync('python3', ['-m', 'venv', '--without-pip', '.venv'], { cwd: api })
    put(sitePackages(api), { '__editable__.own-1.pth': `${api}/src\n` })
    const dir = await workspaceOf(scene)
    expect(await layEnvironments({ repository: scene.repository, workspace: dir })).toEqual(['api/.venv'])
    // Before Python leaves its caches.
    expect(user(dir, 'status', '--porcelain')).toBe('')
    const inClone = join(dir, 'api')
    expect(python(inClone, 'import own; print(own.PLACE)')).toBe(join(inClone, 'src/own/__init__.py'))
  })
})

describe('packages without a lockfile', () => {
  const manifest = (range: string): string => JSON.stringify({ dependencies: { dep: range } })

  const prepared = async (files: Record<string, string>, installed: Record<string, string>): Promise<string> => {
    scene = await setScene({ '.gitignore': 'node_modules\npackage-lock.json\n', ...files })
    put(scene.root, installed)
    const workspace = await workspaceOf(scene)
    const cacheDir = join(scene.top, 'cache')
    return (await prepareDependencies({ repository: scene.repository, workspace, cacheDir })).kind
  }

  const installed = (version: string) => ({
    'node_modules/dep/package.json': JSON.stringify({ name: 'dep', version }),
    'node_modules/.package-lock.json': JSON.stringify({ packages: { 'node_modules/dep': { version } } }),
  })

  const yarn = { 'node_modules/.yarn-integrity': '{}' }

  test.each<[what: string, range: string, tree: Record<string, string>, kind: string]>([
    ['a whole install by npm', '^1.0.0', installed('1.2.0'), 'copied'],
    ['a lockfile that git ignores', '^1.0.0', { ...installed('1.2.0'), 'package-lock.json': '{}' }, 'copied'],
    ['a git dependency, which has no range', 'github:a/dep', installed('1.2.0'), 'copied'],
    ['an install by yarn', '^1.0.0', { 'node_modules/dep/package.json': '{"version":"1.1.0"}', ...yarn }, 'copied'],
    ['a version that the manifest does not ask for', '^2.0.0', installed('1.2.0'), 'skipped'],
    ['a package that is not there', '^1.0.0', { 'node_modules/.package-lock.json': '{"packages":{}}' }, 'skipped'],
    ['packages of which no record tells', '^1.0.0', { 'node_modules/dep/package.json': '{}' }, 'skipped'],
  ])('%s', async (_what, range, tree, kind) => {
    expect(await prepared({ 'package.json': manifest(range) }, tree)).toBe(kind)
  })

  test('a manifest that the owner changed since asks for other packages', async () => {
    const kind = await prepared(
      { 'package.json': manifest('^1.0.0') },
      { ...installed('1.2.0'), 'package.json': JSON.stringify({ dependencies: { dep: '^1.0.0', more: '*' } }) },
    )
    expect(kind).toBe('skipped')
  })
})

describe('ignored files', () => {
  test('files and folders are copied, and what the clone has stays', async () => {
    scene = await setScene({ '.gitignore': 'local/\n*.env\n', 'kept.txt': 'committed' })
    const { root, repository } = scene
    put(root, { 'local/a.json': '1', 'local/deep/b.json': '2', 'local/server.key': 'k', 'x.env': 'X=1' })
    put(root, { 'kept.txt': 'edited' })
    symlinkSync('/etc/hostname', join(root, 'local/out'))
    expect((await ignoredEntries(repository)).sort()).toEqual(['local/', 'x.env'])
    const workspace = await workspaceOf(scene)
    const paths = ['local', 'x.env', 'kept.txt']
    expect(await layOwnersFiles({ repository, workspace, paths })).toEqual({})
    expect(readFileSync(join(workspace, 'local/deep/b.json'), 'utf8')).toBe('2')
    // No link, no secret, and nothing over a file of the commit.
    expect(readdirSync(join(workspace, 'local')).sort()).toEqual(['a.json', 'deep'])
    expect(readFileSync(join(workspace, 'kept.txt'), 'utf8')).toBe('committed')
    writeFileSync(join(root, 'local/later.json'), '3')
    expect(await layOwnersFiles({ repository, workspace, paths: ['local'] })).toEqual({})
    expect(existsSync(join(workspace, 'local/later.json'))).toBe(true)
    rmSync(join(root, 'x.env'))
    rmSync(join(workspace, 'x.env'))
    expect((await layOwnersFiles({ repository, workspace, paths })).problem).toContain('x.env')
  })

  test('.worktreeinclude names ignored plain files only', async () => {
    scene = await setScene({
      '.gitignore': '.env\nlocal/\n',
      '.worktreeinclude': '# note\n.env\nlocal/*.json\n*.txt\n',
    })
    put(scene.root, { '.env': '', 'local/a.json': '', 'local/b.log': '', 'new.txt': '', 'a.txt': 'edited' })
    expect((await includedFiles(scene.repository)).sort()).toEqual(['.env', 'local/a.json'])
    rmSync(join(scene.root, '.worktreeinclude'))
    mkdirSync(join(scene.root, '.worktreeinclude'))
    expect(await includedFiles(scene.repository)).toEqual([])
  })
})

describe('content filters of the repository', () => {
  const attributes = 'vault/** filter=rot\n*.bin filter=lost\n'

  const work = async (files: Record<string, string>, filters: string[], config: Record<string, string> = {}) => {
    scene = await setScene({ '.gitattributes': attributes, 'vault/old.txt': 'uryyb\n' })
    const { root, head, top } = scene
    const settings = { clean: 'tr a-z n-za-m', smudge: 'tr a-z n-za-m', ...config }
    for (const [key, value] of Object.entries(settings)) user(root, 'config', `filter.rot.${key}`, value)
    const repository = { ...scene.repository, filters }
    const shadow = await openShadow(join(top, 'state'), repository)
    const dir = join(top, 'clone')
    await createWorkspace({ repository, base: head, dir, branch: 'work', filters: shadow.filters })
    const seen = readFileSync(join(dir, 'vault/old.txt'), 'utf8')
    put(dir, files)
    const found = await captureTree(shadow, { base: head, workTree: dir, indexFile: scene.index })
    return { seen, found, shadow, repository, dir }
  }

  const stored = (gitDir: string, tree: string, path: string): string =>
    execFileSync('git', ['cat-file', 'blob', `${tree}:${path}`], {
      env: { ...process.env, GIT_DIR: gitDir },
      encoding: 'utf8',
    })

  test('one that may run stores what it makes, and the agent sees the text', async () => {
    const files = { 'vault/old.txt': 'changed\n', 'vault/new.txt': 'new\n' }
    const { seen, found, shadow, dir } = await work(files, ['rot'])
    expect([seen, found.leftOut]).toEqual(['hello\n', []])
    expect(stored(shadow.gitDir, found.tree, 'vault/new.txt')).toBe('arj\n')
    expect(user(dir, 'status', '--porcelain')).toBe('M vault/old.txt\n?? vault/new.txt')
  })

  test.each<[what: string, files: Record<string, string>, filters: string[], config: Record<string, string>]>([
    ['one that may not run', { 'vault/new.txt': 'plain' }, [], {}],
    ['one that fails', { 'vault/new.txt': 'plain' }, ['rot'], { clean: 'false' }],
    ['one whose attribute the work removed', { '.gitattributes': '\n', 'vault/old.txt': 'plain' }, ['rot'], {}],
    ['one that nobody set up', { 'x.bin': 'plain' }, ['rot'], {}],
  ])('%s: the file is left out, never stored as it is', async (_what, files, filters, config) => {
    const { found, shadow } = await work(files, filters, config)
    const [written] = Object.keys(files).filter((path) => files[path] === 'plain')
    expect(found.leftOut.map(({ path }) => path)).toContain(written)
    const env = { ...process.env, GIT_DIR: shadow.gitDir }
    // 1 = no file has it.
    expect(spawnSync('git', ['grep', '-q', 'plain', found.tree], { env }).status).toBe(1)
  })

  test('a landing writes the text into the checkout', async () => {
    const { repository } = await work({}, ['rot'])
    const { root } = scene
    rmSync(join(root, 'vault/old.txt'))
    user(root, 'checkout', '--', 'vault/old.txt')
    user(root, 'checkout', '--quiet', '-b', 'work')
    put(root, { 'vault/old.txt': 'landed\n' })
    const to = commitAll(root)
    user(root, 'checkout', '--quiet', 'main')
    expect(await fastForward(repository, { branch: 'main', to })).toMatchObject({ ok: true })
    expect(readFileSync(join(root, 'vault/old.txt'), 'utf8')).toBe('landed\n')
    expect(user(root, 'status', '--porcelain')).toBe('')
  })
})
