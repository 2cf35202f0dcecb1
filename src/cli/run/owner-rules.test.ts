import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openRepository } from '../../workspace/repository.ts'
import { ownerRuleLines, readOwnerRules } from './owner-rules.ts'

let root = ''
afterEach(() => rmSync(root, { recursive: true, force: true }))

const rulesOf = async (files: Record<string, string>, ...settings: [string, string][]) => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-rules-')))
  execFileSync('git', ['init', '-q', root])
  for (const [key, value] of settings) execFileSync('git', ['-C', root, 'config', key, value])
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
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
