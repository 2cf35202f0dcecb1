/**
 * What a command line forbids the real Claude and the real Codex stays forbidden under `unstuck exec`, although its
 * `--allow-dir` would cover the path: one launch, status 3, nothing written, and the option that would allow it.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installClis } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import { codexSandboxWorks } from './agents.ts'
import { openUser, type User } from './user.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const { claude, codex } = installClis(process.env)
const outside = (root: string): string => join(root, 'outside')

/** The agent writes that file and ends, as often as it is started. */
const refused = async (agent: (url: string) => string[], path: (root: string) => string) => {
  user = await openUser((root) => [
    {
      name: 'job',
      match: 'Make the file',
      steps: [1, 2, 3].flatMap(() => [{ write: { path: path(root), content: 'made\n' } }, { text: 'Ended.' }]),
    },
  ])
  mkdirSync(outside(user.root))
  const ended = await user.exec(['--allow-dir', outside(user.root)], agent(user.sim.url))
  return {
    ...ended,
    written: existsSync(path(user.root)),
    launched: ended.of('launch').map(({ argv }) => argv as string[]),
  }
}

const inside = (root: string): string => join(root, 'project', 'made.txt')
const beyond = (root: string): string => join(outside(root), 'made.txt')

describe('Claude', () => {
  test.each<[string[], RegExp]>([
    [['--permission-mode', 'plan'], /another mode|--allowedTools|acceptEdits/],
    [['--permission-mode', 'dontAsk'], /acceptEdits/],
    [['--disallowedTools', 'Write'], /remove Write from --disallowedTools/],
    [['--allowed-tools', 'Read'], /--permission-mode acceptEdits/],
    [['--settings', '{"permissions":{"deny":["Write"]}}'], /Write/],
  ])('%j', async (restriction, remedy) => {
    const { code, result, written, launched, stderr } = await refused(
      () => [claude, '-p', 'Make the file', ...restriction],
      inside,
    )
    expect([code, result.outcome, written, launched.length], stderr).toEqual([3, 'refused', false, 1])
    expect(result.denials[0].remedy).toMatch(remedy)
    expect(result.changed).toBe(false)
  })
})

describe('Codex', () => {
  test.each<[string[], (root: string) => string]>([
    [['-s', 'read-only'], inside],
    [['--sandbox=read-only'], beyond],
    [['-c', 'sandbox_mode="read-only"'], beyond],
    // Without a sandbox of its user's choice an untrusted folder is read-only.
    [[], inside],
  ])('%j', async (restriction, path) => {
    const { code, result, written, launched, stderr } = await refused((url) => {
      const { flags } = pointersTo(url).codex
      return [codex, 'exec', ...flags, '--skip-git-repo-check', ...restriction, 'Make the file']
    }, path)
    expect([code, result.outcome, written, launched.length], stderr).toEqual([3, 'refused', false, 1])
    expect(result.denials[0].remedy).toContain('-s workspace-write')
  })

  test.runIf(codexSandboxWorks(codex, process.env.HOME ?? '/'))(
    'workspace-write, a folder that is not allowed',
    async () => {
      const elsewhere = (root: string): string => join(root, 'elsewhere', 'made.txt')
      const { code, written, launched, stderr } = await refused((url) => {
        const { flags } = pointersTo(url).codex
        return [codex, 'exec', ...flags, '--skip-git-repo-check', '-s', 'workspace-write', 'Make the file']
      }, elsewhere)
      expect([code, written], stderr).toEqual([3, false])
      expect(launched.flat().some((arg) => arg.includes('elsewhere'))).toBe(false)
    },
  )
})
