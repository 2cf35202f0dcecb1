/** What an agent wrote into the modules that cargo and Go share takes no part in its checks. Needs both tools on the PATH. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execaSync } from 'execa'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../scene.ts'
import { put, user } from '../../workspace/scene.ts'
import { removeFolder } from '../../../src/workspace/remove-folder.ts'

let top: string
let home: string
let scene: Scene | undefined

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-downloads-')))
  home = join(top, 'home')
  mkdirSync(home)
})
afterEach(async () => {
  await scene?.clear()
  scene = undefined
  await removeFolder(top)
})

const PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('.cargo'))
  .join(':')
const said = (cwd: string, ...[program = '', ...rest]: string[]): string =>
  execaSync(program, rest, { cwd, env: { HOME: home, PATH }, extendEnv: false }).stdout

const goFiles = {
  'go.mod': 'module example.test/work\n\ngo 1.19\n\nrequire example.test/Dep v1.0.0\n',
  'work_test.go':
    'package work\n\nimport (\n\t"testing"\n\n\tdep "example.test/Dep"\n)\n\nfunc TestWord(t *testing.T) {\n\tif dep.Word() != "done" {\n\t\tt.Fatal("the word is " + dep.Word())\n\t}\n}\n',
}

/** A proxy of one module, from which the user has downloaded it; then it is gone. */
const arrangeGo = (): Record<string, string> => {
  const source = join(top, 'dep')
  put(source, {
    'go.mod': 'module example.test/Dep\n\ngo 1.19\n',
    'dep.go': 'package dep\n\n// Word is open.\nfunc Word() string { return "open" }\n',
  })
  user(source, 'init', '--quiet')
  user(source, 'add', '.')
  user(source, 'commit', '--quiet', '-m', 'dep')
  const proxy = join(top, 'proxy', 'example.test', '!dep', '@v')
  put(proxy, { list: 'v1.0.0\n', 'v1.0.0.info': JSON.stringify({ Version: 'v1.0.0', Time: '2026-01-01T00:00:00Z' }) })
  copyFileSync(join(source, 'go.mod'), join(proxy, 'v1.0.0.mod'))
  const prefix = '--prefix=example.test/Dep@v1.0.0/'
  user(source, 'archive', '--format=zip', prefix, '--output', join(proxy, 'v1.0.0.zip'), 'HEAD')
  said(top, 'go', 'env', '-w', 'GONOSUMDB=*', `GOPROXY=file://${join(top, 'proxy')}`, 'GOFLAGS=-mod=mod')
  const project = join(top, 'first')
  put(project, goFiles)
  said(project, 'go', 'mod', 'tidy')
  rmSync(join(top, 'proxy'), { recursive: true })
  said(top, 'go', 'env', '-w', 'GOPROXY=off', 'GOFLAGS=')
  return { ...goFiles, 'go.sum': readFileSync(join(project, 'go.sum'), 'utf8') }
}

const cargoFiles = {
  'Cargo.toml':
    '[package]\nname = "work"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\ndep = "1.0.0"\n\n[lib]\npath = "lib.rs"\n',
  'lib.rs': '#[test]\nfn word() {\n    assert_eq!(dep::word(), "done");\n}\n',
}

const arrangeCargo = (): Record<string, string> => {
  const source = join(top, 'dep')
  put(source, {
    'Cargo.toml':
      '[package]\nname = "dep"\nversion = "1.0.0"\nedition = "2021"\nlicense = "MIT"\ndescription = "d"\n\n[lib]\npath = "lib.rs"\n',
    'lib.rs': 'pub fn word() -> &\'static str {\n    "open"\n}\n',
  })
  said(source, 'cargo', 'package', '--offline', '--no-verify', '--allow-dirty')
  const served = join(top, 'served')
  mkdirSync(served)
  const crate = join(served, 'dep-1.0.0.crate')
  copyFileSync(join(source, 'target', 'package', 'dep-1.0.0.crate'), crate)
  const cksum = createHash('sha256').update(readFileSync(crate)).digest('hex')
  const index = join(top, 'index')
  put(index, {
    'config.json': JSON.stringify({ dl: `file://${served}/{crate}-{version}.crate` }),
    '3/d/dep': `${JSON.stringify({ name: 'dep', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false })}\n`,
  })
  user(index, 'init', '--quiet', '--initial-branch=master')
  user(index, 'add', '.')
  user(index, 'commit', '--quiet', '-m', 'index')
  put(home, {
    '.cargo/config.toml': `[source.crates-io]\nreplace-with = "mine"\n\n[source.mine]\nregistry = "file://${index}"\n`,
  })
  const project = join(top, 'first')
  put(project, cargoFiles)
  said(project, 'cargo', 'fetch')
  rmSync(served, { recursive: true })
  return { ...cargoFiles, 'Cargo.lock': readFileSync(join(project, 'Cargo.lock'), 'utf8') }
}

const open = async (files: Record<string, string>): Promise<Scene> => {
  scene = await openScene(['edits-downloads', 'honest'], {
    files,
    ignored: ['target/'],
    environment: { HOME: home, PATH },
  })
  return scene
}

test.each([
  ['go', 'go test ./...', arrangeGo],
  ['cargo', 'cargo test --offline', arrangeCargo],
])('%s: the check builds from what the lockfile names', async (_tool, command, arrange) => {
  const opened = await open(arrange())
  const cheated = await opened.work([{ commands: [command] }])
  // With the user's caches it passes now: the agent has seen to that.
  const place = join(top, 'first')
  expect(said(place, ...command.split(' '))).toMatch(/ok/)
  expect(cheated.tasks.map(({ place: where }) => where)).not.toContain('done')
  await opened.expectUnharmed()
})

test('with both, nothing of the user is missing: what the lockfile names is found without any server', async () => {
  const go = arrangeGo()
  rmSync(join(top, 'dep'), { recursive: true })
  rmSync(join(top, 'first'), { recursive: true })
  const cargo = arrangeCargo()
  const opened = await open({ ...go, ...cargo, 'work_test.go': go['work_test.go']?.replace('"done"', '"open"') ?? '' })
  const goal = await opened.work([{ commands: ['go test ./...', 'cargo build --offline --locked'] }], {
    harness: 'honest',
  })
  expect(goal.tasks.map(({ place }) => place)).toEqual(['done'])
})
