import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readCommit } from '../../src/workspace/commit.ts'
import { fileTextAt, filesOf, readTexts, fileTextsAt } from '../../src/workspace/contents.ts'
import { inShadow } from '../../src/workspace/shadow.ts'
import { git } from '../../src/workspace/git.ts'
import { treeOf } from '../../src/workspace/contents.ts'
import { setScene, user, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const objectOf = (path: string): string => user(scene.root, 'rev-parse', `HEAD:${path}`)

test('texts come by object, whatever bytes they hold, and a NUL hides nothing of them', async () => {
  scene = await setScene({
    'plain.txt': 'grün\n1 blob 5\n',
    'empty.txt': '',
    'nul.txt': 'to\0ken\n',
    'wide.txt': Buffer.from('token\n', 'utf16le'),
    'noise.bin': randomBytes(5_000),
    'last.txt': 'last',
  })
  const names = ['plain.txt', 'noise.bin', 'empty.txt', 'nul.txt', 'wide.txt', 'last.txt']
  const limits = { mostBytes: 100_000, mostBytesEach: 50_000 }
  const { texts, tooLarge, left } = await readTexts(scene.shadow, names.map(objectOf), limits)
  expect(texts.get(objectOf('plain.txt'))).toBe('grün\n1 blob 5\n')
  expect(texts.get(objectOf('empty.txt'))).toBe('')
  expect(texts.get(objectOf('nul.txt'))).toBe('token\n')
  expect(texts.get(objectOf('wide.txt'))).toBe('token\n')
  expect(texts.get(objectOf('last.txt'))).toBe('last')
  expect([tooLarge, left]).toEqual([[], []])
})

test('what is too large is named, and what does not fit is left for the next call', async () => {
  scene = await setScene({ 'a.txt': 'a'.repeat(60), 'b.txt': 'b'.repeat(60), 'c.txt': 'c'.repeat(101), 'd.txt': 'd' })
  const [a, b, c, d] = ['a.txt', 'b.txt', 'c.txt', 'd.txt'].map(objectOf) as [string, string, string, string]
  const first = await readTexts(scene.shadow, [a, c, b, d], { mostBytes: 100, mostBytesEach: 100 })
  expect([[...first.texts.keys()], first.tooLarge, first.left]).toEqual([[a], [c], [b, d]])
  const second = await readTexts(scene.shadow, first.left, { mostBytes: 100, mostBytesEach: 100 })
  expect([[...second.texts.keys()], second.left]).toEqual([[b, d], []])
  const one = await readTexts(scene.shadow, [a], { mostBytes: 1, mostBytesEach: 100 })
  expect([...one.texts.keys()]).toEqual([a])
})

test('an object is read once: its content cannot change, whatever becomes of the repository', async () => {
  scene = await setScene({ 'a.txt': 'a', 'b.txt': 'b' })
  const { head, root, shadow } = scene
  const read = () =>
    Promise.all([
      readCommit(shadow, head),
      filesOf(shadow, head),
      treeOf(shadow, head),
      ...['a.txt', 'b.txt', 'a.txt'].map((path) => fileTextAt(shadow, head, path)),
    ])
  const first = await read()
  expect(first.slice(-3)).toEqual(['a', 'b', 'a'])
  const objects = join(root, '.git', 'objects')
  for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true })
  await expect(git(['cat-file', '-e', head], inShadow(shadow))).rejects.toThrow()
  expect(await read()).toEqual(first)
})

test('a failure is not kept: an object that comes later is found', async () => {
  scene = await setScene({ 'a.txt': 'a' })
  const other = await setScene({ 'b.txt': 'b' })
  try {
    await expect(treeOf(scene.shadow, other.head)).rejects.toThrow()
    expect(await fileTextAt(scene.shadow, other.head, 'b.txt')).toBeUndefined()
    user(scene.root, 'fetch', '--quiet', other.root, other.head)
    expect(await treeOf(scene.shadow, other.head)).toMatch(/^[0-9a-f]{40}$/)
    expect(await fileTextAt(scene.shadow, other.head, 'b.txt')).toBe('b')
  } finally {
    await other.clear()
  }
})

test('of many answers the least recently used are given up, and a large one is never kept', async () => {
  const names = Array.from({ length: 22 }, (_value, index) => `${index}.txt`)
  const texts = Object.fromEntries(names.map((name) => [name, name.padEnd(200 * 1024, '.')]))
  scene = await setScene({ ...texts, 'large.txt': 'x'.repeat(300 * 1024) })
  const { head, root, shadow } = scene
  const read = (name: string): Promise<string | undefined> => fileTextAt(shadow, head, name)
  for (const name of [...names, 'large.txt'])
    expect(await read(name)).toHaveLength(name === 'large.txt' ? 300 * 1024 : 200 * 1024)
  const objects = join(root, '.git', 'objects')
  for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true })
  expect([await read('21.txt'), await read('0.txt'), await read('large.txt')]).toEqual([
    texts['21.txt'],
    undefined,
    undefined,
  ])
})

test('texts of many files by path: only plain files of the tree that are not too large', async () => {
  scene = await setScene({
    'a.txt': 'a\n',
    'b c/d\ne.txt': 'b\n',
    'same.txt': 'a\n',
    'large.txt': 'x'.repeat(1024 * 1024 + 1),
  })
  const paths = ['a.txt', 'same.txt', 'b c/d\ne.txt', 'large.txt', 'missing.txt', 'b c']
  expect(Object.fromEntries(await fileTextsAt(scene.shadow, scene.head, paths))).toEqual({
    ...{ 'a.txt': 'a\n', 'b c/d\ne.txt': 'b\n', 'same.txt': 'a\n' },
  })
  expect(await fileTextsAt(scene.shadow, scene.head, [])).toEqual(new Map())
})
