import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { removeFolder } from '../../src/workspace/remove-folder.ts'
import { seedCaches } from '../../src/workspace/seed-caches.ts'
import { put } from './scene.ts'

let top: string
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-caches-')))
  mkdirSync(join(top, 'to'))
})
afterEach(() => removeFolder(top))

const seed = (goSums: string[], cargoLocks: string[]): Promise<boolean> => {
  goSums.forEach((text, at) => put(top, { [`work/v2.${at}/go.sum`]: text }))
  cargoLocks.forEach((text, at) => put(top, { [`work/${at}/Cargo.lock`]: text }))
  return seedCaches({
    workspace: join(top, 'work'),
    from: { goModules: join(top, 'go'), cargoHome: join(top, 'cargo') },
    to: { goModules: join(top, 'to', 'go'), cargoHome: join(top, 'to', 'cargo') },
  })
}

const entry = (name: string, content: string): string =>
  `[[package]]\nname = "${name}"\nversion = "1.0.0"\nsource = "registry+https://example.test/index"\nchecksum = "${createHash('sha256').update(content).digest('hex')}"\n`

test('of Go, what go.sum names and nothing else: never the hash of an archive, never what was unpacked', async () => {
  const downloads = join(top, 'go', 'cache', 'download')
  const files = ['v1.0.0.info', 'v1.0.0.mod', 'v1.0.0.zip', 'v1.0.0.ziphash', 'v2.0.0.zip']
  put(join(downloads, 'example.test', '!some!name', '@v'), Object.fromEntries(files.map((name) => [name, `${name}\n`])))
  put(join(downloads, 'example.test', 'other', '@v'), { 'v1.0.0.zip': 'x\n' })
  put(join(top, 'go', 'example.test', '!some!name@v1.0.0'), { 'a.go': 'package a\n' })
  put(top, { 'secret/@v/v1.0.0.zip': 'x\n' })
  const up = '../'.repeat(4)
  await seed(
    [`example.test/SomeName v1.0.0 h1:x=\nexample.test/SomeName v1.0.0/go.mod h1:x=\n${up}secret v1.0.0 h1:x=\n`],
    [],
  )
  const brought = readdirSync(join(top, 'to', 'go'), { recursive: true, withFileTypes: true })
  expect(
    brought
      .filter((found) => found.isFile())
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(files.slice(0, 3))
  expect(existsSync(join(top, 'to', 'secret'))).toBe(false)
})

test('of cargo, an archive only if it is the one that the lockfile has the checksum of', async () => {
  const registry = join('registry', 'cache', 'example.test-1')
  put(join(top, 'cargo', registry), {
    'good-1.0.0.crate': 'good',
    'changed-1.0.0.crate': 'changed since',
    'unnamed-1.0.0.crate': 'x',
  })
  put(join(top, 'cargo', 'registry', 'src', 'example.test-1', 'good-1.0.0'), { 'lib.rs': 'x' })
  await seed([], [`version = 3\n\n${entry('good', 'good')}\n${entry('changed', 'as published')}`])
  expect(readdirSync(join(top, 'to', 'cargo', registry))).toEqual(['good-1.0.0.crate'])
  expect(existsSync(join(top, 'to', 'cargo', 'registry', 'src'))).toBe(false)
})

test("of cargo, the user's settings, logins and index are the user's still", async () => {
  put(join(top, 'cargo'), { 'config.toml': '[net]\n', 'credentials.toml': 'x\n', 'registry/index/a/b': 'x\n' })
  await seed([], [''])
  await seed([], [''])
  for (const name of ['config.toml', 'credentials.toml', join('registry', 'index')])
    expect(lstatSync(join(top, 'to', 'cargo', name)).isSymbolicLink(), name).toBe(true)
  put(join(top, 'cargo'), { 'config.toml': '[http]\n' })
  expect(readFileSync(join(top, 'to', 'cargo', 'config.toml'), 'utf8')).toBe('[http]\n')
  expect(existsSync(join(top, 'to', 'cargo', 'git'))).toBe(false)
})

test('a pipe in the place of a lockfile holds nothing up, and a workspace of other tools needs no caches', async () => {
  put(top, { 'work/package.json': '{}', 'work/node_modules/x/go.mod': 'module x\n' })
  execFileSync('mkfifo', [join(top, 'work', 'go.sum')])
  expect(await seed([], [])).toBe(false)
  put(top, { 'work/services/api/v1/main/go.mod': 'module api\n' })
  expect(await seed([], [])).toBe(true)
})
