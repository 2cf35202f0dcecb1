/** Trees that are used again: whatever a program did in one, the next workspace is that of a fresh clone. */
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
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
import { createWorkspace, returnWorkspace } from '../../src/workspace/clone.ts'
import type { Shadow } from '../../src/workspace/shadow.ts'
import { contentOf, differenceOf } from '../../src/workspace/tree-content.ts'
import { tendTrees } from '../../src/workspace/tree-pool.ts'
import { commitAll, listing, put, setScene, user } from '../workspace/scene.ts'
import type { Scene } from '../workspace/scene.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
let shadow: Shadow
afterEach(async () => scene.clear())

const many = Object.fromEntries(
  Array.from({ length: 1100 }, (_, number) => [`src/${number % 10}/file${number}.txt`, `line ${number}\n`]),
)

const begin = async (files: Record<string, string> = {}): Promise<void> => {
  scene = await setScene({ ...many, 'run.sh': '#!/bin/sh\n', '.gitignore': 'ignored/\n*.log\n', ...files })
  shadow = scene.shadow
}

const pool = (): string => join(scene.top, 'trees')
const ready = (): string[] => (existsSync(join(pool(), 'ready')) ? readdirSync(join(pool(), 'ready')) : [])
const tend = (): Promise<void> => tendTrees({ shadow, pool: pool(), signal: new AbortController().signal })

const make = async (name: string, base = scene.head, trees: string | undefined = pool()): Promise<string> => {
  const dir = join(scene.top, name)
  const filters = shadow.filters
  await createWorkspace({
    repository: scene.repository,
    base,
    dir,
    branch: 'work',
    filters,
    ...(trees === undefined ? {} : { trees }),
  })
  return dir
}

const withoutGit = (dir: string) =>
  Object.fromEntries(Object.entries(contentOf(dir)).filter(([path]) => path !== '.git' && !path.startsWith('.git/')))

/** How a workspace differs from one that was written anew. */
const fromFresh = async (dir: string, base = scene.head) => {
  const fresh = join(scene.top, 'fresh')
  await createWorkspace({ repository: scene.repository, base, dir: fresh, branch: 'work', filters: shadow.filters })
  const difference = differenceOf(withoutGit(fresh), withoutGit(dir))
  rmSync(fresh, { recursive: true })
  return difference
}

const none = { added: [], changed: [], removed: [] }

/** Changes a file without a trace in its size and times. */
const forge = (path: string, text: string): void => {
  const { atime, mtime, size } = statSync(path)
  expect(text.length).toBe(size)
  writeFileSync(path, text)
  utimesSync(path, atime, mtime)
}

test('a later workspace starts from the tree of an earlier one, and is that of a fresh clone of its own commit', async () => {
  await begin()
  const first = await make('first')
  const { ino } = statSync(join(first, 'src/1/file1.txt'))
  await returnWorkspace(first, pool())
  expect(existsSync(first)).toBe(false)
  await tend()
  expect(ready()).toHaveLength(1)
  put(scene.root, { 'src/2/file2.txt': 'new\n', 'src/new/deep/file.txt': 'new\n' })
  user(scene.root, 'rm', '-q', 'src/3/file3.txt')
  const next = commitAll(scene.root)
  const second = await make('second', next)
  expect(statSync(join(second, 'src/1/file1.txt')).ino).toBe(ino)
  expect(ready()).toEqual([])
  expect(await fromFresh(second, next)).toEqual(none)
  expect(user(second, 'status', '--porcelain')).toBe('')
  expect(user(second, 'rev-parse', 'HEAD')).toBe(next)
  expect(listing(scene.top).filter((name) => name.startsWith('second'))).toEqual(['second', 'second.workspace.json'])
})

test.runIf(isLongForm)('whatever a program left in a tree is gone', async () => {
  await begin({ 'link.txt': 'a link later\n', 'folder/inside.txt': 'x\n' })
  const dir = await make('first')
  const path = (name: string): string => join(dir, name)
  forge(path('src/1/file1.txt'), 'LINE 1\n')
  forge(path('src/2/file12.txt'), 'LINE 12\n')
  writeFileSync(path('.git/hooks/post-checkout'), '#!/bin/sh\ntouch hooked\n')
  chmodSync(path('.git/hooks/post-checkout'), 0o755)
  user(dir, 'config', 'core.fsmonitor', 'touch monitored')
  user(dir, 'update-index', '--assume-unchanged', 'src/4/file4.txt')
  writeFileSync(path('src/4/file4.txt'), 'hidden\n')
  mkdirSync(path('ignored/deep'), { recursive: true })
  writeFileSync(path('ignored/deep/planted'), 'x')
  writeFileSync(path('src/planted.log'), 'x')
  mkdirSync(path('empty'))
  rmSync(path('link.txt'))
  symlinkSync('/etc/hostname', path('link.txt'))
  rmSync(path('folder'), { recursive: true })
  symlinkSync(join(scene.root, 'src'), path('folder'))
  chmodSync(path('run.sh'), 0o755)
  chmodSync(path('src/5/file5.txt'), 0o600)
  chmodSync(path('src/6'), 0o700)
  linkSync(path('src/7/file7.txt'), join(scene.top, 'outside'))
  rmSync(path('src/8/file8.txt'))
  renameSync(path('src/9'), path('src/moved'))
  await returnWorkspace(dir, pool())
  await tend()
  expect(ready()).toHaveLength(1)
  const second = await make('second')
  writeFileSync(join(scene.top, 'outside'), 'changed later\n')
  expect(await fromFresh(second)).toEqual(none)
  expect(user(second, 'status', '--porcelain', '--ignored')).toBe('')
  expect(listing(join(second, '.git/hooks'))).toEqual([])
  expect(readFileSync(join(scene.root, 'src/1/file1.txt'), 'utf8')).toBe('line 1\n')
})

test('files whose bytes are not those of their objects are written anew', async () => {
  const attributes = '* text=auto\n*.bat eol=crlf\n*.id ident\n'
  await begin({ '.gitattributes': attributes, 'a.bat': 'one\ntwo\n', 'b.id': '$Id$\n' })
  const dir = await make('first')
  expect(readFileSync(join(dir, 'a.bat'), 'utf8')).toBe('one\r\ntwo\r\n')
  writeFileSync(join(dir, 'a.bat'), 'one\ntwo\n')
  writeFileSync(join(dir, 'b.id'), '$Id$\n')
  writeFileSync(join(dir, 'src/1/file1.txt'), 'line 1\r\n')
  await returnWorkspace(dir, pool())
  await tend()
  expect(ready()).toHaveLength(1)
  expect(await fromFresh(await make('second'))).toEqual(none)
})

test.runIf(isLongForm)('a tree that was written with other attributes is not used', async () => {
  await begin({ '.gitattributes': '*.bat eol=crlf\n', 'a.bat': 'one\n', 'b.txt': 'one\n' })
  await returnWorkspace(await make('first'), pool())
  await tend()
  put(scene.root, { '.gitattributes': '*.txt eol=crlf\n' })
  const next = commitAll(scene.root)
  const second = await make('second', next)
  expect(ready()).toHaveLength(1)
  expect(await fromFresh(second, next)).toEqual(none)
  expect(readFileSync(join(second, 'b.txt'), 'utf8')).toBe('one\r\n')
})

test.runIf(isLongForm)(
  'at most two trees are kept, a small one is not, and one whose commit is gone is removed',
  async () => {
    await begin()
    const dirs = [await make('one'), await make('two'), await make('three')]
    for (const dir of dirs) await returnWorkspace(dir, pool())
    expect(readdirSync(join(pool(), 'returned'))).toHaveLength(2)
    await tend()
    await returnWorkspace(await make('more', scene.head, undefined), pool())
    await tend()
    expect(ready()).toHaveLength(2)
    expect(readdirSync(join(pool(), 'returned'))).toEqual([])
    for (const name of ['four', 'five']) await make(name)
    const lost = await make('lost')
    writeFileSync(`${lost}.workspace.json`, JSON.stringify({ base: 'f'.repeat(40), branch: 'work', isLarge: true }))
    await returnWorkspace(lost, pool())
    await expect(tend()).rejects.toThrow()
    expect(ready()).toEqual([])
    expect(readdirSync(join(pool(), 'returned'))).toEqual([])
    await scene.clear()
    await begin()
    scene = await setScene({ 'a.txt': 'a' })
    shadow = scene.shadow
    await returnWorkspace(await make('small'), pool())
    expect(existsSync(pool())).toBe(false)
  },
)

test('an inspection that was interrupted begins again', async () => {
  await begin()
  const dir = await make('first')
  forge(join(dir, 'src/1/file1.txt'), 'LINE 1\n')
  await returnWorkspace(dir, pool())
  const stop = new AbortController()
  const stopped = tendTrees({ shadow, pool: pool(), signal: stop.signal })
  stop.abort()
  await expect(stopped).rejects.toThrow()
  expect(ready()).toEqual([])
  await tend()
  expect(ready()).toHaveLength(1)
  expect(await fromFresh(await make('second'))).toEqual(none)
})
