import { describe, expect, it } from 'vitest'
import { acp } from './acp.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import type { Driver } from './driver.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

const own = ['npm test', 'npm run build && npm run lint', 'node -e "f()"']
const rules = (driver: Driver, tool: string, target?: string, given: string[] = []): string[] | undefined =>
  driver.toolRules?.(
    { tool, ...(target === undefined ? {} : { target }) },
    { workspace: '/repo', launchCommands: given, taskCommands: own },
  )

describe('a refused command', () => {
  it('of the task gets a rule for itself', () => {
    expect(rules(claude, 'Bash', 'npm test')).toEqual(['Bash(npm test:*)'])
    expect(rules(claude, 'Bash', 'npm test -- --x 2>&1')).toEqual(['Bash(npm test:*)'])
    expect(rules(gemini, 'run_shell_command', 'npm test -- --x')).toEqual(['run_shell_command(npm test)'])
    expect(rules(acp, 'execute', 'npm test && npm run lint')).toEqual(['npm test && npm run lint'])
  })

  it('that Claude names by its parts gets one for each, if all are of the task', () => {
    expect(rules(claude, 'Bash', 'npm run build, npm test')).toEqual(['Bash(npm run build:*)', 'Bash(npm test:*)'])
    expect(rules(claude, 'Bash', 'npm run build, curl example.invalid')).toBeUndefined()
  })

  it('of anybody else gets none, nor one beside it, nor the shell as a whole', () => {
    for (const driver of [claude, gemini, acp])
      for (const line of ['rm -rf .', 'npm test; rm -rf .', 'npm test > /etc/x', 'Bash', '*', ''])
        for (const tool of ['Bash', 'run_shell_command', 'execute']) expect(rules(driver, tool, line)).toBeUndefined()
  })

  it('gets none that the launch has already, and none that cannot be written', () => {
    expect(rules(claude, 'Bash', 'npm test', ['npm test'])).toBeUndefined()
    expect(rules(claude, 'Bash', 'npm run build', ['npm run build && npm run lint'])).toEqual(['Bash(npm run build:*)'])
    expect(rules(claude, 'Bash', 'node -e "f()"')).toBeUndefined()
  })

  it('that was blocked for a path inside the workspace needs another mode: neither a directory nor a rule cures it', () => {
    expect(rules(claude, 'Bash', '/repo/v.txt')).toBeUndefined()
  })
})

describe('a refused edit', () => {
  it('inside the workspace gets a rule that opens nothing else', () => {
    expect(rules(claude, 'Write', '/repo/src/a.ts')).toEqual(['Edit(//repo/**)'])
    expect(rules(gemini, 'replace', 'src/a.ts')).toEqual(['replace'])
  })

  it.each([
    '/etc/passwd',
    '../a',
    '/repo',
    '/repo/.claude/settings.json',
    '/repo/.git/hooks/x',
    '/repo/a/.unstuck/config.json',
  ])('of %s gets none', (path) => {
    expect(rules(claude, 'Write', path)).toBeUndefined()
  })

  it('in a workspace whose path reads as a pattern gets none', () => {
    const permitted = { workspace: '/repo (1)', launchCommands: [], taskCommands: own }
    expect(claude.toolRules?.({ tool: 'Write', target: '/repo (1)/a.ts' }, permitted)).toBeUndefined()
  })

  it('of another tool gets none', () => {
    for (const tool of ['WebFetch', 'Task', 'mcp__x__y', 'Read']) expect(rules(claude, tool, '/repo/a')).toBeUndefined()
    for (const tool of ['web_fetch', 'save_memory']) expect(rules(gemini, tool, '/repo/a')).toBeUndefined()
  })
})

it('a CLI whose only other permission is a wider mode has no rules', () => {
  expect([codex.toolRules, opencode.toolRules]).toEqual([undefined, undefined])
})

describe('a command that a person allows', () => {
  it('gets a rule for each of its parts', () => {
    const target = 'npm --version > v.txt; ls'
    expect(claude.grantRules?.({ tool: 'Bash', target })).toEqual(['Bash(npm --version:*)', 'Bash(ls:*)'])
    expect(gemini.grantRules?.({ tool: 'run_shell_command', target })).toEqual([
      'run_shell_command(npm --version)',
      'run_shell_command(ls)',
    ])
  })
  it('gets none where a part of it cannot be named', () => {
    expect(claude.grantRules?.({ tool: 'Bash', target: 'ls && echo $(date)' })).toEqual([])
    expect(claude.grantRules?.({ tool: 'Bash' })).toEqual([])
  })
})
