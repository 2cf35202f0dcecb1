/** Files that git stores in another encoding than they have on disk: translated both ways, or left to a person. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { captureTree } from '../../src/workspace/changes.ts'
import type { ChangeList } from '../../src/workspace/repository-types.ts'
import { openScene, standardTask, type Scene as EngineScene } from '../hostile/scene.ts'
import { put, setScene, workspaceOf, type Scene } from './scene.ts'

let scene: Scene | EngineScene | undefined
afterEach(async () => scene?.clear())

const attributes = '*.txt working-tree-encoding=UTF-16LE\n'

const worked = async (
  files: Record<string, string>,
  work: (dir: string) => void,
): Promise<{ list: ChangeList; textOf: (path: string) => string }> => {
  const opened = await setScene(files)
  scene = opened
  const dir = await workspaceOf(opened)
  work(dir)
  const list = await captureTree(opened.shadow, { base: opened.head, workTree: dir, indexFile: opened.index })
  const textOf = (path: string): string =>
    execFileSync('git', ['cat-file', 'blob', `${list.tree}:${path}`], {
      env: { ...process.env, GIT_DIR: opened.shadow.gitDir },
      encoding: 'utf8',
    })
  return { list, textOf }
}

test('a file in its encoding is stored as its text', async () => {
  const { list, textOf } = await worked({ '.gitattributes': attributes, 'a.md': 'a\n' }, (dir) =>
    writeFileSync(join(dir, 'new.txt'), Buffer.from('grüße\n', 'utf16le')),
  )
  expect([list.leftOut, textOf('new.txt')]).toEqual([[], 'grüße\n'])
})

const rule = 'working-tree-encoding=UTF-16LE'

test.each<[string, Record<string, string>, (dir: string) => void, string]>([
  [
    'plain text that git would take for other letters',
    { '.gitattributes': attributes, 'a.md': 'a\n' },
    (dir) => put(dir, { 'new.txt': 'abcd' }),
    'the file is not UTF-16LE',
  ],
  [
    'bytes that git cannot read',
    { '.gitattributes': attributes, 'a.md': 'a\n' },
    (dir) => writeFileSync(join(dir, 'new.txt'), Buffer.from([0, 0xd8, 0, 0x41, 0])),
    'git cannot read the file as UTF-16LE',
  ],
  [
    'a file whose attribute the work added',
    { 'a.md': 'a\n' },
    (dir) => put(dir, { '.gitattributes': attributes, 'new.txt': 'abcd' }),
    'the work added this attribute',
  ],
  [
    'a file whose attribute the work removed',
    { '.gitattributes': attributes, 'a.md': 'a\n' },
    (dir) => put(dir, { '.gitattributes': '', 'new.txt': 'abcd' }),
    'the work removed this attribute',
  ],
])('%s is left out, with its name and the attribute', async (_title, files, work, reason) => {
  const { list } = await worked(files, work)
  expect(list.leftOut).toEqual([{ path: 'new.txt', reason: `${reason} (${rule} in .gitattributes)`, encoding: rule }])
  expect(list.changes.map(({ path }) => path)).not.toContain('new.txt')
})

test('work on such a file ends with one question that names file and attribute, and nothing lands', async () => {
  const script =
    "require('node:fs').writeFileSync('src/work.txt', 'done\\n'); require('node:fs').writeFileSync('src/wide.csv', 'abcd')"
  const opened = await openScene(['plain'], {
    files: { '.gitattributes': '*.csv working-tree-encoding=UTF-16LE\n' },
    commands: { plain: [process.execPath, '-e', script] },
  })
  scene = opened
  const goal = await opened.work([{ title: standardTask.title }])
  const asked = (await opened.status()).escalations
  expect([goal.state, asked.length]).not.toEqual(['ready', 0])
  expect(asked).toHaveLength(1)
  expect(JSON.stringify(asked)).toMatch(/src\/wide\.csv.*working-tree-encoding=UTF-16LE/)
})
