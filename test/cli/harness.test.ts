/** `unstuck harness` with programs of ours on the PATH: what it shows, and that it touches nothing of the owner's. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { HarnessView } from '../../src/runtime/people/harness-view.ts'

const root = mkdtempSync(join(tmpdir(), 'unstuck-harness-'))
const [home, bin, repo] = ['home', 'bin', 'repo'].map((name) => join(root, name)) as [string, string, string]
for (const dir of [home, bin, join(repo, '.unstuck')]) mkdirSync(dir, { recursive: true })
afterAll(() => rmSync(root, { recursive: true, force: true }))

const program = (name: string, script: string): string => {
  const path = join(bin, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

program('claude', 'echo "2.1.197 (Claude Code)"')
program('gemini', 'echo noted > "$HOME/.gemini-state"; env > "$HOME/env"; echo 9.9.9')
program('opencode', 'echo broken >&2; exit 1')
const asked = join(root, 'asked')
const own = program('own', `echo "$@" >> ${asked}`)

const unstuck = (...args: string[]): string =>
  execFileSync(process.execPath, [join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js'), ...args], {
    cwd: repo,
    env: {
      PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      HOME: home,
      GEMINI_API_KEY: 'k',
    },
    encoding: 'utf8',
    timeout: 120_000,
  })

describe('unstuck harness', () => {
  it('shows what is installed, which version, and what it is taken for', () => {
    const text = unstuck('harness')
    expect(text).toContain('claude (default)  2.1.197  not logged in')
    expect(text).toContain('gemini  9.9.9, not a tested version: treated as 0.61.0  credentials found (GEMINI_API_KEY)')
    expect(text).toContain('opencode  version unknown, treated as 1.18.33  login unknown')
    expect(text).toContain('codex  not installed: codex')
  })

  it("asks in a home of its own, and never a command line of the owner's", () => {
    const harness = {
      mine: { command: [own] },
      zed: { driver: 'acp', command: [own] },
      odd: { driver: 'codex', command: [own, 'x'] },
    }
    writeFileSync(join(repo, '.unstuck', 'config.json'), JSON.stringify({ harness }))
    execFileSync('git', ['init', '-q', repo])
    const views = JSON.parse(unstuck('harness', '--json')) as HarnessView[]
    expect(views.map((view) => [view.name, view.driver, view.version])).toEqual([
      ['claude', 'claude', '2.1.197'],
      ['codex', 'codex', null],
      ['gemini', 'gemini', '9.9.9'],
      ['opencode', 'opencode', null],
      ['mine', 'command', null],
      ['zed', 'acp', null],
      ['odd', 'codex', null],
    ])
    expect(readdirSync(home)).toEqual([])
    expect(readdirSync(root).includes('asked')).toBe(false)
  })

  it('says of a login what bare unstuck says', () => {
    const entry =
      /^(\w+)(?: \(default\))?  .*?  (credentials found \([^)]*\)|not logged in|login unknown(?: \([^)]*\))?)  /gm
    const said = [...unstuck('harness').matchAll(entry)].map(([, name, login]) => `${name}: ${login}`)
    expect(said).toContain('claude: not logged in')
    const home = unstuck()
    for (const text of said) {
      const [name = '', login = ''] = text.split(': ')
      expect(home).toContain(`  ${name.padEnd(10)} installed, ${login}\n`)
    }
    expect(home).toContain('codex      not found on the PATH')
  })
})
