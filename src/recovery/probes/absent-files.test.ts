import { describe, expect, test } from 'vitest'
import { absentFiles } from './absent-files.ts'

const workspace = '/state/runs/r-1/checked'

const found = (line: string, ignored: string[], here: string[] = []): string[] =>
  absentFiles([line], { ignored, workspace, isHere: (path) => here.includes(path) }).map(({ path }) => path)

describe('a line of a check names an ignored file that the clone lacks', () => {
  test.each<[what: string, line: string, entry: string]>([
    ['Node, by a relative path', "Error: Cannot find module '../fixtures/local.json'", 'fixtures/local.json'],
    ['Node, without its extension', "Error: Cannot find module './settings.local'", 'src/settings.local.js'],
    ['a file that is opened', "Error: ENOENT: no such file or directory, open '.env.test'", '.env.test'],
    ['an absolute path in the clone', `FileNotFoundError: '${workspace}/config/local.yml'`, 'config/local.yml'],
    ['a position behind it', 'src/app.ts:3:21 - error TS2307: ./local/keys.ts:1:2', 'src/local/keys.ts'],
    ['a module of Python', "ModuleNotFoundError: No module named 'app.settings_local'", 'app/settings_local.py'],
    ['a Go embed', 'main.go:9:12: pattern assets/data.bin: no matching files found', 'assets/data.bin'],
    ['a shell', 'cat: fixtures/big.csv: No such file or directory', 'fixtures/big.csv'],
    ['a folder of which everything is ignored', "Cannot find module '../src/generated/client'", 'src/generated/'],
    ['Ruby', 'cannot load such file -- /srv/app/config/local_env.rb', 'config/local_env.rb'],
  ])('%s', (_what, line, entry) => {
    expect(found(line, [entry])).toEqual([entry.replace(/\/$/, '')])
    expect(found(line, [entry], [entry.replace(/\/$/, '')])).toEqual([])
  })

  test.each<[what: string, line: string, entry: string]>([
    ['another file that ends alike', "Cannot find module './local.json'", 'fixtures/mylocal.json'],
    ['a word that is no path', 'AssertionError: expected local to be remote', 'local'],
    ['installed packages', "Cannot find module './node_modules/x/index.js'", 'node_modules/'],
    ['a virtual environment', 'bad interpreter: .venv/bin/python: no such file', '.venv/'],
  ])('not %s', (_what, line, entry) => {
    expect(found(line, [entry])).toEqual([])
  })

  test('names of secrets are told apart from those of tests and templates', () => {
    const line = 'missing: .env, .env.test, config/server.key and .env.example'
    const ignored = ['.env', '.env.test', '.env.example', 'config/server.key']
    const asking = absentFiles([line], { ignored, workspace, isHere: () => false }).filter(({ asks }) => asks)
    expect(asking.map(({ path }) => path)).toEqual(['.env', 'config/server.key'])
  })

  test('the result of a build, which other sources made, is copied only by the word of its owner', () => {
    const absent = (line: string) => absentFiles([line], { ignored: ['dist/'], workspace, isHere: () => false })
    expect(absent("Cannot find module '../dist/index.js'")).toEqual([{ path: 'dist', isFolder: true, asks: true }])
    expect(absent('written to dist/index.js')).toEqual([])
  })

  test('a secret that a line only mentions is not what the check misses', () => {
    expect(found('AssertionError: expected .env to win over .env.test', ['.env', '.env.test'])).toEqual(['.env.test'])
  })

  test('the settings of Unstuck are never copied', () => {
    expect(found("ENOENT: no such file or directory, open '.unstuck/config.json'", ['.unstuck/'])).toEqual([])
  })
})
