/** The small project of every cell and its user: a git repository whose tests pass. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const gitIn = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=A User', '-c', 'user.email=user@localhost', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

export const writeFiles = (root: string, files: Record<string, string>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

export const testFile = (title: string, given: string, expected: string): string =>
  `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug } from '../src/slug.mjs'

test('${title}', () => assert.equal(slug('${given}'), '${expected}'))
`

const head = '(text) => text'
const source = `/** A title as a part of a URL. */
export const slug = ${head}.toLowerCase().replaceAll(' ', '-')
`

export const projectFiles: Record<string, string> = {
  'package.json': `${JSON.stringify({ name: 'slug', version: '1.0.0', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  '.gitignore': 'node_modules\n',
  'README.md': '# slug\n\nTurns titles into parts of URLs.\n',
  'docs/notes.md': '# Notes\n',
  'src/slug.mjs': source,
  'test/spaces.test.mjs': testFile('slug joins words by dashes', 'one two', 'one-two'),
  'test/case.test.mjs': testFile('slug is in lower case', 'ABC', 'abc'),
}

/** Changes the one line of code and keeps changes that others made to it. */
export const changeSlug = (call: string) => ({ path: 'src/slug.mjs', before: head, after: `${head}${call}` })

/** Fails every third time, whatever the work is; its count is kept outside the project. */
export const flakyTest = (counter: string): string =>
  `import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

test('the clock is on time', () => {
  appendFileSync(${JSON.stringify(counter)}, '.')
  assert.notEqual(readFileSync(${JSON.stringify(counter)}, 'utf8').length % 3, 1)
})
`

/** A dependency that installs from an archive in the repository, so that no network is needed. */
export const addDependency = (root: string): void => {
  const made = join(root, '..', 'made-dependency')
  writeFiles(made, {
    'package.json': JSON.stringify({ name: 'dashes', version: '1.0.0', type: 'module', exports: './index.js' }),
    'index.js': "export const dash = '-'\n",
  })
  mkdirSync(join(root, 'vendor'))
  const npm = (cwd: string, ...args: string[]): void =>
    void execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      stdio: 'pipe',
    })
  npm(made, 'pack', '--pack-destination', join(root, 'vendor'))
  writeFiles(root, { 'src/slug.mjs': `import { dash } from 'dashes'\n\n${source.replace("'-'", 'dash')}` })
  npm(root, 'install', './vendor/dashes-1.0.0.tgz')
}
