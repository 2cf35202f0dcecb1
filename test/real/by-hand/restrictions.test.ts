/** What a command line of today's Gemini CLI or OpenCode restricts is not loosened by `unstuck exec`. For Claude and Codex: ../exec.test.ts. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { pointersTo } from '../../../sim/main.ts'
import { openUser, type User } from '../user.ts'

const installer = fileURLToPath(new URL('../../../scripts/install-clis.ts', import.meta.url))
const clis = JSON.parse(
  execFileSync(process.execPath, [installer, 'gemini', 'opencode'], { encoding: 'utf8' }),
) as Record<'gemini' | 'opencode', string>

let user: User
afterEach(async () => user.close())

const open = async (environment: Record<string, string> = {}): Promise<void> => {
  user = await openUser(
    (root) => [
      {
        name: 'job',
        match: 'Make the file',
        steps: [{ write: { path: join(root, 'project', 'made.txt'), content: 'made\n' } }, { text: 'I may not.' }],
      },
    ],
    environment,
    ['gemini', 'opencode'],
  )
}

const expectKept = async (agent: string[]): Promise<void> => {
  const { of, result } = await user.exec([], agent)
  expect([of('recovery'), result.launches, existsSync(join(user.project, 'made.txt'))]).toEqual([[], 1, false])
  expect(result.exitCode === 0 ? result.changed : result.exitCode).not.toBe(true)
}

test.each([
  [['--skip-trust', '--approval-mode', 'plan']],
  [['--skip-trust', '--approval-mode', 'default']],
  [['--skip-trust', '--allowed-tools', 'read_file']],
  [['--approval-mode', 'auto_edit']],
  [[]],
])('gemini %j', async (restriction) => {
  await open()
  const { flags } = pointersTo(user.sim.url).gemini
  await expectKept([clis.gemini, '-p', 'Make the file', ...restriction, ...flags])
})

test.each([
  { edit: 'deny' },
  { edit: 'ask' },
  { '*': 'deny' },
  { edit: 'deny', bash: 'deny' },
  { edit: { '*': 'deny' } },
])('opencode %j', async (permission) => {
  await open({ OPENCODE_PERMISSION: JSON.stringify(permission) })
  const { flags } = pointersTo(user.sim.url).opencode
  await expectKept([clis.opencode, 'run', ...flags, 'Make the file'])
})
