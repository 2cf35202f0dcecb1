/** Facts about folders and programs that corrections stand on: real files, links and modes. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execaSync } from 'execa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Denial } from '../../src/harness/driver.ts'
import { drivers } from '../../src/harness/drivers.ts'
import { allowedDirectories, observedDenials } from '../../src/runtime/agent/denials.ts'
import { directoryFacts } from '../../src/recovery/diagnosis/directory.ts'
import type { ObservedDirectory } from '../../src/recovery/evidence.ts'
import { changeMode, inspectDirectory } from '../../src/runtime/core/folder-access.ts'
import { existingDirectory, realDirectories } from '../../src/runtime/agent/observe-denial.ts'
import { findProgram } from '../../src/runtime/core/find-program.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { prepareWorkerEnvironment } from '../../src/runtime/run/phases/prepare.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { openPlainUser, type PlainUser } from '../support/plain-user.ts'

let top: string
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-folders-')))
  chmodSync(top, 0o755)
})
afterEach(() => {
  // Whoever is not root could not clear what a test has locked.
  execaSync('chmod', ['-R', 'u+rwX', top])
  rmSync(top, { recursive: true, force: true })
})

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

const sessionWith = (allowed: string[], configured: string[] = []): RunContext =>
  ({
    goal: { allowedDirs: allowed, repoMode: 'local' },
    paths: { workspace: make('workspace') },
    driver: { name: 'claude', defaultProgram: null, measured: drivers.claude.measured },
    run: { launches: [] },
    context: { ports: realPorts, config: () => ({ allowedDirs: configured }) },
  }) as unknown as RunContext

const observe = async (runContext: RunContext, target: string, kind: Denial['kind'] = 'scope') =>
  (await observedDenials(runContext, [{ kind, tool: 'Write', target, text: 'no', callId: 'c' }]))[0]

describe('whether a denied directory is allowed', () => {
  test('below an allowed one it is, beside one of the same beginning it is not', async () => {
    const runContext = sessionWith([make('shared')])
    make('shared-not')
    expect(await observe(runContext, join(top, 'shared/new/file'))).toMatchObject({
      directory: join(top, 'shared'),
      allowedBy: join(top, 'shared'),
    })
    expect(await observe(runContext, join(top, 'shared-not/file'))).not.toHaveProperty('allowedBy')
  })
  test('a link out of an allowed directory is no way in, a link into one is', async () => {
    const runContext = sessionWith([make('shared')])
    symlinkSync(make('private'), join(top, 'shared', 'out'))
    symlinkSync(join(top, 'shared'), join(top, 'in'))
    expect(await observe(runContext, join(top, 'shared/out/f'))).toEqual({
      kind: 'scope',
      tool: 'Write',
      target: join(top, 'shared/out/f'),
      text: 'no',
      directory: join(top, 'private'),
    })
    expect(await observe(runContext, join(top, 'in/f'))).toMatchObject({ allowedBy: join(top, 'shared') })
  })
  test('".." in the target is resolved first', async () => {
    const runContext = sessionWith([make('shared')])
    make('private')
    expect(await observe(runContext, `${top}/shared/../private/f`)).not.toHaveProperty('allowedBy')
    expect(await observe(runContext, '../private/f')).toMatchObject({ directory: join(top, 'private') })
  })
  test('inside the workspace the mode is the problem, also through a link', async () => {
    const runContext = sessionWith([])
    symlinkSync(runContext.paths.workspace, join(top, 'w'))
    expect(await observe(runContext, join(top, 'w/src/f'))).toMatchObject({ kind: 'tool' })
    expect(await observe(runContext, 'src/f')).toMatchObject({ kind: 'tool' })
    expect(await observe(runContext, 'src/f')).not.toHaveProperty('directory')
  })
  test('a denial of another kind or without a target has no directory', async () => {
    expect(await observe(sessionWith([]), '/etc', 'tool')).not.toHaveProperty('directory')
  })
  test('an allowed directory that leads to the home folder by now allows nothing', () => {
    const home = make('home')
    symlinkSync(home, join(top, 'was-data'))
    const [link, data] = [join(top, 'was-data'), make('data')]
    expect(realDirectories({ ...realFiles, homeDir: () => home }, [link, data])).toEqual([data])
    expect(realDirectories(realFiles, [link])).toEqual([home])
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

describe('prepare_worker_environment', () => {
  const prepare = (workspace: string, target: string, orchestrator: string) =>
    prepareWorkerEnvironment(realFiles, { workspace, target, orchestrator })

  test('a missing workspace is made, private; a missing target or orchestrator is named and not made', () => {
    const workspace = join(top, 'new', 'run')
    expect(prepare(workspace, make('target'), make('state'))).toBeUndefined()
    expect(statSync(workspace).mode & 0o777).toBe(0o700)
    const gone = join(top, 'gone')
    expect(prepare(workspace, gone, make('state'))).toEqual({ path: gone, problem: 'missing' })
    expect(prepare(join(gone, 'runs', '1'), make('target'), gone)).toEqual({ path: gone, problem: 'missing' })
    expect(existsSync(gone)).toBe(false)
  })
  test('a file in place of a folder is named', () => {
    expect(prepare(make('run'), file('target'), make('s'))).toMatchObject({ problem: 'not a directory' })
  })
  test('a folder of ours that lacks a bit of its owner is in the way, also for root', () => {
    for (const mode of [0o077, 0o500, 0o600, 0o2070]) {
      const target = make(`target-${mode}`)
      chmodSync(target, mode)
      expect(prepare(make('run'), target, make('state'))).toEqual({
        path: target,
        problem: 'no access',
        mode,
        isOurs: true,
      })
    }
  })
})

describe('a change of mode', () => {
  const locked = (mode: number): string => {
    const path = make('locked')
    chmodSync(path, mode)
    return path
  }
  const change = (directory: string, oldMode: string, newMode: string) =>
    changeMode(realFiles, { directory, oldMode, newMode })
  const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

  test('adds the bits of the owner and leaves all others', () => {
    const path = locked(0o2070)
    const { chmod } = directoryFacts(inspectDirectory(realFiles, path) as ObservedDirectory)
    expect(chmod).toEqual({ directory: path, oldMode: '2070', newMode: '2770' })
    expect(change(path, '2070', '2770')).toMatchObject({ satisfied: true, detail: expect.stringContaining('2070') })
    expect(modeOf(path)).toBe('2770')
  })
  test('is made once: what it has reached already is left as it is', () => {
    const path = locked(0o750)
    expect(change(path, '0050', '0750')).toMatchObject({ satisfied: true })
    expect(modeOf(path)).toBe('750')
  })
  test('is not made where the mode is another by now, or a link stands in its place', () => {
    const path = locked(0o070)
    expect(change(path, '0500', '0700')).toMatchObject({ satisfied: false })
    symlinkSync(path, join(top, 'link'))
    expect(change(join(top, 'link'), '0070', '0770')).toMatchObject({
      satisfied: false,
      detail: expect.stringContaining('link'),
    })
    expect(modeOf(path)).toBe('70')
  })
  test('is never made of the home folder, of a link to it, or below .git', () => {
    const path = locked(0o500)
    const home = { ...realFiles, homeDir: () => path }
    const seen = inspectDirectory(home, path) as ObservedDirectory
    expect(seen).toMatchObject({ problem: 'no access', spared: 'is the home folder' })
    expect(directoryFacts(seen)).toEqual({
      directory: path,
      chmodFailed: `${path} (mode 0500) is the home folder; its mode is never changed`,
    })
    symlinkSync(path, join(top, 'to-home'))
    expect(inspectDirectory(home, join(top, 'to-home'))?.spared).toBe(`leads to ${path}, which is the home folder`)
    const made = changeMode(home, { directory: path, oldMode: '0500', newMode: '0700' })
    expect([made, modeOf(path)]).toEqual([{ satisfied: false, detail: `${path} is the home folder` }, '500'])

    const hooks = make('repository/.git/hooks')
    chmodSync(hooks, 0o500)
    expect(inspectDirectory(realFiles, hooks)?.spared).toBe('belongs to git')
    expect(change(hooks, '0500', '0700').satisfied).toBe(false)
    for (const done of [path, hooks]) chmodSync(done, 0o700)
  })
  test('of a folder that is gone fails', () => {
    expect(change(join(top, 'gone'), '0500', '0700')).toMatchObject({ satisfied: false })
  })

  const program = 'test/fixture/process/change-mode.ts'
  let plain: PlainUser
  beforeAll(() => {
    plain = openPlainUser({ parts: ['src', program], packages: false })
  })
  afterAll(() => plain?.close())

  /** What a user who is not root sees and can do. */
  const asPlainUser = (path: string): { seen: ObservedDirectory; made: { holds: boolean; detail: string } } => {
    const { stdout, stderr } = plain.run(program, [path], { cwd: top })
    if (stdout === '') throw new Error(`${program} printed nothing: ${stderr}`)
    return JSON.parse(stdout)
  }

  test('is made by somebody who is not root, in a folder of theirs', () => {
    const path = locked(0o2070)
    plain.give(path)
    chmodSync(path, 0o2070) // a change of owner takes the set-group bit away
    expect(asPlainUser(path)).toMatchObject({ seen: { problem: 'no access', isOurs: true }, made: { satisfied: true } })
    expect(modeOf(path)).toBe('2770')
  })

  test('of a folder of somebody else is not even tried', () => {
    // Without root the folder above all others is somebody else's.
    const root = process.getuid?.() === 0
    const path = root ? locked(0o700) : '/'
    const { seen, made } = asPlainUser(path)
    expect(seen).toMatchObject({ path, problem: 'no access', isOurs: false })
    expect(directoryFacts(seen)).toEqual({ directory: path, chmodFailed: expect.stringContaining('another user') })
    expect(made).toEqual({ satisfied: false, detail: `${path} belongs to another user` })
  })
})

describe('what the operating system refused', () => {
  const lockedAt = (name: string, mode = 0o500): string => {
    const path = make(name)
    chmodSync(path, mode)
    return path
  }
  test('is traced to the first folder on its way that cannot be used', async () => {
    const runContext = sessionWith([make('shared')])
    const path = lockedAt('shared/a')
    expect(await observe(runContext, join(top, 'shared/a/b/f'), 'filesystem')).toMatchObject({
      directory: path,
      unusable: { path, problem: 'no access', mode: 0o500, isOurs: true },
    })
    make('shared/open/deep')
    lockedAt('shared/open', 0o070)
    expect(await observe(runContext, join(top, 'shared/open/deep/f'), 'filesystem')).toMatchObject({
      unusable: { path: join(top, 'shared/open') },
    })
    lockedAt('workspace/src')
    expect(await observe(runContext, 'src/f', 'filesystem')).toMatchObject({
      unusable: { path: join(runContext.paths.workspace, 'src') },
    })
  })
  test('outside of the workspace and the allowed directories, also by a link, is nothing to mend', async () => {
    const runContext = sessionWith([make('shared')])
    const path = lockedAt('private')
    symlinkSync(path, join(top, 'shared', 'out'))
    for (const target of [join(path, 'f'), join(top, 'shared/out/f')]) {
      const seen = await observe(runContext, target, 'filesystem')
      expect(seen).toMatchObject({ directory: path })
      expect(seen).not.toHaveProperty('unusable')
    }
  })
  test('in folders that can be used has another reason', async () => {
    const runContext = sessionWith([make('shared')])
    expect(await observe(runContext, join(top, 'shared/f'), 'filesystem')).not.toHaveProperty('unusable')
  })
})
