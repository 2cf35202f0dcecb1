/** Facts about folders and programs that corrections stand on: real files, links and modes. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Denial } from '../../src/harness/driver.ts'
import { allowedDirectories, observedDenials } from '../../src/runtime/denials.ts'
import { existingDirectory } from '../../src/runtime/observe-denial.ts'
import { findProgram } from '../../src/runtime/launch.ts'
import { realFiles } from '../../src/runtime/files.ts'
import { realPorts } from '../../src/runtime/ports.ts'
import { prepareWorkerEnvironment } from '../../src/runtime/prepare.ts'
import type { Session } from '../../src/runtime/session.ts'

let top: string
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-folders-')))
  chmodSync(top, 0o755)
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const make = (name: string): string => {
  mkdirSync(join(top, name), { recursive: true })
  return join(top, name)
}
const file = (name: string, mode = 0o644): string => {
  writeFileSync(join(top, name), '#!/bin/sh\n')
  chmodSync(join(top, name), mode)
  return join(top, name)
}

describe('the directory of a denial', () => {
  test('is the nearest one that exists', () => {
    const dir = make('a/b')
    expect(existingDirectory(realFiles, join(dir, 'no', 'such', 'file'))).toBe(dir)
    expect(existingDirectory(realFiles, file('a/b/f'))).toBe(dir)
    expect(existingDirectory(realFiles, '/')).toBe('/')
  })
  test('is where a link really leads, a link to a file its folder, a broken one its own', () => {
    const real = make('real/deep')
    symlinkSync(real, join(top, 'link'))
    expect(existingDirectory(realFiles, join(top, 'link', 'new.txt'))).toBe(real)
    symlinkSync(file('real/f'), join(top, 'to-file'))
    expect(existingDirectory(realFiles, join(top, 'to-file'))).toBe(join(top, 'real'))
    symlinkSync(join(top, 'nowhere'), join(top, 'broken'))
    expect(existingDirectory(realFiles, join(top, 'broken'))).toBe(top)
  })
  test('of a link to itself is found without end', () => {
    symlinkSync(join(top, 'loop'), join(top, 'loop'))
    expect(existingDirectory(realFiles, join(top, 'loop', 'x'))).toBe(top)
  })
})

const sessionWith = (allowed: string[], configured: string[] = []): Session =>
  ({
    goal: { allowedDirs: allowed, repoMode: 'local' },
    paths: { workspace: make('workspace') },
    context: { ports: realPorts, config: () => ({ allowedDirs: configured }) },
  }) as unknown as Session

const observe = async (session: Session, target: string, kind: Denial['kind'] = 'scope') =>
  (await observedDenials(session, [{ kind, tool: 'Write', target, text: 'no', callId: 'c' }]))[0]

describe('whether a denied directory is allowed', () => {
  test('below an allowed one it is, beside one of the same beginning it is not', async () => {
    const session = sessionWith([make('shared')])
    make('shared-not')
    expect(await observe(session, join(top, 'shared/new/file'))).toMatchObject({
      directory: join(top, 'shared'),
      allowedBy: join(top, 'shared'),
    })
    expect(await observe(session, join(top, 'shared-not/file'))).not.toHaveProperty('allowedBy')
  })
  test('a link out of an allowed directory is no way in, a link into one is', async () => {
    const session = sessionWith([make('shared')])
    symlinkSync(make('private'), join(top, 'shared', 'out'))
    symlinkSync(join(top, 'shared'), join(top, 'in'))
    expect(await observe(session, join(top, 'shared/out/f'))).toEqual({
      kind: 'scope',
      tool: 'Write',
      target: join(top, 'shared/out/f'),
      text: 'no',
      directory: join(top, 'private'),
    })
    expect(await observe(session, join(top, 'in/f'))).toMatchObject({ allowedBy: join(top, 'shared') })
  })
  test('".." in the target is resolved first', async () => {
    const session = sessionWith([make('shared')])
    make('private')
    expect(await observe(session, `${top}/shared/../private/f`)).not.toHaveProperty('allowedBy')
    expect(await observe(session, '../private/f')).toMatchObject({ directory: join(top, 'private') })
  })
  test('inside the workspace the mode is the problem, also through a link', async () => {
    const session = sessionWith([])
    symlinkSync(session.paths.workspace, join(top, 'w'))
    expect(await observe(session, join(top, 'w/src/f'))).toMatchObject({ kind: 'tool' })
    expect(await observe(session, 'src/f')).toMatchObject({ kind: 'tool' })
    expect(await observe(session, 'src/f')).not.toHaveProperty('directory')
  })
  test('a denial of another kind or without a target has no directory', async () => {
    expect(await observe(sessionWith([]), '/etc', 'tool')).not.toHaveProperty('directory')
  })
  test('an allowed directory that does not exist allows nothing', () => {
    expect(allowedDirectories(sessionWith([join(top, 'no')], [make('yes')]))).toEqual([join(top, 'yes')])
  })
})

describe('a program', () => {
  test('is the first executable file of that name on PATH', () => {
    make('one/tool')
    make('two')
    make('three')
    file('two/tool', 0o644)
    const found = file('three/tool', 0o755)
    expect(findProgram(realFiles, 'tool', ['one', 'two', 'three'].map((name) => join(top, name)).join(':'))).toBe(found)
    expect(findProgram(realFiles, 'tool', join(top, 'one'))).toBeUndefined()
    expect(findProgram(realFiles, 'tool', undefined)).toBeUndefined()
  })
  test('is never found through a relative or empty entry', () => {
    const here = process.cwd()
    expect(findProgram(realFiles, 'package.json', `:.:${here}/nosuch`)).toBeUndefined()
    expect(findProgram(realFiles, 'unstuck', '')).toBeUndefined()
  })
  test('given by an absolute path must be there and executable', () => {
    expect(findProgram(realFiles, file('yes', 0o755), '')).toBe(join(top, 'yes'))
    expect(findProgram(realFiles, file('no', 0o644), '')).toBeUndefined()
    expect(findProgram(realFiles, join(top, 'nosuch'), '')).toBeUndefined()
    expect(findProgram(realFiles, top, '')).toBeUndefined()
  })
})

describe('the worker environment', () => {
  test('a missing workspace is made, private; a missing target or orchestrator is named', () => {
    const workspace = join(top, 'new', 'agent')
    expect(prepareWorkerEnvironment(realFiles, workspace, make('target'), make('state'))).toEqual([])
    expect(statSync(workspace).mode & 0o777).toBe(0o700)
    for (const paths of [
      [join(top, 'gone'), make('state')],
      [make('target'), join(top, 'gone')],
    ] as const) {
      expect(() => prepareWorkerEnvironment(realFiles, workspace, ...paths)).toThrow(
        `Critical directory missing: ${join(top, 'gone')}`,
      )
    }
  })
  test('a file in place of a folder is named', () => {
    expect(() => prepareWorkerEnvironment(realFiles, file('agent'), make('t'), make('s'))).toThrow(/agent is a file/)
  })

  /** Modes mean nothing to root, so a copy of the rule runs as another user there. */
  const asUser = (workspace: string, owner: number): string => {
    const source = fileURLToPath(new URL('../../src', import.meta.url))
    const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
    const root = process.getuid?.() === 0
    const copy = make('copy')
    execaSync('cp', ['-R', source, join(copy, 'src')])
    symlinkSync(modules, join(copy, 'node_modules'))
    writeFileSync(join(copy, 'package.json'), '{"type":"module"}')
    const [target, state] = [make('target'), make('state')]
    if (root) execaSync('chown', [`${owner}:${owner}`, workspace, target, state])
    writeFileSync(
      join(copy, 'main.ts'),
      `import { realFiles } from './src/runtime/files.ts'
import { prepareWorkerEnvironment } from './src/runtime/prepare.ts'
try { console.log(JSON.stringify(prepareWorkerEnvironment(realFiles, ${JSON.stringify(workspace)}, ${JSON.stringify(target)}, ${JSON.stringify(state)}))) }
catch (error) { console.log(error.code + ' ' + error.message) }`,
    )
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', '--', process.execPath]
    const [program, args] = root ? ['setpriv', nobody] : [process.execPath, []]
    return execaSync(program, [...args, join(copy, 'main.ts')], { cwd: top }).stdout
  }

  test('missing bits of the owner are added, all others stay, and the old mode is told', () => {
    const workspace = make('locked')
    if (process.getuid?.() === 0) execaSync('chown', ['65534:65534', workspace])
    chmodSync(workspace, 0o2070)
    const told = asUser(workspace, 65_534)
    expect(JSON.parse(told)).toEqual([{ path: workspace, oldMode: '2070' }])
    expect((statSync(workspace).mode & 0o7777).toString(8)).toBe('2770')
  })

  test.runIf(process.getuid?.() === 0)(
    'a folder of somebody else is left as it is and named (needs root to make one)',
    () => {
      const workspace = make('foreign')
      chmodSync(workspace, 0o700)
      const told = asUser(workspace, 0)
      expect(told).toMatch(/^PERMISSION Cannot fix permissions for .*foreign/)
      expect(statSync(workspace).mode & 0o7777).toBe(0o700)
    },
  )
})
