import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openRepository } from '../../workspace/repository.ts'
import { adoptHooks } from './adopt-hooks.ts'
import { ownerRuleLines, readOwnerRules } from './owner-rules.ts'

let root = ''
afterEach(() => rmSync(root, { recursive: true, force: true }))

const put = (path: string, text: string): void => {
  mkdirSync(join(root, dirname(path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

const rulesOf = async (files: Record<string, string>, ...settings: [string, string][]) => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-rules-')))
  execFileSync('git', ['init', '-q', root])
  for (const [key, value] of settings) execFileSync('git', ['-C', root, 'config', key, value])
  for (const [path, text] of Object.entries(files)) put(path, text)
  return readOwnerRules(await openRepository(root))
}

test.each<[string, Record<string, string>, [string, string][], object]>([
  ['husky', { '.husky/pre-commit': 'npm run lint\nnpx lint-staged\n' }, [], { commands: ['npm run lint'] }],
  [
    'the old form of husky',
    { '.husky/pre-commit': '#!/bin/sh\n. "$(dirname "$0")/_/husky.sh"\n\nnpm test\n' },
    [],
    { commands: ['npm test'] },
  ],
  ['pre-commit', { '.pre-commit-config.yaml': 'repos: []' }, [], { commands: ['pre-commit run --all-files'] }],
  ['lefthook', { 'lefthook.yml': 'pre-commit: {}' }, [], { commands: ['lefthook run pre-commit --all-files'] }],
  [
    'a folder of its own',
    { 'hooks/commit-msg': 'exit 1' },
    [['core.hookspath', 'hooks']],
    { hooks: ['hooks/commit-msg'], commands: [] },
  ],
  [
    'what was installed',
    { '.git/hooks/pre-commit': 'exec tool' },
    [],
    { hooks: ['.git/hooks/pre-commit'], commands: [] },
  ],
  ['nothing', { 'README.md': 'x' }, [['core.hookspath', '/elsewhere']], { hooks: [], commands: [] }],
])('finds %s', async (_what, files, settings, expected) => {
  const rules = await rulesOf(files, ...settings)
  expect(rules).toMatchObject(expected)
  expect(ownerRuleLines(rules).length).toBe(rules.hooks.length > 0 ? 1 : 0)
})

test('what hooks run becomes checks by one command, beside those that are there', async () => {
  const files = {
    '.husky/pre-commit': 'node lint.js\nno-such-program --all\n',
    '.unstuck/verify.contract.json': '{"commands":["node own.js"],"byRole":{"tester":["node more.js"]}}',
  }
  await rulesOf(files)
  const repository = await openRepository(root)
  const lines = await adoptHooks(repository, dirname(process.execPath))
  const contract = (): unknown => JSON.parse(readFileSync(join(root, '.unstuck/verify.contract.json'), 'utf8'))
  const wanted = { commands: ['node own.js', 'node lint.js'], byRole: { tester: ['node more.js'] } }
  expect(contract()).toEqual(wanted)
  expect(lines.filter((line) => line.includes('no-such-program'))).toHaveLength(1)
  await adoptHooks(repository, dirname(process.execPath))
  expect(contract()).toEqual(wanted)
})

test('without hooks, and with hooks of which nothing can run, no contract is written', async () => {
  await rulesOf({ 'README.md': 'x' })
  expect(await adoptHooks(await openRepository(root), '')).toHaveLength(1)
  put('.githooks/commit-msg', 'exit 1')
  expect(await adoptHooks(await openRepository(root), '')).toEqual([expect.stringContaining('.githooks/commit-msg')])
  expect(existsSync(join(root, '.unstuck'))).toBe(false)
})
