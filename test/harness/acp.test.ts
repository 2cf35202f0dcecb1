/** The bridge with an agent of ours behind it: real processes, read by the driver as from the files of a run. */
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { type RequestedCall, decidePermission, permissionOptionFor } from '../../src/harness/acp-permission.ts'
import { capabilitiesOf } from '../../src/harness/capabilities.ts'
import { acp } from '../../src/harness/acp.ts'
import { drivers } from '../../src/harness/drivers.ts'
import type { AgentExit, LaunchRequest, Transcript, Conclusion } from '../../src/harness/driver.ts'
import { openGate, startShim, waitForExit } from '../../src/process/shim-client.ts'
import { readSegments } from '../../src/process/tail.ts'
import type { Line } from './replay.ts'
import { replay } from './replay.ts'
import { triggerPhrases } from './trigger-phrases.ts'

const agent = fileURLToPath(new URL('../fixture/process/acp-agent.mjs', import.meta.url))
const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-acp-')))
const workspace = join(root, 'work')
const outside = join(root, 'outside')
for (const dir of [workspace, outside]) mkdirSync(dir)
writeFileSync(join(root, 'prompt.md'), 'Say hello.')
afterAll(() => rmSync(root, { recursive: true, force: true }))

const request = (play: string[], more: Partial<LaunchRequest> = {}): LaunchRequest => ({
  can: capabilitiesOf(drivers.acp, undefined).capabilities,
  prompt: 'Say hello.',
  promptFile: join(root, 'prompt.md'),
  workspace,
  runDir: join(workspace, '.run'),
  addDirs: [],
  skipGitCheck: false,
  toolRules: [],
  commands: [],
  extraArgs: play,
  program: [process.execPath, agent],
  ...more,
})

const linesOf = (stream: Line['stream'], text: string): Line[] =>
  text.split('\n').map((line) => ({ stream, text: line }))

interface Outcome {
  reading: Transcript
  settled: Conclusion
  exit: AgentExit
}

const run = async (play: string[], more: Partial<LaunchRequest> = {}): Promise<Outcome> => {
  const line = acp.launch(request(play, more))
  const [program = '', ...args] = line.argv
  const child = spawn(program, args, { cwd: line.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => (texts[stream] += text))
  const exit = await new Promise<AgentExit>((resolve) => child.on('close', (code, signal) => resolve({ code, signal })))
  const { reading } = replay(acp, [...linesOf('stdout', texts.stdout), ...linesOf('stderr', texts.stderr)])
  return { reading, exit, settled: acp.conclude(reading, exit) }
}

describe('an agent behind the bridge', () => {
  it('works in the workspace, and its session, calls and last words are read', async () => {
    const { reading, settled } = await run(['happy'])
    expect(settled).toEqual({ ok: true, text: 'All done.' })
    expect(reading).toMatchObject({
      sessionId: 'sess-1',
      cliVersion: '1.2.3',
      toolCalls: 1,
      openCalls: [],
      denials: [],
    })
    expect(readFileSync(join(workspace, 'hello.txt'), 'utf8')).toBe('written\n')
  })

  it('gets no leave outside, and gets it once the directory is allowed', async () => {
    const target = join(outside, 'a.txt')
    const refused = await run(['write', target])
    expect(refused.settled.ok).toBe(true)
    expect(refused.reading.denials).toMatchObject([{ kind: 'scope', tool: 'edit', target, callId: 'c1' }])
    expect(existsSync(target)).toBe(false)
    const allowed = await run(['write', target], { addDirs: [outside] })
    expect(allowed.reading.denials).toEqual([])
    expect(existsSync(target)).toBe(true)
  })

  it('may run the commands of the task alone', async () => {
    const commands = ['npm test']
    expect((await run(['run', 'npm test -- --fast'], { commands })).reading.denials).toEqual([])
    const { reading } = await run(['run', 'npm test; rm -rf /'], { commands })
    expect(reading.denials).toMatchObject([{ kind: 'tool', tool: 'execute', target: 'npm test; rm -rf /' }])
  })

  it('what a loaded session said before is not said again', async () => {
    const { reading, settled } = await run(['say', 'now'], { resumeSession: 'sess-7' })
    expect(settled).toEqual({ ok: true, text: 'now' })
    expect(reading.sessionId).toBe('sess-7')
  })

  it('a session that the agent could not load is not offered for it', async () => {
    expect((await run(['forgetful'])).reading.sessionId).toBeUndefined()
    const { settled } = await run(['forgetful'], { resumeSession: 'sess-7' })
    expect(settled).toMatchObject({ ok: false, error: { type: 'session_not_found' } })
  })

  it.each([
    ['locked', [], 'authentication_failed', 'session: Authentication required'],
    ['die', [], undefined, 'prompt: ACP connection closed (the agent ended with 9)'],
    ['fail', [], undefined, 'prompt: the model is gone'],
    ['stop', ['refusal'], 'refusal', 'the agent refused to continue'],
    ['stop', ['max_tokens'], 'max_output_tokens', 'the response reached its maximum length'],
  ])('an agent that plays %s %j has failed', async (play, words, type, text) => {
    const { settled } = await run([play, ...words])
    if (settled.ok) throw new Error('settled as a success')
    expect(settled.error).toMatchObject({ source: 'event', text: expect.stringContaining(text) as string })
    expect(settled.error.type).toBe(type)
  })

  it('a program that cannot be started is named', async () => {
    const { settled } = await run([], { program: [join(root, 'nothing')] })
    expect(settled).toMatchObject({
      ok: false,
      error: { type: 'bad_config', text: expect.stringContaining('ENOENT') as string },
    })
  })

  it('a call that is told of by a request for leave alone is counted', () => {
    const lines = [
      { type: 'permission', allowed: true, kind: 'tool', toolCall: { toolCallId: 'c1', kind: 'edit' } },
      { type: 'update', update: { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' } },
    ]
    const { reading } = replay(
      acp,
      lines.map((event) => ({ stream: 'stdout', text: JSON.stringify(event) })),
    )
    expect([reading.toolCalls, reading.openCalls]).toEqual([1, []])
  })

  it('a line of something else between the messages is passed over', async () => {
    expect((await run(['noise'])).settled.ok).toBe(true)
  })

  it('is ended when it does not leave', async () => {
    const { exit, settled } = await run(['stubborn'])
    expect(exit).toEqual({ code: 0, signal: null })
    expect(settled.ok).toBe(true)
  })

  it('may say every trigger phrase', async () => {
    const { reading, settled } = await run(['say', triggerPhrases.at(-1) ?? ''])
    expect([reading.denials, reading.errors, settled.ok]).toEqual([[], [], true])
  })

  it('runs under the shim, without a pipe to the engine', async () => {
    const line = acp.launch(request(['happy']))
    const dir = join(root, 'launch')
    const times = { limitMs: 60_000, keepAliveMs: 60_000, graceMs: 2_000, lineMaxBytes: 1 << 20, logMaxBytes: 1 << 24 }
    const spec = { marker: 'acp-1', argv: line.argv, cwd: line.cwd, stdinFile: line.stdinFile, ...times }
    await startShim(dir, spec, { PATH: process.env.PATH ?? '' })
    openGate(dir)
    const state = await waitForExit(dir, { deadlineMs: 60_000 })
    const { reading } = replay(
      acp,
      readSegments(dir, 'stdout', 0).lines.map((text) => ({ stream: 'stdout' as const, text })),
    )
    expect(state).toMatchObject({ state: 'ended', exit: { code: 0 } })
    expect(reading.final).toMatchObject({ isError: false, reason: 'end_turn', text: 'All done.' })
  })
})

describe('leave', () => {
  const allowed = { workspace, dirs: [outside], commands: ['npm test', 'make'] }
  const asked = (call: RequestedCall): [boolean, string] => {
    const { allowed: yes, kind } = decidePermission(call, allowed)
    return [yes, kind]
  }

  it.each<[RequestedCall, boolean, string]>([
    [{ kind: 'read', locations: [{ path: '/etc/passwd' }] }, false, 'scope'],
    [{ kind: 'read', locations: [{ path: 'src/a.ts' }] }, true, 'tool'],
    [{ kind: 'search' }, true, 'tool'],
    [{ kind: 'edit' }, false, 'tool'],
    [{ kind: 'edit', rawInput: { file_path: `${workspace}/new/deep/a.ts` } }, true, 'tool'],
    [{ kind: 'edit', content: [{ type: 'diff', path: `${workspace}/../x` }] }, false, 'scope'],
    [{ kind: 'edit', locations: [{ path: 'a' }, { path: '/etc/x' }] }, false, 'scope'],
    [{ kind: 'delete', locations: [{ path: `${outside}/a` }] }, true, 'tool'],
    [{ kind: 'execute', rawInput: { command: ' npm test ' } }, true, 'tool'],
    [{ kind: 'execute', rawInput: { command: 'npm testing' } }, false, 'tool'],
    [{ kind: 'execute', rawInput: { command: 'make $(id)' } }, false, 'tool'],
    [{ kind: 'execute', rawInput: { command: 'make\nid' } }, false, 'tool'],
    [{ kind: 'execute', rawInput: { command: ['make'] } }, false, 'tool'],
    [{ kind: 'execute', title: 'make' }, true, 'tool'],
    [{ kind: 'execute', title: 'make all' }, false, 'tool'],
    [{ kind: 'other', title: 'make' }, false, 'tool'],
    [{ kind: 'fetch', locations: [{ path: 'a' }] }, false, 'tool'],
    [{ kind: 'switch_mode' }, false, 'tool'],
    [{}, false, 'tool'],
  ])('for %j: %s', (call, yes, kind) => {
    expect(asked(call)).toEqual([yes, kind])
  })

  it('a link out of the workspace leads out of it', () => {
    symlinkSync('/etc', join(workspace, 'link'))
    expect(asked({ kind: 'edit', locations: [{ path: `${workspace}/link/new` }] })).toEqual([false, 'scope'])
  })

  it('is given once, and refused in the least way that is offered', () => {
    const option = (...kinds: string[]): { optionId: string; kind: string }[] =>
      kinds.map((kind) => ({ optionId: `id-${kind}`, kind }))
    const yes = { allowed: true, kind: 'tool' } as const
    expect(permissionOptionFor(yes, option('allow_always', 'allow_once'))).toBe('id-allow_once')
    expect(permissionOptionFor(yes, option('allow_always', 'reject_once'))).toBeUndefined()
    expect(permissionOptionFor({ ...yes, allowed: false }, option('reject_always', 'allow_once'))).toBe(
      'id-reject_always',
    )
  })
})
