import { expect, test } from 'vitest'
import { changedDependenciesOnly } from './manifests.ts'
import { partOf, productSources, splitChange } from './split.ts'

const base = [
  'package.json',
  'src/a.js',
  'src/deep/b.ts',
  'test/a.test.js',
  'app/__init__.py',
  'app/main.py',
  'tools/build.js',
]
const part = (path: string, { added = false, run = [] as string[], dependencies = [] as string[] } = {}): string =>
  partOf(
    { changed: [{ path, added }], base, run: new Set(run), words: new Set(), dependencies: new Set(dependencies) },
    path,
    added,
  )

test.each([
  'test/a.test.js',
  'src/a.spec.ts',
  'src/__mocks__/fs.js',
  'tests/helper.py',
  'conftest.py',
  'app/conftest.py',
  'pkg/x_test.go',
  'src/test/java/T.java',
  'fixtures/one.json',
  'package.json',
  'go.mod',
  'Makefile',
  'makefile',
  'GNUmakefile',
  'rules.mk',
  '.pytest.ini',
  '.mvn/maven.config',
  '.env',
  'src/.hidden/x.js',
  'vitest.config.ts',
  'jest.setup.js',
  'rust-toolchain.toml',
  'tsconfig.json',
  'build.rs',
  'lib/site.pth',
  'tools/lint.js',
  'scripts/deploy.sh',
])('%s is an instrument', (path) => {
  expect(part(path, { added: !base.includes(path) })).toBe('instrument')
})

test.each([
  'src/a.js',
  'src/new.js',
  'src/deep/er/c.ts',
  'app/calendar.py',
  'src/data.json',
  'src/tools/x.js',
  'src/work.txt',
  'lib/x.rs',
  'requirements.txt',
  'package-lock.json',
])('%s is a subject', (path) => {
  expect(part(path, { added: !base.includes(path) })).toBe('subject')
})

test.each(['README.md', 'docs/guide.md', 'LICENSE', 'notes.txt'])('%s is documentation', (path) => {
  expect(part(path)).toBe('documentation')
})

test.each(['json.py', 'pytest.py', 'scripts/unittest.py', 'node_modules/x/index.js', 'json/__init__.py'])(
  'a new %s would replace a module and is an instrument',
  (path) => {
    expect(part(path, { added: true })).toBe('instrument')
  },
)

test('a program that a check runs is an instrument, unless it is new or lies among the sources', () => {
  expect(part('check.mjs', { run: ['check.mjs'] })).toBe('instrument')
  expect(part('check.mjs', { run: ['check.mjs'], added: true })).toBe('instrument')
  expect(part('hello.mjs', { run: ['hello.mjs'], added: true })).toBe('subject')
  expect(part('tools/build.js', { run: ['tools/build.js'] })).toBe('instrument')
  expect(part('src/a.js', { run: ['src/a.js'] })).toBe('subject')
})

test('a manifest with other dependencies is a subject', () => {
  expect(part('package.json', { dependencies: ['package.json'] })).toBe('subject')
  const manifest = { name: 'p', scripts: { test: 'x' }, dependencies: { a: '1' } }
  const text = (change: object): string => JSON.stringify({ ...manifest, ...change })
  expect(changedDependenciesOnly('package.json', text({}), text({ dependencies: { a: '2' } }))).toBe(true)
  expect(changedDependenciesOnly('package.json', text({}), text({ scripts: { test: 'true' } }))).toBe(false)
  expect(changedDependenciesOnly('package.json', text({}), text({ imports: { '#x': './y.js' } }))).toBe(false)
  expect(changedDependenciesOnly('package.json', text({}), '{')).toBe(false)
  const cargo = (test: string, dep: string): string =>
    `[package]\nname = "p"\n[dependencies]\n${dep}\n[lib]\ntest = ${test}\n`
  expect(changedDependenciesOnly('Cargo.toml', cargo('true', 'a = "1"'), cargo('true', 'b = "1"'))).toBe(true)
  expect(changedDependenciesOnly('Cargo.toml', cargo('true', ''), cargo('false', ''))).toBe(false)
})

test('every changed path is in exactly one part', () => {
  const changed = ['src/a.js', 'test/a.test.js', 'README.md'].map((path) => ({ path, added: false }))
  expect(splitChange({ changed, base, run: new Set(), words: new Set(), dependencies: new Set() })).toEqual({
    subject: ['src/a.js'],
    instruments: ['test/a.test.js'],
  })
})

test('the sources of the product are neither tests nor what checks run', () => {
  expect(productSources({ base, run: new Set(['tools/build.js']) })).toEqual([
    ...['src/a.js', 'src/deep/b.ts', 'app/__init__.py', 'app/main.py'],
  ])
})

test('a document that a check names is more than one', () => {
  const request = { changed: [], base: [], run: new Set<string>(), dependencies: new Set<string>() }
  expect(partOf({ ...request, words: new Set(['made.txt']) }, 'made.txt', true)).toBe('subject')
  expect(partOf({ ...request, words: new Set(['other.txt']) }, 'made.txt', true)).toBe('documentation')
})
