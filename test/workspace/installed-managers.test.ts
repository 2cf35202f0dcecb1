/** Trees of Yarn 2 and later, Bun, Python and Go, beside what the real managers wrote about them. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inspectInstalled } from '../../src/workspace/installed.ts'
import { bunLock, manifests, yarnLock, yarnState } from './installed-samples.ts'
import { put } from './scene.ts'

let top: string
let project: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-managers-'))
  project = join(top, 'project')
  put(project, manifests)
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const tree = async () => (await inspectInstalled(project)).trees.at(0)

const versions = {
  ...{ 'is-number': '6.0.0', 'number-is': '6.0.0', 'is-odd': '3.0.0', 'js-tokens': '4.0.0' },
  ...{ 'loose-envify': '1.4.0', react: '18.2.0', 'use-sync-external-store': '1.2.0' },
}
const packages = (more: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...versions, ...more }).map(([name, version]) => [
      `node_modules/${name}/package.json`,
      JSON.stringify({ version }),
    ]),
  )

describe('Yarn with the node-modules linker', () => {
  const linker = { '.yarnrc.yml': 'nodeLinker: node-modules\n' }
  const state = 'node_modules/.yarn-state.yml'
  const installed = { ...linker, 'yarn.lock': yarnLock, [state]: yarnState, ...packages() }
  const withOdd = (version: string): string =>
    yarnLock.replaceAll(/(is-odd(?:@|: ")npm:|version: )3\.0\.0/g, `$1${version}`)

  test.each<[string, Record<string, string>, object]>([
    ['as it was installed', {}, { lockfile: 'yarn.lock', state: 'same', differences: [], damage: [] }],
    [
      'after a change of a version',
      { 'yarn.lock': withOdd('3.0.1') },
      { state: 'differs', differences: ['is-odd is 3.0.0 instead of 3.0.1'] },
    ],
    [
      'without a package that another needs',
      { [state]: yarnState.replace('"js-tokens@npm:4.0.0"', '"other@npm:1.0.0"') },
      { state: 'differs', differences: ['js-tokens is missing'] },
    ],
    [
      'without one of several of its own',
      { [state]: yarnState.replace('"react@npm:18.2.0"', '"other@npm:1.0.0"') },
      { state: 'differs', differences: ['react is missing'] },
    ],
    [
      'of production alone',
      { [state]: yarnState.replace('"is-odd@npm:3.0.0"', '"other@npm:1.0.0"') },
      { state: 'unknown', differences: [] },
    ],
    [
      'as older versions write it',
      {
        'yarn.lock': yarnLock.replaceAll(/^( {4}\S+): "npm:(.*)"$/gm, '$1: "$2"'),
        [state]: yarnState.replace('"react@npm:18.2.0"', '"other@npm:1.0.0"'),
      },
      { state: 'differs', differences: ['react is missing'] },
    ],
    [
      'without an optional package',
      { 'yarn.lock': yarnLock.replace('  conditions: os=win32 & cpu=ia32\n', '') },
      { state: 'same' },
    ],
    [
      'without a package for another system',
      { 'yarn.lock': yarnLock.replace('      optional: true\n', '') },
      { state: 'same' },
    ],
    ['of a form of tomorrow', { [state]: '- installed: everything\n' }, { state: 'unknown', differences: [] }],
    ['cut in half', { 'yarn.lock': '__metadata:\n  version: 10\n' }, { state: 'unknown', differences: [] }],
    [
      "under Plug'n'Play since, with a list that is left",
      { '.yarnrc.yml': '', 'yarn.lock': withOdd('3.0.1'), 'node_modules/react/package.json': '' },
      { state: 'unknown', damage: ['react is empty'] },
    ],
    [
      'with a package that was cut to nothing',
      { 'node_modules/loose-envify/package.json': '' },
      { state: 'same', damage: ['loose-envify has no package.json'] },
    ],
  ])('%s', async (_, files, expected) => {
    put(project, { ...installed, ...files })
    expect(await tree()).toMatchObject(expected)
  })

  test('is absent if the project uses a tree, and ignored under Plug and Play', async () => {
    put(project, { ...linker, 'yarn.lock': yarnLock })
    expect(await tree()).toMatchObject({ state: 'absent' })
    put(project, { '.yarnrc.yml': '', '.pnp.cjs': '' })
    expect(await tree()).toMatchObject({ state: 'unknown' })
  })
})

describe('Bun', () => {
  test.each<[string, Record<string, string>, object]>([
    ['as it was installed', packages(), { lockfile: 'bun.lock', state: 'same', differences: [] }],
    [
      'with other versions, of its own and of what others need',
      packages({ 'is-odd': '2.0.0', 'js-tokens': '3.0.0' }),
      { state: 'differs', differences: ['is-odd is 2.0.0 instead of 3.0.0', 'js-tokens is 3.0.0 instead of 4.0.0'] },
    ],
    [
      'with a version that its registry spells otherwise',
      packages({ 'js-tokens': 'v4.0' }),
      { state: 'same', differences: [] },
    ],
    [
      'without a package for another system',
      {
        'bun.lock': bunLock.replace('"react": "18.2.0",', '"react": "18.2.0", "@esbuild/win32-ia32": "0.20.2",'),
        ...packages(),
      },
      { state: 'same', differences: [] },
    ],
    ['of a form of tomorrow', { 'bun.lock': '["everything"]', ...packages() }, { state: 'unknown', differences: [] }],
    [
      'of a lockfile with a string that never ends',
      { 'bun.lock': `{"packages": "${'\\"'.repeat(1_000_000)}`, ...packages() },
      { state: 'unknown', differences: [] },
    ],
    [
      'of a version of tomorrow',
      { 'bun.lock': bunLock.replace('"lockfileVersion": 2', '"lockfileVersion": "2026"'), ...packages() },
      { state: 'unknown', differences: [] },
    ],
    [
      'of a lockfile that leads out of the project',
      {
        'bun.lock': bunLock.replace('"packages/a": {', '"../outside": {'),
        '../outside/node_modules/number-is/package.json': '{"version":"1.2.3"}',
        ...packages(),
      },
      { state: 'same', differences: [] },
    ],
  ])('%s', async (_, files, expected) => {
    put(project, { 'bun.lock': bunLock, ...files })
    expect(await tree()).toMatchObject(expected)
  })

  test('without one of several, and without all of one kind, which may be left out on purpose', async () => {
    put(project, { 'bun.lock': bunLock, ...packages() })
    rmSync(join(project, 'node_modules/is-odd'), { recursive: true })
    expect(await tree()).toMatchObject({ state: 'unknown', differences: [] })
    rmSync(join(project, 'node_modules/react'), { recursive: true })
    expect(await tree()).toMatchObject({ state: 'differs', differences: ['react is missing'] })
  })

  /** As `bun install --linker isolated` lays it. */
  const isolate = (at: string, store: string, name: string): void => {
    const modules = join(project, 'node_modules')
    put(join(modules, '.bun', store), { [`node_modules/${name}/package.json`]: '{}' })
    const up = at.startsWith('packages/') ? '../../../node_modules/' : ''
    mkdirSync(dirname(join(project, at)), { recursive: true })
    symlinkSync(`${up}.bun/${store}/node_modules/${name}`, join(project, at))
  }

  test('in the isolated layout, from the names of its store', async () => {
    put(project, { 'bun.lock': bunLock })
    isolate('node_modules/is-odd', 'is-odd@3.0.0', 'is-odd')
    isolate('node_modules/react', 'react@18.2.0', 'react')
    isolate(
      'node_modules/use-sync-external-store',
      'use-sync-external-store@1.2.0+5e44392892a7cd3e',
      'use-sync-external-store',
    )
    isolate('packages/a/node_modules/number-is', 'is-number@6.0.0', 'is-number')
    expect(await tree()).toMatchObject({ state: 'same' })
    put(project, { 'bun.lock': bunLock.replace('["react@18.2.0"', '["react@18.3.0"') })
    expect(await tree()).toMatchObject({ state: 'differs', differences: ['react is 18.2.0 instead of 18.3.0'] })
  })

  test('reads no package through a link', async () => {
    put(project, { 'bun.lock': bunLock, ...packages() })
    renameSync(join(project, 'node_modules/is-odd'), join(top, 'is-odd'))
    symlinkSync(join(top, 'is-odd'), join(project, 'node_modules/is-odd'))
    put(top, { 'is-odd/package.json': '{"version":"9.9.9"}' })
    expect(await tree()).toMatchObject({ state: 'unknown', differences: [] })
    put(top, { 'is-odd/node_modules/js-tokens/package.json': '{"version":"9.9.9"}' })
    put(project, { 'bun.lock': bunLock.replace('"js-tokens": [', '"is-odd/js-tokens": [') })
    expect(await tree()).toMatchObject({ state: 'unknown', differences: [] })
  })
})

describe('Python', () => {
  const site = '.venv/lib/python3.11/site-packages'
  const venv = (...entries: string[]): Record<string, string> => ({
    '.venv/pyvenv.cfg': 'home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n',
    [`${site}/distutils-precedence.pth`]: '',
    ...Object.fromEntries(entries.map((entry) => [`${site}/${entry}`, ''])),
  })
  /** As pip 23.2 names them. */
  const three = venv(
    ...['My.Pkg-1.0.0.dist-info/METADATA', 'my_pkg/__init__.py', 'two_words-1.0rc1.dist-info/METADATA'],
    ...['words/__init__.py', 'torchy-2.1.0+cpu.dist-info/METADATA', 'torchy.cpython-311-x86_64-linux-gnu.so'],
  )
  const pins = 'my-pkg==1.0 \\\n    --hash=sha256:00\ntwo_words[x] == 1.0.0-rc.1  # why\nTorchy==2.1.0\n'
  const locked = (...entries: string[]): string => entries.map((entry) => `[[package]]\n${entry}\n`).join('\n')
  const registry = 'source = { registry = "https://packages.example/simple" }'

  beforeEach(() => rmSync(join(project, 'package.json')))

  test.each<[string, Record<string, string>, object]>([
    ['as it was installed', { 'requirements.txt': pins }, { lockfile: 'requirements.txt', state: 'same' }],
    [
      'with another version, and without one',
      { 'requirements.txt': `${pins.replace('my-pkg==1.0 ', 'my-pkg==2.0 ')}structlog==24.1.0\n` },
      { state: 'differs', differences: ['my-pkg is 1.0.0 instead of 2.0', 'structlog is not installed'] },
    ],
    ['in a range', { 'requirements.txt': 'my-pkg>=1.0,<2\n' }, { state: 'same' }],
    [
      'of what cannot be weighed here',
      { 'requirements.txt': 'my-pkg>=2; python_version < "3"\nx==1; os_name == "nt"\n-r more.txt\ny @ file:///y\n' },
      { state: 'unknown', differences: [] },
    ],
    ['of versions of no known form', { 'requirements.txt': 'my-pkg==one\n' }, { state: 'unknown', differences: [] }],
    [
      'beside packages of the machine',
      {
        'requirements.txt': 'my-pkg==1.0\nstructlog==24.1.0\n',
        '.venv/pyvenv.cfg': 'include-system-site-packages = true\n',
      },
      { state: 'unknown', differences: [] },
    ],
    [
      'of uv',
      {
        'uv.lock': locked(
          `name = "my-pkg"\nversion = "1.1.0"\n${registry}\ndependencies = [\n    { name = "x" },\n]`,
          'name = "two-words"\nversion = "9"\nsource = { editable = "." }',
        ),
      },
      { lockfile: 'uv.lock', state: 'differs', differences: ['my-pkg is 1.0.0 instead of 1.1.0'] },
    ],
    [
      'of Poetry, in one of two versions',
      {
        'poetry.lock': locked(
          'name = "my-pkg"\nversion = "0.9"\noptional = false\n\n[package.dependencies]\nname = "7"\nversion = "8"',
          'name = "my-pkg"\nversion = "1.0.0"\noptional = false',
          'name = "torchy"\nversion = "3"\n\n[package.source]\ntype = "git"',
        ),
      },
      { lockfile: 'poetry.lock', state: 'same' },
    ],
    [
      'of a lockfile with packages for others',
      { 'poetry.lock': locked('name = "my-pkg"\nversion = "1.0.0"', 'name = "colorama"\nversion = "0.4.6"') },
      { state: 'unknown', differences: [] },
    ],
    [
      'of more than is weighed',
      { 'requirements.txt': 'my-pkg==2.0\n'.repeat(20_001) },
      { state: 'unknown', differences: [] },
    ],
    [
      'of one of two files',
      { 'uv.lock': locked(`name = "my-pkg"\nversion = "3"\n${registry}`), 'requirements.txt': pins },
      { lockfile: 'requirements.txt', state: 'same' },
    ],
  ])('%s', async (_, files, expected) => {
    put(project, { ...three, ...files })
    expect(await tree()).toMatchObject({ ecosystem: 'python', damage: [], ...expected })
  })

  test('an environment that is missing, a link, or of unknown form is not a tree', async () => {
    put(project, { 'requirements.txt': pins })
    expect((await inspectInstalled(project)).trees).toHaveLength(0)
    put(join(top, 'elsewhere'), three)
    symlinkSync(join(top, 'elsewhere/.venv'), join(project, '.venv'))
    expect((await inspectInstalled(project)).trees).toHaveLength(0)
    rmSync(join(project, '.venv'))
    put(project, { ...three, '.venv/lib/python3.12/site-packages/x.py': '' })
    expect((await inspectInstalled(project)).trees).toHaveLength(0)
  })

  const declared = async (name: string): Promise<boolean | undefined> =>
    (await inspectInstalled(project, { of: 'python', name })).asked?.declared

  test('a module is undeclared if all declared packages are installed and none provides it', async () => {
    put(project, { ...three, 'requirements.txt': pins, 'pyproject.toml': '[tool.ruff]\n', 'src/app/cart.py': '' })
    expect(await declared('structlog')).toBe(false)
    expect(await declared('two_words')).toBe(true)
    // Brought under another name; a part of Python; the project's own.
    for (const name of ['words', 'tkinter', '_ctypes', 'cart']) expect(await declared(name)).toBeUndefined()
  })

  test.each<[string, Record<string, string>]>([
    ['a package is not there', { 'requirements.txt': `${pins}scikit-learn==1\n` }],
    ['a line was left out', { 'requirements.txt': `${pins}-r more.txt\n` }],
    ['another file may declare it', { 'requirements-dev.txt': 'structlog\n' }],
    ['the manifest may declare it', { 'pyproject.toml': '[project]\ndependencies = ["x"]\n' }],
    ['a package lies elsewhere', { [`${site}/__editable__.own-1.0.pth`]: '/src\n' }],
    ['packages of the machine count', { '.venv/pyvenv.cfg': 'include-system-site-packages = true\n' }],
    [
      'it was declared since the lockfile',
      { 'uv.lock': locked(`name = "my-pkg"\nversion = "1"\n${registry}`), 'pyproject.toml': 'x = ["structlog"]\n' },
    ],
  ])('nothing is said of a module where %s', async (_, files) => {
    put(project, { ...three, 'requirements.txt': pins })
    expect(await declared('structlog')).toBe(false)
    put(project, files)
    expect(await declared('structlog')).toBeUndefined()
  })

  test('what the real venv makes is read, before and after an install', async () => {
    execFileSync('python3', ['-m', 'venv', '--without-pip', '.venv'], { cwd: project })
    put(project, { 'requirements.txt': 'my-pkg==1.0\n' })
    expect(await tree()).toMatchObject({ state: 'differs', differences: ['my-pkg is not installed'] })
    const purelib = 'import sysconfig; print(sysconfig.get_path("purelib"))'
    const found = execFileSync(join(project, '.venv/bin/python'), ['-c', purelib], { encoding: 'utf8' }).trim()
    put(found, { 'my_pkg-1.0.dist-info/METADATA': 'Name: my-pkg\n' })
    expect(await tree()).toMatchObject({ state: 'same' })
  })
})

describe('Go', () => {
  const list = [
    ...['# example.com/one v1.0.0', '## explicit; go 1.17', 'example.com/one/sub'],
    ...['# example.com/two v2.1.0+incompatible', '## explicit'],
    ...['# example.com/three v0.1.0 => ../three', '## explicit; go 1.20', ''],
  ].join('\n')
  const goMod = (one: string): string =>
    [
      ...['module example.com/own', '', 'go 1.21', '', 'require (', `\texample.com/one ${one}`],
      ...['\texample.com/two v2.1.0+incompatible // indirect', ')', 'require example.com/three v0.1.0', ''],
      ...['replace example.com/three => ../three', 'exclude example.com/four v1.0.0', ''],
    ].join('\n')

  beforeEach(() => rmSync(join(project, 'package.json')))

  test.each<[string, string, string, object]>([
    ['as it was vendored', goMod('v1.0.0'), list, { lockfile: 'go.mod', state: 'same', differences: [] }],
    [
      'after a change of go.mod',
      `${goMod('v1.1.0')}require example.com/five v1.0.0\n`,
      list,
      {
        state: 'differs',
        differences: ['example.com/one is v1.0.0 instead of v1.1.0', 'example.com/five is missing'],
      },
    ],
    ['before Go compared the two', goMod('v1.1.0'), list.replaceAll(/^## .*$/gm, ''), { state: 'unknown' }],
    ['of a workspace', goMod('v1.1.0'), `## workspace\n${list}`, { state: 'unknown', differences: [] }],
  ])('%s', async (...[, mod, modules, expected]) => {
    put(project, { 'go.mod': mod, 'vendor/modules.txt': modules })
    expect(await tree()).toMatchObject({ ecosystem: 'go', damage: [], ...expected })
  })

  test('without `vendor` there is no tree', async () => {
    put(project, { 'go.mod': goMod('v1.0.0') })
    expect((await inspectInstalled(project)).trees).toHaveLength(0)
  })
})

test('only the requested ecosystems are inspected', async () => {
  put(project, {
    ...{ 'bun.lock': bunLock, 'go.mod': 'module m\n', 'vendor/modules.txt': '## explicit\n' },
    ...{ 'requirements.txt': 'x==1\n', '.venv/pyvenv.cfg': '', '.venv/lib/python3.11/site-packages/x.py': '' },
    ...packages(),
  })
  const found = async (of?: 'node' | 'python' | 'go') =>
    (await inspectInstalled(project, of === undefined ? {} : { of })).trees.map(({ ecosystem }) => ecosystem)
  expect(await found()).toEqual(['node', 'python', 'go'])
  for (const of of ['node', 'python', 'go'] as const) expect(await found(of)).toEqual([of])
})
