import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureConcurrently, readPatch } from '../../src/workspace/patch.ts'
import { setScene, user, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const limits = { mostBytesEach: 1_000, mostBytes: 1_500, mostFiles: 3 }

test('every changed path is named, and the text holds no more than its limits', async () => {
  scene = await setScene({ 'a.txt': 'one\n', 'gone.txt': 'gone\n' })
  const base = user(scene.root, 'rev-parse', 'HEAD')
  user(scene.root, 'rm', '--quiet', 'gone.txt')
  for (const [name, text] of [
    ['a.txt', 'two\n'],
    ['b-large.txt', `${'b'.repeat(2_000)}\n`],
    ['c.txt', 'c\n'],
    ['z.txt', 'z\n'],
  ] as const)
    writeFileSync(join(scene.root, name), text)
  const { tree } = await captureConcurrently(scene.shadow, { base, workTree: scene.root })
  const patch = await readPatch(scene.shadow, { from: base, to: tree }, limits)
  expect(patch.files).toEqual([
    { path: 'a.txt', kind: 'modified' },
    { path: 'b-large.txt', kind: 'added' },
    { path: 'c.txt', kind: 'added' },
    { path: 'gone.txt', kind: 'deleted' },
    { path: 'z.txt', kind: 'added' },
  ])
  expect(patch.leftOut).toEqual(['b-large.txt', 'z.txt'])
  expect(patch.text).toContain('-one\n+two\n')
  expect(patch.text).toContain('-gone\n')
  expect(patch.text).not.toMatch(/bbb|z\.txt/)
})

test('no change gives an empty text', async () => {
  scene = await setScene({ 'a.txt': 'one\n' })
  const base = user(scene.root, 'rev-parse', 'HEAD')
  const { tree } = await captureConcurrently(scene.shadow, { base, workTree: scene.root })
  expect(await readPatch(scene.shadow, { from: base, to: tree }, limits)).toEqual({ files: [], text: '', leftOut: [] })
})
