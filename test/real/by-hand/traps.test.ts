/**
 * The traps of today's Gemini CLI and OpenCode, each with what Unstuck does about it. Run by hand, because CI does not
 * install these CLIs: npx vitest run --project by-hand
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { pointersTo } from '../../../sim/simulate.ts'
import type { ScriptInput } from '../../../sim/script.ts'
import { groupOf, openUser, processesWith, until, type User } from '../user.ts'

type Steps = ScriptInput['conversations'][number]['steps']

const installer = fileURLToPath(new URL('../../../scripts/install-clis.ts', import.meta.url))
const clis = JSON.parse(
  execFileSync(process.execPath, [installer, 'gemini', 'opencode'], { encoding: 'utf8' }),
) as Record<'gemini' | 'opencode', string>

let user: User
afterEach(async () => user.close())

const outside = (): string => join(user.root, 'outside')

const open = async (
  steps: (outside: string) => Steps,
  environment: Record<string, string> = {},
  which: { match: string } | { default: true } = { match: 'Make the file' },
): Promise<void> => {
  const conversations = (root: string) => [{ name: 'job', ...which, steps: steps(join(root, 'outside')) }]
  user = await openUser(conversations, environment, names)
  mkdirSync(outside())
}

const names = ['gemini', 'opencode'] as const

const gemini = (mode: 'auto_edit' | 'yolo'): string[] => {
  const { flags } = pointersTo(user.sim.url).gemini
  return [clis.gemini, '-p', 'Make the file', '--skip-trust', '--approval-mode', mode, ...flags]
}
const opencode = (...flags: string[]): string[] => [clis.opencode, 'run', ...flags, 'Make the file']
const agents = { gemini: () => gemini('yolo'), opencode: () => opencode('--auto') }

const denied = (dir: string): Steps => [
  { write: { path: join(dir, 'made.txt'), content: 'made\n' } },
  { text: 'I may not write there.' },
  { write: { path: join(dir, 'made.txt'), content: 'made\n' } },
  { text: 'Made.' },
]

describe('exit 0 on a denied tool', () => {
  test('gemini is given the allowed directory and goes on in its session', async () => {
    await open(denied)
    const { code, of, result, stderr } = await user.exec(['--allow-dir', outside()], gemini('auto_edit'))
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2, text: 'Made.', denials: [] }])
    expect(of('launch')).toMatchObject([{ resumed: false }, { resumed: true }])
    expect(readFileSync(join(outside(), 'made.txt'), 'utf8')).toBe('made\n')
  })

  // OpenCode ends its run at the denial, before the model said anything about it.
  test('opencode is given the allowed directory and goes on in its session', async () => {
    await open((dir) => denied(dir).toSpliced(1, 1))
    const { code, of, result, stderr } = await user.exec(['--allow-dir', outside()], opencode())
    expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2, text: 'Made.', denials: [] }])
    expect(of('launch')).toMatchObject([{ resumed: false }, { resumed: true }])
    expect(readFileSync(join(outside(), 'made.txt'), 'utf8')).toBe('made\n')
  })
})

test('a resume that hangs from another folder: OpenCode keeps the folder of its session', async () => {
  await open((dir) => denied(dir).toSpliced(1, 1))
  const elsewhere = join(user.root, 'elsewhere')
  mkdirSync(elsewhere)
  const { code, result, stderr } = await user.exec(['--allow-dir', outside()], opencode('--dir', elsewhere))
  expect([code, result], stderr).toMatchObject([0, { outcome: 'done', launches: 2, text: 'Made.' }])
})

test('an open standard input, at which OpenCode alone would wait for ever, does not reach it', async () => {
  await open(() => [{ text: 'Nothing to do here.' }])
  const { code, result, stderr } = await user.exec([], opencode())
  expect([code, result.text], stderr).toEqual([0, 'Nothing to do here.'])
})

describe('tool children in process groups of their own', () => {
  test.each(names)('%s: are ended with it', async (name) => {
    await open(() => [{ hold: { until: 'go' } }, { text: 'Released.' }])
    const started = user.start('exec', '--', ...agents[name]())
    const tool = await until('the tool runs', () =>
      processesWith(user.root).find(({ line }) => line.includes('until [ -e') && !line.includes('exec')),
    )
    const leader = processesWith(user.root).find(({ line }) => line.includes(clis[name]))
    expect(groupOf(tool.pid)).not.toBe(groupOf(leader?.pid ?? tool.pid))
    started.kill('SIGTERM')
    expect(await started.ended).toMatchObject({ code: 130 })
    expect(processesWith(user.root)).toEqual([])
  })
})

test('the child that Gemini starts itself again as, and the SIGTERM that it swallows, leave nothing running', async () => {
  // What the user sets wins: it does start itself again.
  await open(() => [{ silence: true }, { text: 'Answered.' }], { GEMINI_CLI_NO_RELAUNCH: '' })
  const started = user.start('exec', '--', ...gemini('yolo'))
  const all = () =>
    processesWith(user.root).filter(({ line }) => line.includes(clis.gemini) && !line.includes(' exec '))
  await until('it has started itself again', () => all().length >= 2)
  await until('the model is asked', () => user.sim.requests().some(({ kind }) => kind === 'silence'))
  started.kill('SIGTERM')
  expect(await started.ended).toMatchObject({ code: 130 })
  expect(processesWith(user.root)).toEqual([])
})

test('the output that Gemini truncates on a pipe is whole, or its session is taken up again', async () => {
  await open(() => [{ shell: 'yes 0123456789 | head -c 50000000' }, { text: 'All of it.' }])
  const { of, result, stderr } = await user.exec([], gemini('yolo'))
  expect(result.outcome, stderr).toBe('done')
  // The last words of a launch whose output was cut are gone; the next one has others.
  if (result.launches === 1) expect(result.text).toBe('All of it.')
  else
    expect(of('launch')).toMatchObject([
      { resumed: false },
      { resumed: true, because: expect.stringContaining('without its final event') },
    ])
})

describe('the endless retries of OpenCode end', () => {
  test('at a page instead of an answer: its provider is waited for', async () => {
    await open(() => [{ garbage: { times: 'always' } }])
    const { code, result } = await user.exec(['--max-wait', '0.001'], opencode())
    expect([code, result]).toMatchObject([75, { outcome: 'waiting', label: 'provider_overloaded' }])
    expect(user.sim.requests().length).toBeLessThan(200)
  })

  test('at a conversation that never fits: it has failed, and says why', async () => {
    // Compacting forgets the prompt and counts as a turn.
    const never: Steps = [{ overflow: { times: 1000 } }, { text: 'It fits.' }]
    await open(() => Array.from({ length: 9 }, () => never).flat(), {}, { default: true })
    const { result, stderr } = await user.exec([], opencode())
    expect(result, stderr).toMatchObject({ outcome: 'failed', label: 'context_overflow', launches: 2 })
    expect(user.sim.requests().length).toBeLessThan(400)
  })
})

describe('an API key that tool commands can see', () => {
  test.each([
    ['gemini', 'sim-key-of-gemini'],
    ['opencode', 'sk-sim'],
  ] as const)('%s: reaches the model and none of what is shown', async (name, key) => {
    await open(() => [{ shell: 'env; true' }, { text: 'Looked.' }], { GEMINI_API_KEY: 'sim-key-of-gemini' })
    const { stdout, stderr, result } = await user.exec([], agents[name]())
    expect(result.outcome, stderr).toBe('done')
    expect(user.sim.requests().at(-1)?.lastResult).toContain(key)
    expect(stdout).not.toContain(key)
    expect(stderr).not.toContain(key)
  })
})
