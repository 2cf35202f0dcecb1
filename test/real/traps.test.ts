/**
 * The traps of today's Codex and Claude, each with what Unstuck does about it. Where a trap stands in another file, its title
 * says so. Those of Gemini and OpenCode are in by-hand/.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installClis } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { codexSandboxWorks } from './agents.ts'
import { groupOf, openUser, processesWith, until, type User } from './user.ts'

type Steps = ScriptInput['conversations'][number]['steps']

const clis = installClis(process.env)

let user: User
afterEach(async () => user.close())

const outside = (): string => join(user.root, 'outside')

const open = async (steps: (outside: string) => Steps, environment: Record<string, string> = {}): Promise<void> => {
  user = await openUser(
    (root) => [{ name: 'job', match: 'Make the file', steps: steps(join(root, 'outside')) }],
    environment,
  )
  mkdirSync(outside())
}

const claude = (...flags: string[]): string[] => [clis.claude, '-p', 'Make the file', ...flags]
const codex = (...flags: string[]): string[] => [
  ...[clis.codex, 'exec', ...pointersTo(user.sim.url).codex.flags, '--skip-git-repo-check', ...flags],
  'Make the file',
]

const exec = (options: string[], agent: string[]) => user.exec(options, agent)

const confined = codexSandboxWorks(clis.codex, process.env.HOME ?? '')

// Claude's with a correction is in exec.test.ts and recovery.test.ts; Codex does not say what a refused patch was about.
test.each(['claude', 'codex'] as const)(
  'exit 0 on a denied tool: %s has not done it, and the denial is told',
  async (name) => {
    await open((dir) => [{ write: { path: join(dir, 'made.txt'), content: 'made\n' } }, { text: 'Tried.' }])
    const agent = name === 'claude' ? claude('--permission-mode', 'acceptEdits') : codex('-s', 'workspace-write')
    const { code, result } = await exec([], agent)
    const denied = name === 'claude' || confined
    expect([code, result]).toMatchObject([denied ? 3 : 0, { outcome: denied ? 'refused' : 'done', launches: 1 }])
    if (denied) expect(result.denials).toMatchObject([{ kind: 'scope' }])
  },
)

test.skipIf(!confined)('a denial that Codex hides from its JSON is read from the log of its sandbox', async () => {
  await open((dir) => [
    { shell: `echo made > ${dir}/made.txt` },
    { text: 'I may not write there.' },
    { shell: `echo made > ${dir}/made.txt` },
    { text: 'Made.' },
  ])
  const { code, of, result } = await exec(['--allow-dir', outside()], codex('-s', 'workspace-write'))
  expect([code, result]).toMatchObject([0, { outcome: 'done', launches: 2, text: 'Made.' }])
  expect(of('recovery')).toMatchObject([
    { payload: { issue_detected: expect.stringContaining('read_only_file_system') } },
  ])
  expect(readFileSync(join(outside(), 'made.txt'), 'utf8')).toBe('made\n')
})

test('a tool child of Claude in a process group of its own is ended with it', async () => {
  await open(() => [{ hold: { until: 'go' } }, { text: 'Released.' }])
  const started = user.start('exec', '--', ...claude('--allowedTools', 'Bash'))
  const found = (text: string) => processesWith(user.root).find(({ line }) => line.includes(text))
  const tool = await until('the tool runs', () => found('until [ -e'))
  expect(groupOf(tool.pid)).not.toBe(groupOf(found(clis.claude)?.pid ?? tool.pid))
  started.kill('SIGTERM')
  expect(await started.ended).toMatchObject({
    code: 143,
    stderr: expect.stringContaining('no process of the agent is left'),
  })
  expect(processesWith(user.root)).toEqual([])
})

test('an open standard input, at which Codex alone would wait for ever, does not reach it', async () => {
  await open(() => [{ text: 'Nothing to do here.' }])
  // The tests' own `unstuck` has one, see user.ts.
  const { code, result, stderr } = await exec([], codex())
  expect([code, result.text], stderr).toEqual([0, 'Nothing to do here.'])
})

test('a resume that forgets the sandbox: Codex may still write in its second launch', async () => {
  const always = Array.from({ length: 5 }, () => ({ error: { status: 503 } }))
  await open(() => [...always, { write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }], {
    FAILED_TASK_RETRY_COOLDOWN_MS: '20',
  })
  const sandbox = confined ? 'workspace-write' : 'danger-full-access'
  const { code, of, result } = await exec([], codex('-s', sandbox))
  expect([code, result]).toMatchObject([0, { outcome: 'done', launches: 2, denials: [] }])
  expect(of('launch')).toMatchObject([{ resumed: false }, { resumed: true }])
  expect(readFileSync(join(user.project, 'made.txt'), 'utf8')).toBe('made\n')
})

describe('a "blocked" text whose cure is the permission mode', () => {
  const refused: Steps = [
    { shell: 'echo made > made.txt' },
    { write: { path: 'made.txt', content: 'made\n' } },
    { text: 'I may write nowhere.' },
  ]
  const agent = (): string[] => claude('--permission-mode', 'default')

  test('adds no directory: its own folder is opened by a rule', async () => {
    await open(() => [...refused, { write: { path: 'made.txt', content: 'made\n' } }, { text: 'Made.' }])
    const { code, of, result } = await exec(['--allow-dir', user.project], agent())
    expect([code, result]).toMatchObject([0, { outcome: 'done', launches: 2, denials: [] }])
    expect(of('note').map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/was blocked\. For security, Claude Code may only write to files in the allowed/),
    )
    expect(of('launch')[1]?.argv).toContain(`Edit(/${user.project}/**)`)
    expect(of('launch')[1]?.argv).not.toContain('--add-dir')
    expect(readFileSync(join(user.project, 'made.txt'), 'utf8')).toBe('made\n')
  })

  test('and that does not write it then has not done its work', async () => {
    await open(() => [...refused, { text: 'I leave it at that.' }])
    const { code, result } = await exec(['--allow-dir', user.project], agent())
    expect([code, result]).toMatchObject([3, { outcome: 'refused', launches: 2 }])
    expect(result.denials).toMatchObject([{ target: join(user.project, 'made.txt') }])
  })
})

describe('an API key that tool commands can see', () => {
  test.each([
    ['claude', 'sk-ant-sim'],
    ['codex', 'sk-sim'],
  ] as const)('%s: reaches the model and none of what is shown', async (name, key) => {
    await open(() => [{ shell: 'env; true' }, { text: 'Looked.' }])
    const agent = name === 'claude' ? claude('--allowedTools', 'Bash') : codex()
    const { stdout, stderr, result } = await exec([], agent)
    expect(result.outcome, stderr).toBe('done')
    expect(user.sim.requests().at(-1)?.lastResult).toContain(key)
    expect(stdout).not.toContain(key)
    expect(stderr).not.toContain(key)
  })
})

test('three minutes of retries on a wrong key: Claude is ended at its third', async () => {
  await open(() => [{ error: { status: 401, times: 'always' } }])
  const { of, result, code } = await exec([], claude())
  expect(of('note').filter(({ kind }) => kind === 'error').length).toBeGreaterThan(2)
  expect([result, code]).toMatchObject([{ outcome: 'failed', label: 'auth_failure', launches: 1 }, 1])
  expect(user.sim.requests().filter(({ kind }) => kind === 'error').length).toBeLessThan(8)
})
