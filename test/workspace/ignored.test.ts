import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ignoredAt, presentAt } from '../../src/workspace/ignored.ts'
import { captureTree } from '../../src/workspace/changes.ts'
import { revertFiles } from '../../src/workspace/view.ts'
import { put, setScene, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

test('the ignore files of the base decide, in each folder, whatever the workspace says', async () => {
  scene = await setScene({
    '.gitignore': '*.log\n/out/\n!keep.log\n',
    'pkg/.gitignore': 'made/\n',
    'a.txt': 'a',
  })
  const paths = [
    'x.log',
    'keep.log',
    'deep/y.log',
    'out/z',
    'pkg/out/z',
    'pkg/made/z',
    'made/z',
    'a.txt',
    ':(top)a.log',
    '[x].log',
    'own.txt',
  ]
  const dir = await workspaceOf(scene)
  put(dir, { '.gitignore': 'own.txt\n' })
  expect([...(await ignoredAt(scene.shadow, scene.head, paths))].sort()).toEqual(
    [':(top)a.log', '[x].log', 'deep/y.log', 'out/z', 'pkg/made/z', 'x.log'].sort(),
  )
  expect(await ignoredAt(scene.shadow, scene.head, [])).toEqual(new Set())
})

test('present are files and folders of the commit, by their exact names', async () => {
  scene = await setScene({ 'src/a/b.txt': 'b', 'app/[id]/page.tsx': 'p' })
  const found = await presentAt(scene.shadow, scene.head, [
    'src',
    'src/a',
    'SRC',
    'app/[id]',
    'app/i',
    'src/a/b.txt',
    'none',
  ])
  expect([...found].sort()).toEqual(['app/[id]', 'src', 'src/a', 'src/a/b.txt'])
})

test('reverting gives changed and new files the content of the other tree, and touches nothing else', async () => {
  scene = await setScene({ 'a.txt': 'a', 'app/[id]/page.tsx': 'p', 'app/i/page.tsx': 'i', 'kept.txt': 'k' })
  const dir = await workspaceOf(scene)
  const capture = async (): Promise<string> =>
    (await captureTree(scene.shadow, { base: scene.head, workTree: dir, indexFile: scene.index })).tree
  const before = await capture()
  put(dir, { 'a.txt': 'changed', 'app/[id]/page.tsx': 'changed', 'new.txt': 'new' })
  const after = await capture()
  put(dir, { 'app/i/page.tsx': 'mine', 'kept.txt': 'mine' })
  await revertFiles(scene.shadow, { before, after, workTree: dir })
  const read = (path: string): string => readFileSync(join(dir, path), 'utf8')
  expect([read('a.txt'), read('app/[id]/page.tsx')]).toEqual(['a', 'p'])
  expect([read('app/i/page.tsx'), read('kept.txt')]).toEqual(['mine', 'mine'])
  expect(existsSync(join(dir, 'new.txt'))).toBe(false)
})
