/**
 * What a command line or a configuration forbids the real Gemini CLI and OpenCode stays forbidden under `unstuck exec`. Run by
 * hand, because CI does not install these CLIs: npx vitest run --project by-hand
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { pointersTo } from '../../../sim/simulate.ts'
import type { ScriptInput } from '../../../sim/script.ts'
import { openUser, type User } from '../user.ts'

const installer = fileURLToPath(new URL('../../../scripts/install-clis.ts', import.meta.url))
const clis = JSON.parse(
  execFileSync(process.execPath, [installer, 'gemini', 'opencode'], { encoding: 'utf8' }),
) as Record<'gemini' | 'opencode', string>

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

type Step = ScriptInput['conversations'][number]['steps'][number]

const outside = (root: string): string => join(root, 'outside')
const inside = (root: string): string => join(root, 'project', 'made.txt')
const beyond = (root: string): string => join(outside(root), 'made.txt')

/** The agent is asked for one tool call and ends, as often as it is started. */
const refused = async (
  agent: (url: string) => string[],
  {
    step,
    path,
    environment = {},
  }: { step?: Step; path: (root: string) => string; environment?: Record<string, string> },
) => {
  const call = (root: string): Step => step ?? { write: { path: path(root), content: 'made\n' } }
  user = await openUser(
    (root) => [
      { name: 'job', match: 'Make the file', steps: [1, 2, 3].flatMap(() => [call(root), { text: 'Ended.' }]) },
    ],
    environment,
    ['gemini', 'opencode'],
  )
  mkdirSync(outside(user.root))
  const ended = await user.exec(['--allow-dir', outside(user.root)], agent(user.sim.url))
  return { ...ended, written: existsSync(path(user.root)), launches: ended.of('launch').length }
}

describe('Gemini', () => {
  const command =
    (...flags: string[]) =>
    (url: string): string[] => [clis.gemini, '-p', 'Make the file', ...pointersTo(url).gemini.flags, ...flags]

  test.each<[string[], Step | undefined, RegExp]>([
    [['--skip-trust', '--approval-mode', 'plan'], undefined, /auto_edit/],
    [['--skip-trust', '--approval-mode=default'], undefined, /auto_edit/],
    [['--skip-trust', '--approval-mode', 'auto_edit'], { shell: 'touch made.txt' }, /run_shell_command|yolo/],
    [['--skip-trust', '--allowed-tools', 'read_file'], undefined, /auto_edit/],
  ])('%j', async (flags, step, remedy) => {
    const { code, result, written, launches, stderr } = await refused(command(...flags), {
      path: inside,
      ...(step === undefined ? {} : { step }),
    })
    expect([code, result.outcome, written, launches], stderr).toEqual([3, 'refused', false, 1])
    expect(result.denials[0].remedy).toMatch(remedy)
  })

  test('a folder that is not trusted', async () => {
    const { code, of, result, written, launches, stderr } = await refused(command('--approval-mode', 'yolo'), {
      path: inside,
    })
    expect([code, result.outcome, written, launches], stderr).toEqual([55, 'failed', false, 1])
    expect(of('blocker')[0]?.payload.details).toContain('add --skip-trust')
  })
})

describe('OpenCode', () => {
  /** The variable wins over every configuration. */
  test.each<[string, string, Step | undefined, (root: string) => string, RegExp]>([
    ['edit denied', '{"edit":"deny"}', undefined, inside, /"edit"/],
    ['bash denied', '{"bash":"deny"}', { shell: 'touch made.txt' }, inside, /"bash"/],
    ['bash asked for', '{"bash":"ask"}', { shell: 'touch made.txt' }, inside, /--auto/],
    ['folders outside denied', '{"external_directory":"deny"}', undefined, beyond, /"external_directory"/],
    ['folders outside asked for', '{"external_directory":"ask"}', undefined, beyond, /--auto/],
  ])('%s', async (_name, permission, ...[step, path, remedy]) => {
    const { code, result, written, launches, stderr } = await refused(() => [clis.opencode, 'run', 'Make the file'], {
      path,
      environment: { OPENCODE_PERMISSION: permission },
      ...(step === undefined ? {} : { step }),
    })
    expect([code, result.outcome, written, launches], stderr).toEqual([3, 'refused', false, 1])
    expect(result.denials[0].remedy).toMatch(remedy)
  })
})
