/** What a proposed command changed in a clone, on real git: the checks that follow may only see what lands. */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { isLockfile, runApproved, runUndone } from '../../src/runtime/checks/proposed-command.ts'
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

const approved = async (
  command: string,
  from: Record<string, string>,
  workingDir = '.',
  before?: (dir: string) => void,
) => {
  scene = await setScene({ 'a.txt': 'a\n' })
  const dir = await workspaceOf(scene)
  put(dir, from)
  for (const path of Object.keys(from)) chmodSync(join(dir, path), 0o755)
  const { PATH = '', HOME = '' } = process.env
  const files = {
    ...realPorts.files,
    realpathSync: (path: string) => {
      const found = realPorts.files.realpathSync(path)
      if (path.endsWith(workingDir)) before?.(dir)
      return found
    },
  }
  const ran = await runApproved(
    {
      ...{ workspace: dir, ports: { ...realPorts, files }, environment: { PATH: `.:${PATH}`, HOME }, extraNames: [] },
      ...{ marker: 'approved-command', keepAliveMs: 1000, signal: new AbortController().signal, variables: {} },
    } as unknown as Parameters<typeof runApproved>[0],
    { command, workingDir, timeoutSeconds: 20 },
    join(scene.top, 'command'),
  )
  return { dir, ran: ran as Exclude<typeof ran, string> }
}

test('an approved command runs the program of the owner, not one of its name that an agent put into the workspace', async () => {
  const planted = '#!/bin/sh\necho planted\n'
  const { ran } = await approved('node --version && tool', {
    ...{ 'node_modules/.bin/node': planted, node: planted, '.venv/bin/node': planted },
    'node_modules/.bin/tool': '#!/bin/sh\necho a tool of the packages\n',
  })
  expect(ran.stdout).toMatch(/^v\d+\..*\na tool of the packages\n$/)
})

test('a folder that is replaced by a link before the command starts is not entered', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'unstuck-outside-'))
  try {
    const { dir, ran } = await approved('pwd -P; touch here', { 'sub/x': '' }, 'sub', (top) => {
      rmSync(join(top, 'sub'), { recursive: true, force: true })
      symlinkSync(outside, join(top, 'sub'))
    })
    expect([ran.exitCode, ran.stdout, readdirSync(outside)]).toEqual([125, '', []])
    expect(readdirSync(dir)).not.toContain('here')
  } finally {
    rmSync(outside, { recursive: true })
  }
})

test('a command runs in its own folder', async () => {
  const { dir, ran } = await approved('pwd -P', { 'sub folder/x': '' }, 'sub folder')
  expect([ran.exitCode, ran.stdout]).toEqual([0, `${realpathSync(dir)}/sub folder\n`])
})
