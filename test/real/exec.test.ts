/** `unstuck exec` around the real Codex and the real Claude, as somebody without a project has them. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installClis } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import type { ScriptInput } from '../../sim/script.ts'
import { openUser, type Printed, type User } from './user.ts'
import { shortened } from '../support/form.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

type Steps = ScriptInput['conversations'][number]['steps']

const limited = { code: 75, outcome: 'waiting', label: 'llm_quota', launches: 1 }
const waiting = (label: string) => ({ code: 75, outcome: 'waiting', label, launches: 1 })
/** The second launch is a new session, which is too long as well. */
const tooLong = { code: 1, outcome: 'failed', label: 'context_overflow', launches: 2 }
const failed = (label: string) => ({ code: 1, outcome: 'failed', label, launches: 1 })

const clis = () => installClis(process.env)
const printed = (stdout: string): Printed[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Printed)
const outside = (root: string): string => join(root, 'outside')

test('Codex outside of a repository is launched again without its check', async () => {
  user = await openUser(() => [{ name: 'job', match: 'Make the file', steps: [{ text: 'Nothing to do here.' }] }])
  const { flags } = pointersTo(user.sim.url).codex
  const ended = await user.unstuck('exec', '--json', '--', clis().codex, 'exec', ...flags, 'Make the file')
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  const events = printed(ended.stdout)
  expect(events.filter(({ type }) => type === 'recovery')).toMatchObject([
    { payload: { worker: 'codex', action_taken: 'RELAUNCH_WITH_SKIP_GIT_CHECK', status: 'success', retry_count: 1 } },
  ])
  expect(events.at(-1)).toMatchObject({
    type: 'result',
    payload: { outcome: 'done', launches: 2, text: 'Nothing to do here.' },
  })
})

test('exit 0 on a denied tool: Claude is given the allowed directory and goes on in its session', async () => {
  user = await openUser((root) => [
    {
      name: 'job',
      match: 'Make the file',
      steps: [
        { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
        { text: 'I may not write there.' },
        { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } },
        { text: 'Made.' },
      ],
    },
  ])
  const dir = outside(user.root)
  mkdirSync(dir)
  const agent = [clis().claude, '-p', 'Make the file', '--permission-mode', 'acceptEdits']
  const ended = await user.unstuck('exec', '--json', '--allow-dir', dir, '--', ...agent)
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(readFileSync(join(dir, 'made.txt'), 'utf8')).toBe('made\n')
  const events = printed(ended.stdout)
  expect(events.filter(({ type }) => type === 'recovery')).toMatchObject([
    { payload: { worker: 'claude', action_taken: 'RELAUNCH_WITH_ADD_DIR', status: 'success', retry_count: 1 } },
  ])
  const launches = events.filter(({ type }) => type === 'launch')
  expect(launches).toMatchObject([{ resumed: false }, { resumed: true }])
  expect(events.at(-1)).toMatchObject({ type: 'result', payload: { outcome: 'done', text: 'Made.', denials: [] } })
  // The first turn was not cut short, and the second went on behind it.
  expect(user.sim.requests().flatMap(({ step }) => step ?? [])).toEqual([0, 1, 2, 3])
})

describe('Codex does not print the path of a refused patch', () => {
  const play = async (...options: string[]) => {
    user = await openUser((root) => {
      const step = { write: { path: join(outside(root), 'made.txt'), content: 'made\n' } }
      return [{ name: 'job', match: 'Make', steps: [step, { text: 'I may not.' }, step, { text: 'Made.' }] }]
    })
    const dir = outside(user.root)
    mkdirSync(dir)
    const { flags } = pointersTo(user.sim.url).codex
    const agent = [clis().codex, 'exec', '--skip-git-repo-check', '-s', 'workspace-write', ...flags, 'Make the file']
    const given = options.flatMap((option) => [option, dir])
    const { code, stdout } = await user.unstuck('exec', '--json', ...given, '--', ...agent)
    return { code, dir, result: printed(stdout).at(-1)?.payload }
  }

  test('what it wrote into the allowed directory after the correction is the work', async () => {
    const { code, dir, result } = await play('--allow-dir')
    expect(result).toMatchObject({ outcome: 'done', launches: 2, changed: true })
    expect([code, readFileSync(join(dir, 'made.txt'), 'utf8')]).toEqual([0, 'made\n'])
  })

  test('the refusal names the file and the folder to allow, from its own record', async () => {
    const { code, dir, result } = await play()
    expect([code, result.outcome, result.launches]).toEqual([3, 'refused', 1])
    expect(result.denials).toMatchObject([{ target: join(dir, 'made.txt'), remedy: expect.stringContaining(dir) }])
  })
})

describe('what a provider refuses is told from the words of the real CLIs', () => {
  const always = 'always' as const
  const rows: [string, 'claude' | 'codex', Steps[number], object][] = [
    ['a limit that resets', 'codex', { limit: { resetInSeconds: 3600, times: always } }, limited],
    ['a limit', 'claude', { limit: { resetInSeconds: 3600, times: always } }, limited],
    ['an overload', 'claude', { error: { status: 529, times: always } }, waiting('provider_overloaded')],
    ['an overload', 'codex', { error: { status: 503, times: always } }, waiting('provider_overloaded')],
    ['a conversation that is too long', 'claude', { overflow: { times: always } }, tooLong],
    ['a conversation that is too long', 'codex', { overflow: { times: always } }, tooLong],
    ['a wrong key', 'claude', { error: { status: 401, times: always } }, failed('auth_failure')],
    ['a wrong key', 'codex', { error: { status: 401, times: always } }, failed('auth_failure')],
    ['a model that is not there', 'claude', { error: { status: 404, times: always } }, failed('model_missing')],
  ]
  test.each(shortened(rows, 3))('%s (%s)', async (_name, cli, step, expected) => {
    user = await openUser(() => [{ name: 'job', match: 'Make the file', steps: [step] }], {
      CLAUDE_CODE_MAX_RETRIES: '1',
    })
    const { flags } = pointersTo(user.sim.url).codex
    const agents = {
      claude: [clis().claude, '-p', 'Make the file'],
      codex: [clis().codex, 'exec', ...flags, '--skip-git-repo-check', 'Make the file'],
    }
    const ended = await user.unstuck('exec', '--json', '--max-wait', '0.001', '--', ...agents[cli])
    const result = printed(ended.stdout).at(-1)
    expect({ code: ended.code, ...result?.payload }, ended.stderr).toMatchObject(expected)
  })

  test('the time at which Codex says that its limit resets is waited for', async () => {
    user = await openUser(() => [
      { name: 'job', match: 'Make', steps: [{ limit: { resetInSeconds: 7200, times: always } }] },
    ])
    const { flags } = pointersTo(user.sim.url).codex
    const agent = [clis().codex, 'exec', ...flags, '--skip-git-repo-check', 'Make the file']
    const before = Date.now()
    const ended = await user.unstuck('exec', '--json', '--', ...agent)
    const until = Date.parse(printed(ended.stdout).at(-1)?.payload.until)
    // It tells the minute alone.
    expect(Math.abs(until - before - 7_200_000)).toBeLessThan(180_000)
  })
})
