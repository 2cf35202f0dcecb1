/** A change to what a check is gets named wherever it is made; a change that no check uses does not. */
import { describe, expect, test } from 'vitest'
import { weakeningsIn } from '../weakened.ts'
import { changedChecks } from './changed-checks.ts'

type Files = Record<string, string>

/** `after`: only what differs; undefined = deleted. */
const look = async (commands: string[], before: Files, change: Record<string, string | undefined>) => {
  const after: Record<string, string | undefined> = { ...before, ...change }
  const paths = Object.keys(change)
  const { found, asserting } = await changedChecks({
    ...{ commands, paths },
    before: async (path) => before[path],
    after: async (path) => after[path],
  })
  const texts = [...asserting].map((path) => ({ path, before: before[path], after: after[path] }))
  return [...found, ...weakeningsIn(texts, asserting)].map(({ kind, path, detail }) => `${kind}: ${path}: ${detail}`)
}

const scripts = (entries: Files, more: object = {}): string => JSON.stringify({ scripts: entries, ...more })
const jest = scripts({ test: 'jest' })
const unit = { 'package.json': scripts({ test: 'npm run unit', unit: 'node check.mjs' }), 'check.mjs': 'run()\n' }

describe('is named', () => {
  test.each<[string, string[], Files, Record<string, string | undefined>, string]>([
    [
      'a hook before a script that had none',
      ['npm test'],
      { 'package.json': jest },
      { 'package.json': scripts({ test: 'jest', pretest: 'exit 0' }) },
      'check redefined: package.json: pretest: none -> exit 0',
    ],
    [
      'a script that the script calls',
      ['npm test'],
      unit,
      { 'package.json': scripts({ test: 'npm run unit', unit: 'exit 0' }) },
      'check redefined: package.json: unit: node check.mjs -> exit 0',
    ],
    [
      'a file that such a script runs',
      ['npm test'],
      unit,
      { 'check.mjs': 'skip()\n' },
      'check redefined: check.mjs: a file that the check runs was changed',
    ],
    [
      'a hook of a package in a folder, by cd',
      ['cd packages/a && npm test'],
      { 'packages/a/package.json': jest },
      { 'packages/a/package.json': scripts({ test: 'jest', posttest: 'true' }) },
      'check redefined: packages/a/package.json: posttest: none -> true',
    ],
    [
      'the same by --prefix',
      ['npm --prefix packages/a test'],
      { 'packages/a/package.json': jest },
      { 'packages/a/package.json': scripts({ test: 'true' }) },
      'check redefined: packages/a/package.json: test: jest -> true',
    ],
    [
      'the same by workspace',
      ['npm test -w a'],
      { 'package.json': '{}', 'packages/a/package.json': jest },
      { 'packages/a/package.json': scripts({ test: 'true' }) },
      'check redefined: packages/a/package.json: test: jest -> true',
    ],
    [
      'an added .npmrc',
      ['npm test'],
      { 'package.json': jest },
      { '.npmrc': 'script-shell=/bin/true\n' },
      'configuration changed: .npmrc: configuration of npm, added',
    ],
    [
      "a setting among pnpm's packages",
      ['pnpm test'],
      { 'package.json': jest, 'pnpm-workspace.yaml': 'packages:\n  - a\n' },
      { 'pnpm-workspace.yaml': 'packages:\n  - a\n"scriptShell": /bin/true\n' },
      'configuration changed: pnpm-workspace.yaml: configuration of pnpm, changed',
    ],
    [
      'the configuration of the runner',
      ['npm test'],
      { 'package.json': jest, 'jest.config.js': 'a' },
      { 'jest.config.js': 'b' },
      'configuration changed: jest.config.js: configuration of jest, changed',
    ],
    [
      'an added configuration of the runner, which was there without one',
      ['npx vitest run'],
      {},
      { 'vitest.config.ts': "exclude: ['a.test.ts']" },
      'configuration changed: vitest.config.ts: configuration of vitest, added',
    ],
    [
      'the runner in the manifest',
      ['npx jest'],
      { 'package.json': '{"jest":{"bail":1}}' },
      { 'package.json': '{"jest":{"bail":0}}' },
      'configuration changed: package.json: configuration of jest, changed',
    ],
    [
      'a threshold that was lowered',
      ['npm test'],
      { 'package.json': scripts({ test: 'c8 node a.js' }), '.c8rc.json': '{"lines": 90, "branches": 80}' },
      { '.c8rc.json': '{"lines": 10}' },
      'threshold lowered: .c8rc.json: lines 90 -> 10; branches 80 -> removed',
    ],
    [
      'the section of pytest',
      ['pytest'],
      { 'pyproject.toml': '[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-x"\n' },
      { 'pyproject.toml': '[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-k none"\n' },
      'configuration changed: pyproject.toml: configuration of pytest, changed',
    ],
    [
      'a conftest that skips',
      ['python -m pytest'],
      {},
      { 'conftest.py': 'def pytest_collection_modifyitems(items):\n    items.clear()\n' },
      'configuration changed: conftest.py: configuration of pytest, added',
    ],
    [
      'a workflow',
      ['npm test'],
      { 'package.json': jest, '.github/workflows/ci.yml': 'run: npm test' },
      { '.github/workflows/ci.yml': undefined },
      'configuration changed: .github/workflows/ci.yml: configuration of CI, deleted',
    ],
    [
      'the recipe of a make target',
      ['make test'],
      { Makefile: 'test: unit\n\nunit:\n\tnode check.mjs\n' },
      { Makefile: 'test: unit\n\nunit:\n\ttrue\n' },
      'check redefined: Makefile: unit: node check.mjs -> true',
    ],
    [
      'the shell of a makefile',
      ['make'],
      { Makefile: 'test:\n\tnode check.mjs\n' },
      { Makefile: 'SHELL = /bin/true\ntest:\n\tnode check.mjs\n' },
      'check redefined: Makefile: variables or included files of the makefile changed',
    ],
    [
      'a file that the makefile includes',
      ['make test'],
      { Makefile: 'include checks.mk\ntest:\n\t$(CHECK)\n', 'checks.mk': 'CHECK = node check.mjs\n' },
      { 'checks.mk': 'CHECK = true\n' },
      'configuration changed: checks.mk: configuration of a file that the check names, changed',
    ],
    [
      'a shell script',
      ['./run-tests.sh'],
      { 'run-tests.sh': 'set -e\npytest\n' },
      { 'run-tests.sh': 'set -e\npytest || true\n' },
      'check redefined: run-tests.sh: a file that the check runs was changed',
    ],
    [
      'a strictness of the compiler',
      ['npx tsc --noEmit'],
      { 'tsconfig.json': '{"compilerOptions":{"strict":true}}' },
      { 'tsconfig.json': '{"compilerOptions":{"strict":false}}' },
      'configuration changed: tsconfig.json: configuration of tsc, changed',
    ],
    [
      'a rule of the linter',
      ['npm run lint'],
      { 'package.json': scripts({ lint: 'eslint .' }), 'eslint.config.js': 'a' },
      { 'eslint.config.js': 'b' },
      'configuration changed: eslint.config.js: configuration of eslint, changed',
    ],
    [
      'an assertion of a program without named tests',
      ['node check.mjs'],
      { 'check.mjs': 'assert(a)\nassert(b)\n' },
      { 'check.mjs': 'assert(a)\n' },
      'assertion removed: check.mjs: ',
    ],
    [
      'such a program, deleted',
      ['npm test'],
      { 'package.json': scripts({ test: 'node a.mjs && node check.mjs' }), 'check.mjs': 'assert(a)\n' },
      { 'check.mjs': undefined },
      'file deleted: check.mjs: bare assertions',
    ],
    [
      'such a program that ends before it asserts',
      ['node check.mjs'],
      { 'check.mjs': 'assert(a)\n' },
      { 'check.mjs': 'process.exit(0)\nassert(a)\n' },
      'check redefined: check.mjs: a file that the check runs was changed',
    ],
    [
      'a file that the command names as configuration',
      ['runner --config checks/strict.yml'],
      { 'checks/strict.yml': 'all: true' },
      { 'checks/strict.yml': 'all: false' },
      'configuration changed: checks/strict.yml: configuration of a file that the check names, changed',
    ],
    [
      'a file that the check runs by a link',
      ['node a/linked.mjs'],
      { 'a/linked.mjs': '../b/real.mjs', 'b/real.mjs': 'run()\n' },
      { 'b/real.mjs': '' },
      'check redefined: b/real.mjs: a file that the check runs was changed',
    ],
    [
      'a name that is that of the check without case',
      ['node check.mjs'],
      { 'check.mjs': 'run()\n' },
      { 'Check.mjs': '' },
      'check redefined: Check.mjs: differs only in case from a file that the check runs',
    ],
    [
      'a package of the work whose program is called as one that starts the check',
      ['npm test'],
      { 'package.json': jest },
      { 'lib/package.json': '{"name":"lib","bin":{"../Node":"a"}}', 'lib/a': '' },
      'check redefined: lib/package.json: brings programs called node',
    ],
    [
      'the same by a folder of programs',
      ['npm test'],
      { 'package.json': jest },
      { 'lib/package.json': '{"directories":{"bin":"./bin"}}', 'lib/bin/jest': '' },
      'check redefined: lib/package.json: brings programs called jest',
    ],
    [
      'the same by a lockfile, named by its manifest',
      ['npm test'],
      { 'package.json': jest },
      {
        'package.json': scripts({ test: 'jest' }, { dependencies: { a: 'file:a.tgz' } }),
        'package-lock.json': '{"packages":{"node_modules/a":{"resolved":"file:a.tgz","bin":{"jest":"a"}}}}',
      },
      'check redefined: package.json: brings programs called jest',
    ],
    [
      'a lockfile that cannot be read',
      ['npm test'],
      { 'package.json': jest },
      { 'package-lock.json': '{' },
      'check redefined: package-lock.json: it cannot be read',
    ],
    [
      'what an install of the work runs',
      ['node check.mjs'],
      {},
      { 'a/package.json': scripts({ prepare: 'node a.js' }) },
      'check redefined: a/package.json: prepare: none -> node a.js',
    ],
    [
      'a program where package managers put theirs',
      ['pytest'],
      {},
      { '.venv/bin/python3': '' },
      'check redefined: .venv/bin/python3: takes precedence over the programs of the system',
    ],
    [
      'a link in place of that folder',
      ['npm test'],
      { 'package.json': jest },
      { node_modules: 'vendor' },
      'check redefined: node_modules: takes precedence over the programs of the system',
    ],
    [
      'a Python program called as one of the check',
      ['pytest'],
      {},
      { 'pyproject.toml': '[project.scripts]\npytest = "lib:main"\n' },
      'check redefined: pyproject.toml: brings programs called pytest',
    ],
  ])('%s', async (_name, ...[commands, before, change, wanted]) => {
    expect(await look(commands, before, change)).toEqual([wanted])
  })
})

test('what an agent writes to be slow costs no time', async () => {
  const spaces = ' '.repeat(200_000)
  const hostile = `lines${spaces}\n${'"include": ['.repeat(20_000)}\na${spaces}\n${'a b c\n'.repeat(50_000)}`
  const names = ['Makefile', 'tsconfig.json', '.c8rc.json', 'check.mjs', 'package.json', 'pyproject.toml']
  const all = Object.fromEntries(names.map((name) => [name, `${hostile}x`]))
  const began = process.threadCpuUsage()
  await look(
    ['make && npx tsc && node check.mjs && c8 pytest'],
    Object.fromEntries(names.map((name) => [name, hostile])),
    all,
  )
  const { user, system } = process.threadCpuUsage(began)
  expect((user + system) / 1000).toBeLessThan(3_000)
})

describe('is not named', () => {
  test.each<[string, string[], Files, Record<string, string | undefined>]>([
    [
      'what no check uses',
      ['cargo test'],
      { 'jest.config.js': 'a', '.npmrc': 'a' },
      { 'jest.config.js': 'b', '.npmrc': 'b' },
    ],
    [
      "another of pnpm's packages, and a version",
      ['pnpm test'],
      { 'package.json': jest, 'pnpm-workspace.yaml': 'packages:\n  - a\ncatalog:\n  x: 1.0.0\n' },
      { 'pnpm-workspace.yaml': '# all\npackages:\n- a\n- b\n\ncatalog:\n  x: 2.0.0\n' },
    ],
    [
      'another script',
      ['npm test'],
      { 'package.json': jest },
      { 'package.json': scripts({ test: 'jest', build: 'tsc' }) },
    ],
    [
      'a new script with its configuration',
      ['npm test'],
      { 'package.json': '{}' },
      { 'package.json': scripts({ test: 'vitest run' }), 'vitest.config.ts': 'export default {}' },
    ],
    ['another target', ['make test'], { Makefile: 'test:\n\ta\n' }, { Makefile: 'test:\n\ta\n\nbuild:\n\tb\n' }],
    [
      'an added assertion',
      ['node check.mjs'],
      { 'check.mjs': 'assert(a)\n' },
      { 'check.mjs': 'assert(a)\nassert(b)\n' },
    ],
    [
      'the same assertions in other words',
      ['node check.mjs'],
      { 'check.mjs': 'assert.equal(a, 1)\n' },
      { 'check.mjs': 'const one = 1\nassert.equal(a, one)\n' },
    ],
    ['a check that the work brings', ['node check.mjs'], {}, { 'check.mjs': 'assert(a)\n' }],
    ['what a linter looks at', ['eslint src/a.js'], { 'src/a.js': 'a' }, { 'src/a.js': 'b' }],
    ['what an interpreter only reads', ['node --check src/a.js'], { 'src/a.js': 'a' }, { 'src/a.js': 'b' }],
    ['a fixture', ['pytest'], {}, { 'conftest.py': 'import pytest\n@pytest.fixture\ndef one():\n    return 1\n' }],
    [
      'a dependency',
      ['npx jest'],
      { 'package.json': '{"jest":{}}' },
      { 'package.json': '{"jest":{},"dependencies":{"a":"1"}}' },
    ],
    [
      'a stricter compiler',
      ['npx tsc'],
      { 'tsconfig.json': '{"compilerOptions":{"target":"es2022"}}' },
      { 'tsconfig.json': '{"compilerOptions":{"target":"es2024","strict":true}}' },
    ],
    ['a further workflow', ['npm test'], { 'package.json': jest }, { '.github/workflows/more.yml': 'a' }],
    [
      'another section',
      ['pytest'],
      { 'pyproject.toml': '[project]\na = 1\n' },
      { 'pyproject.toml': '[project]\na = 2\n' },
    ],
    [
      'the tool of the check from a registry, and a program of another name',
      ['npx vitest run'],
      { 'package.json': '{}' },
      {
        'package.json': '{"bin":{"mine":"a.js"}}',
        'package-lock.json':
          '{"packages":{"node_modules/vitest":{"resolved":"https://localhost/v.tgz","bin":{"vitest":"a"}},"node_modules/x/node_modules/npm":{"bin":{"npm":"a"}}}}',
      },
    ],
    [
      'what was there before',
      ['npm test'],
      { 'package.json': scripts({ test: 'jest', prepare: 'husky' }, { bin: { node: 'a' } }) },
      { 'package.json': scripts({ test: 'jest', prepare: 'husky' }, { bin: { node: 'b' } }) },
    ],
    ['anything, where no check ran', [], { '.npmrc': 'a' }, { '.npmrc': 'b' }],
  ])('%s', async (_name, commands, before, change) => {
    expect(await look(commands, before, change)).toEqual([])
  })
})
