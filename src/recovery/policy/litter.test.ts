import { describe, expect, test } from 'vitest'
import { litterAt, namesLitter } from './litter.ts'

describe('litter', () => {
  test.each([
    '.aider.chat.history.md',
    'packages/a/.aider.tags.cache.v4/cache.db',
    '.playwright-mcp/page-1.png',
    '.serena/memories/a.md',
    '.claude/settings.local.json',
    '.claude/worktrees/w1/src/a.js',
    '.codex/log/x.log',
    'deep/nohup.out',
    'core.1234',
    'src/.a.ts.swp',
    'src/a.ts~',
    'src/a.ts.orig',
    'src/a.ts.rej',
    'docs/.DS_Store',
  ])('%s', (path) => expect(litterAt(path)).toBeDefined())

  test.each([
    '.claude/settings.json',
    '.claude/commands/a.md',
    'core.ts',
    'core',
    'src/core/a.ts',
    'nohup.out.md',
    '.env~',
  ])('%s is none', (path) => expect(litterAt(path)).toBeUndefined())

  const task = { allowedPaths: ['**'], title: 'Fix add', instructions: '' }

  test.each<[what: string, path: string, task: Partial<typeof task>, named: boolean]>([
    ['rules for everything name nothing', '.serena/a.md', {}, false],
    ['nor does a folder of code', 'src/a.ts.orig', { allowedPaths: ['src/**'] }, false],
    ['a path of its own', 'src/a.ts.orig', { allowedPaths: ['src/a.ts.orig'] }, true],
    ['a folder of such files', '.serena/memories/a.md', { allowedPaths: ['.serena/**'] }, true],
    ['the text of the task', '.codex/config.toml', { instructions: 'Add .codex with our settings' }, true],
    ['a file by its name', 'a/merge.orig', { title: 'Keep merge.orig' }, true],
  ])('%s', (_what, path, more, named) => expect(namesLitter(path, { ...task, ...more })).toBe(named))
})
