/**
 * What a person reads in the terminal, kept as text in test/fixture/terminal: what was typed, both streams, the exit status.
 * The agents are programs that print what the real CLIs printed (test/fixture/transcripts). A changed sentence is read aloud
 * once, then kept: `vitest run --project waits test/waits/terminal.test.ts -u`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openExecScene } from '../cli/exec-scene.ts'

const transcripts = join(import.meta.dirname, '..', 'fixture', 'transcripts')
const kept = join(import.meta.dirname, '..', 'fixture', 'terminal')
const { root, work, program, exec, clear } = openExecScene()
afterAll(clear)

type Cli = 'claude' | 'codex' | 'gemini' | 'opencode'

/** A time of day as Codex writes it, so many hours from now. */
const clockIn = (hours: number): string =>
  new Date(Date.now() + hours * 3_600_000).toLocaleTimeString('en-US', {
    ...{ hour: 'numeric', minute: '2-digit', timeZone: 'UTC' },
  })

interface Replayed {
  /** A file that it makes as well. */
  writes?: string
  /** It never ends its turn. */
  hangs?: true
  /** Hours until the limit ends of which it tells. */
  limitIn?: number
}

/** From now on the CLI prints what it printed in that session. */
const replays = (cli: Cli, session: string, { writes, hangs, limitIn = 3 }: Replayed = {}): void => {
  const from = join(transcripts, cli, session)
  const { exit_code: code } = JSON.parse(readFileSync(`${from}.meta.json`, 'utf8')) as { exit_code: number }
  for (const stream of ['stdout', 'stderr'])
    writeFileSync(
      join(root, `${cli}.${stream}`),
      readFileSync(`${from}.${stream}`, 'utf8')
        .replaceAll('<repo>', work)
        .replaceAll('<dir>', join(root, 'outside'))
        .replaceAll('10:18 PM', clockIn(limitIn)),
    )
  const made = writes === undefined ? '' : `echo made > ${writes}\n`
  const prints = hangs ? `head -n -1 ${root}/${cli}.stdout\nexec sleep 60` : `cat ${root}/${cli}.stdout\nexit ${code}`
  program(cli, `${made}cat ${root}/${cli}.stderr >&2\n${prints}`)
}

/** Without what differs from one machine or moment to the next. */
const steady = (text: string): string =>
  text
    .replaceAll(work, '<repo>')
    .replaceAll(root, '<home>')
    .replace(/\bon \w{3} \d{1,2} \w{3} at (?=\d\d:)/g, 'at ')
    .replace(/\b\d{1,2}:\d\d\s[AP]M\b/g, '<time>')
    .replace(/(?:\b\w{3} \d{1,2} \w{3} )?\d\d:\d\d(?::\d\d)?/g, '<time>')
    .replace(/\b(in|for) \d+ (?:d|h|min|s)\b(?: \d+ (?:h|min)\b)?/g, '$1 <a while>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')

const asTyped = (args: string[]): string => args.map((arg) => (/^[\w./:=<>-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')

/** How far an agent came before it was stopped differs: then only our own lines are kept. */
const session = async (name: string, ...args: string[]): Promise<void> => compare(name, args, (text) => text)
const ownLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.startsWith('unstuck: '))
    .map((line) => `${line.replace(/\d+ times/, '<several> times')}\n`)
    .join('')

const compare = async (name: string, args: string[], keep: (text: string) => string): Promise<void> => {
  const { code, ...streams } = await exec(args, { TZ: 'UTC' })
  const [stdout, stderr] = [keep(streams.stdout), keep(streams.stderr)]
  const text = `$ unstuck exec ${asTyped(args)}\n--- standard output\n${stdout}--- standard error\n${stderr}--- exit status ${code}\n`
  await expect(steady(text)).toMatchFileSnapshot(join(kept, `${name}.txt`))
}

const prompt = 'Create hello.txt with a greeting.'
const claude = ['--', 'claude', '-p', prompt]
const codex = ['--', 'codex', 'exec', prompt]
const gemini = ['--', 'gemini', '-p', prompt]
const opencode = ['--', 'opencode', 'run', prompt]

describe('exec', () => {
  test.each<[string, Cli, string, string[]]>([
    ['claude-outside', 'claude', 'scope-write', claude],
    ['claude-dont-ask', 'claude', 'approval-dontAsk-bash', [...claude, '--permission-mode', 'dontAsk']],
    ['claude-shell-refused', 'claude', 'approval-bash-default', claude],
    ['claude-no-change', 'claude', 'empty-answer', claude],
    ['claude-context', 'claude', 'context-400', claude],
    ['claude-login', 'claude', 'auth-401', claude],
    ['codex-read-only', 'codex', 'read-only-default', codex],
    ['codex-outside', 'codex', 'scope-write', codex],
    ['codex-limit', 'codex', 'usage-limit-until', ['--max-wait', '1', ...codex]],
    ['gemini-plan', 'gemini', 'approval-plan-mode', [...gemini, '--approval-mode', 'plan']],
    ['gemini-untrusted', 'gemini', 'untrusted', gemini],
    ['gemini-loop-stop', 'gemini', 'loop-50', gemini],
    ['opencode-denied', 'opencode', 'approval-deny-bash', opencode],
    ['opencode-rejected', 'opencode', 'approval-ask-bash', opencode],
    ['opencode-no-change', 'opencode', 'empty-answer', opencode],
  ])('%s', async (name, cli, transcript, args) => {
    replays(cli, transcript)
    await session(name, ...args)
  })

  // A time that has passed does not say when the provider answers again.
  test('codex-limit-passed', async () => {
    replays('codex', 'usage-limit-until', { limitIn: -1 })
    await session('codex-limit-passed', '--max-wait', '1', ...codex)
  })

  test('claude-refused-on-the-way', async () => {
    replays('claude', 'approval-bash-acceptEdits', { writes: 'hello.txt' })
    await session('claude-refused-on-the-way', ...claude, '--permission-mode', 'acceptEdits')
  })

  test('claude-circle', async () => {
    replays('claude', 'loop-50', { hangs: true })
    await compare('claude-circle', claude, ownLines)
  })

  test('claude-done', async () => {
    replays('claude', 'happy', { writes: 'hello.txt' })
    await session('claude-done', ...claude)
  })

  test('claude-interactive', () => session('claude-interactive', '--', 'claude', prompt))

  test('missing-program', () => session('missing-program', '--', 'no-such-agent', '-p', prompt))
})
