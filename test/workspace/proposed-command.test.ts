/** What a proposed command changed in a clone, on real git: the checks that follow may only see what lands. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { isLockfile, runUndone } from '../../src/runtime/checks/proposed-command.ts'
import { put, setScene, workspaceOf, type Scene } from './scene.ts'

let scene: Scene
afterEach(() => scene.clear())

const ended = { exitCode: 0, signal: null, timedOut: false, durationMs: 1, stdout: '', stderr: '' } as never

/** `from`: files that are there before the command, such as those of the set-up. */
const runIn = async (from: Record<string, string>, to: (dir: string) => void, keeps?: (path: string) => boolean) => {
  scene = await setScene({ 'a.txt': 'a\n', 'package-lock.json': '{}', '.gitignore': 'ignored\n' })
  const dir = await workspaceOf(scene)
  put(dir, from)
  const place = { base: scene.head, workTree: dir, indexFile: scene.index }
  const ran = await runUndone({ ports: realPorts, shadow: scene.shadow }, place, async () => (to(dir), ended), keeps)
  return {
    ...ran,
    text: (path: string) => (existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : undefined),
  }
}

const everything = (dir: string): void => {
  put(dir, {
    ...{ 'a.txt': 'b\n', 'new.txt': 'x', 'deep/new.js': 'x', 'package-lock.json': '{"new":1}', 'setup.txt': 'changed' },
    ...{ ignored: 'x', 'node_modules/tiny/index.js': 'x' },
  })
}

test('every change that git would take is listed and undone, new files too; ignored files and packages stay', async () => {
  const { changed, text } = await runIn({ 'setup.txt': 'made by the set-up' }, everything)
  expect(changed.toSorted()).toEqual(['a.txt', 'deep/new.js', 'new.txt', 'package-lock.json', 'setup.txt'])
  expect(['a.txt', 'new.txt', 'deep/new.js', 'package-lock.json', 'setup.txt'].map(text)).toEqual([
    ...['a\n', undefined, undefined, '{}', 'made by the set-up'],
  ])
  expect([text('ignored'), text('node_modules/tiny/index.js')]).toEqual(['x', 'x'])
})

test('what may enter the work stays, and a deleted file comes back', async () => {
  const { changed, text } = await runIn(
    {},
    (dir) => {
      writeFileSync(join(dir, 'package-lock.json'), '{"new":1}')
      rmSync(join(dir, 'a.txt'))
    },
    isLockfile,
  )
  expect(changed.toSorted()).toEqual(['a.txt', 'package-lock.json'])
  expect([text('package-lock.json'), text('a.txt')]).toEqual(['{"new":1}', 'a\n'])
})
