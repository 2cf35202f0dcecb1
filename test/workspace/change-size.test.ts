/** How large a change is, measured on real trees: what counts as a file, and what as a line. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { changeSize } from '../../src/workspace/change-size.ts'
import { captureConcurrently } from '../../src/workspace/patch.ts'
import { put, setScene, user, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const lines = (count: number, text = 'x'): string => `${text}\n`.repeat(count)

const measure = async (mostLines: number) => {
  const base = user(scene.root, 'rev-parse', 'HEAD')
  const { tree } = await captureConcurrently(scene.shadow, { base, workTree: scene.root })
  return changeSize(scene.shadow, { base, tree, mostLines })
}

test('added and removed lines count, deletions and both sides of a rename too, binary files only as files', async () => {
  scene = await setScene({ 'gone.txt': lines(5), 'old name.txt': lines(7), 'a.txt': 'one\ntwo\n' })
  user(scene.root, 'mv', 'old name.txt', 'new name.txt')
  rmSync(join(scene.root, 'gone.txt'))
  put(scene.root, { 'a.txt': 'one\nthree\n', 'b.bin': new Uint8Array([0, 1, 2, 10, 10, 10]), 'tab\tname': lines(3) })
  expect(await measure(1000)).toEqual({
    files: 6,
    lines: 5 + 7 + 7 + 2 + 3,
    largest: [
      { path: 'new name.txt', lines: 7 },
      { path: 'old name.txt', lines: 7 },
      { path: 'gone.txt', lines: 5 },
      { path: 'tab\tname', lines: 3 },
      { path: 'a.txt', lines: 2 },
    ],
  })
})

test('lockfiles and what the base marks as generated have no lines; what the work marks has', async () => {
  scene = await setScene({ '.gitattributes': 'gen/** linguist-generated\nno/** -linguist-generated\n' })
  put(scene.root, {
    '.gitattributes': '* linguist-generated -diff\n',
    'gen/api.ts': lines(50),
    'no/b.ts': lines(20),
    'sub/package-lock.json': lines(400),
    'src/a.ts': lines(10),
  })
  expect(await measure(29)).toMatchObject({
    files: 5,
    lines: 20 + 10 + 3,
    largest: [{ path: 'no/b.ts', lines: 20 }, { path: 'src/a.ts' }, {}, {}, {}],
  })
  expect((await measure(-1)).lines).toBe(50 + 20 + 10 + 3)
})

test('a change of nothing is empty', async () => {
  scene = await setScene()
  expect(await measure(0)).toEqual({ files: 0, lines: 0, largest: [] })
})
