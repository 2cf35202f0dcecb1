/**
 * What a command line forbids its agent stays forbidden: five restrictions of each CLI, refused in the words of the recorded
 * transcripts. `--allow-dir` names the outside folder each time, so a correction would be at hand.
 */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { agentCommand } from '../../src/exec/agent-command.ts'
import type { ExecEvent, ExecResult } from '../../src/exec/exec-events.ts'
import { superviseCommand } from '../../src/exec/supervise-command.ts'
import { defaultLoopSettings } from '../../src/recovery/doom-loop.ts'
import { defaultStallSettings } from '../../src/recovery/stall.ts'
import { transcript, type Cli } from '../harness/replay.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-restrictions-')))
const [bin, work, outside] = ['bin', 'work', 'outside'].map((name) => join(root, name)) as [string, string, string]
for (const dir of [bin, work, outside]) mkdirSync(dir)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const retry = {
  transientBaseSeconds: 0.02,
  transientMaxSeconds: 1,
  transientLimit: 1,
  quotaBaseSeconds: 1,
  quotaMaxSeconds: 1,
}

interface Play {
  stdout: string
  stderr: string
  code: number
  /** What it does besides. */
  also?: string
}

const recorded = (cli: Cli, scenario: string): Play => {
  const { lines, exit } = transcript(cli, scenario)
  const of = (stream: 'stdout' | 'stderr'): string =>
    lines
      .filter((line) => line.stream === stream)
      .map(({ text }) => text.replaceAll('/repo', work).replaceAll('/outside', outside))
      .join('\n')
  return { stdout: of('stdout'), stderr: of('stderr'), code: exit.code ?? 1 }
}

/** A turn of Claude whose one tool call is refused with that sentence. */
const claudeRefuses = (name: string, input: object, content: string): Play => {
  const events = [
    { type: 'system', subtype: 'init', cwd: work, session_id: 's', model: 'm', claude_code_version: '2.1.197' },
    { type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 'c1', name, input }] } },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', is_error: true, content }] } },
    { type: 'result', subtype: 'success', is_error: false, result: 'Done.' },
  ]
  return { stdout: events.map((event) => JSON.stringify(event)).join('\n'), stderr: '', code: 0 }
}

/** Runs the CLI's stand-in, which prints the same each time; gives its result and the lines it was started with. */
const run = async (argv: string[], play: Play, env: Record<string, string> = {}) => {
  const [cli = ''] = argv
  writeFileSync(join(root, 'stdout'), `${play.stdout}\n`)
  writeFileSync(join(root, 'stderr'), play.stderr)
  const script = `#!/bin/sh\n${play.also ?? ''}\ncat ${join(root, 'stdout')}; cat ${join(root, 'stderr')} >&2; exit ${play.code}\n`
  writeFileSync(join(bin, cli), script)
  chmodSync(join(bin, cli), 0o755)
  const events: ExecEvent[] = []
  const result = await superviseCommand({
    command: agentCommand(argv, 'auto'),
    ...{ cwd: work, stdinFile: null, allowDirs: [outside], retry, maxWaitMs: 1000 },
    environment: { PATH: [bin, '/usr/bin', '/bin'].join(delimiter), HOME: root, ...env },
    ...{ stall: defaultStallSettings, loops: defaultLoopSettings, pause: { firstMs: 1, longestMs: 1 } },
    ...{ signal: new AbortController().signal, emit: (event: ExecEvent) => void events.push(event) },
  })
  const launches = events.flatMap((event) => (event.type === 'launch' ? [event.argv.join(' ')] : []))
  return { result: result as ExecResult, launches }
}

const file = join(work, 'hello.txt')
const ask = `Claude requested permissions to write to ${file}, but you haven't granted it yet.`
const disabled =
  '<tool_use_error>Error: No such tool available: Write. Write exists but is not enabled in this context. Use another.</tool_use_error>'
const write = { file_path: file }
const unavailable = (tool: string): Play => {
  const part = {
    type: 'tool',
    tool: 'invalid',
    callID: 'c',
    state: {
      status: 'completed',
      output: 'x',
      input: { tool, error: `Model tried to call unavailable tool '${tool}'. Available tools: read.` },
    },
  }
  const events = [
    { type: 'tool_use', sessionID: 'ses_1', part },
    { type: 'step_finish', sessionID: 'ses_1', part: { reason: 'stop' } },
  ]
  return { stdout: events.map((event) => JSON.stringify(event)).join('\n'), stderr: '', code: 0 }
}

type Row = [string, string[], () => Play, RegExp, Record<string, string>?]

const prompt = 'Make it.'
const rows: Row[] = [
  [
    'Claude, plan',
    ['claude', '-p', prompt, '--permission-mode', 'plan'],
    () => claudeRefuses('Write', write, `Cannot write to ${file} while in plan mode.`),
    /another mode/,
  ],
  [
    'Claude, dontAsk',
    ['claude', '-p', prompt, '--permission-mode=dontAsk'],
    () => recorded('claude', 'approval-dontAsk-bash'),
    /--allowedTools "Bash\(npm --version:\*\)" "Bash\(ls:\*\)"/,
  ],
  [
    'Claude, --disallowedTools',
    ['claude', '-p', prompt, '--disallowedTools', 'Write'],
    () => claudeRefuses('Write', write, disabled),
    /remove Write from --disallowedTools/,
  ],
  [
    'Claude, --allowed-tools',
    ['claude', '-p', prompt, '--allowed-tools', 'Read'],
    () => claudeRefuses('Write', write, ask),
    /--permission-mode acceptEdits/,
  ],
  [
    'Claude, --settings',
    ['claude', '-p', prompt, '--settings', '{"permissions":{"ask":["Write"]}}'],
    () => claudeRefuses('Write', write, ask),
    /--permission-mode acceptEdits/,
  ],
  [
    'Codex, -s read-only, patch',
    ['codex', 'exec', '-s', 'read-only', prompt],
    () => recorded('codex', 'read-only-default-patch'),
    /add -s workspace-write/,
  ],
  [
    'Codex, --sandbox=read-only, shell',
    ['codex', 'exec', '--sandbox=read-only', prompt],
    () => recorded('codex', 'scope-shell-write-rustlog'),
    /-s workspace-write/,
  ],
  [
    'Codex, sandbox_mode',
    ['codex', 'exec', '-c', 'sandbox_mode="read-only"', prompt],
    () => recorded('codex', 'scope-shell-write-rustlog'),
    /-s workspace-write/,
  ],
  [
    'Codex, no sandbox named',
    ['codex', 'exec', prompt],
    () => recorded('codex', 'read-only-default-patch'),
    /add -s workspace-write/,
  ],
  [
    'Codex, escalation',
    ['codex', 'exec', '-s', 'workspace-write', prompt],
    () => recorded('codex', 'approval-on-request-escalate'),
    /wider sandbox/,
  ],
  [
    'Gemini, plan',
    ['gemini', '-p', prompt, '--approval-mode', 'plan'],
    () => recorded('gemini', 'approval-plan-mode'),
    /--approval-mode auto_edit/,
  ],
  [
    'Gemini, default',
    ['gemini', '-p', prompt, '--approval-mode=default'],
    () => recorded('gemini', 'approval-default-write'),
    /--approval-mode auto_edit/,
  ],
  [
    'Gemini, auto_edit, shell',
    ['gemini', '-p', prompt, '--approval-mode', 'auto_edit'],
    () => recorded('gemini', 'approval-auto_edit-shell'),
    /run_shell_command|yolo/,
  ],
  [
    'Gemini, --allowed-tools',
    ['gemini', '-p', prompt, '--allowed-tools', 'read_file'],
    () => recorded('gemini', 'approval-default-write'),
    /--approval-mode auto_edit/,
  ],
  [
    'OpenCode, external_directory deny',
    ['opencode', 'run', prompt],
    () => recorded('opencode', 'scope-write-deny'),
    /"external_directory"/,
  ],
  [
    'OpenCode, bash deny',
    ['opencode', 'run', prompt],
    () => recorded('opencode', 'approval-deny-bash'),
    /"bash": "allow"/,
  ],
  ['OpenCode, bash ask', ['opencode', 'run', prompt], () => recorded('opencode', 'approval-ask-bash'), /or add --auto/],
  ['OpenCode, edit deny', ['opencode', 'run', prompt], () => unavailable('edit'), /"edit": "allow"/],
  [
    'OpenCode, OPENCODE_PERMISSION',
    ['opencode', 'run', prompt],
    () => recorded('opencode', 'scope-write'),
    /or add --auto/,
    { OPENCODE_PERMISSION: '{"external_directory":"ask"}' },
  ],
]

describe('is launched once, ends with 3, and its user reads what would allow it', () => {
  test.each(rows)('%s', async (...[, argv, play, remedy, env]) => {
    const { result, launches } = await run(argv, play(), env)
    expect(launches).toHaveLength(1)
    expect(result).toMatchObject({ outcome: 'refused', exitCode: 3, launches: 1 })
    expect(result.denials[0]?.remedy).toMatch(remedy)
  })
})

test('Gemini in a folder that is not trusted keeps its own status', async () => {
  const { result, launches } = await run(['gemini', '-p', prompt], recorded('gemini', 'untrusted'))
  expect([launches.length, result.exitCode, result.label]).toEqual([1, 55, 'GIT_TRUST_ERROR'])
})

describe('where nothing is forbidden the same refusal is corrected', () => {
  test.each<[string, string[], () => Play, string]>([
    ['Claude', ['claude', '-p', prompt], () => claudeRefuses('Write', write, ask), '--allowedTools Edit('],
    [
      'Codex',
      ['codex', 'exec', '-s', 'workspace-write', prompt],
      () => recorded('codex', 'scope-shell-write-rustlog'),
      `--add-dir ${outside}`,
    ],
    [
      'Gemini',
      ['gemini', '-p', prompt],
      () => recorded('gemini', 'approval-default-write'),
      '--allowed-tools write_file',
    ],
    ['OpenCode', ['opencode', 'run', prompt], () => recorded('opencode', 'scope-write'), '--session'],
  ])('%s', async (_name, argv, play, added) => {
    const { launches } = await run(argv, play())
    expect(launches[0]).not.toContain(added)
    expect(launches[1]).toContain(added)
  })
})

test("Gemini's own stop of a loop is a circle: started afresh with a hint, and no success in the end", async () => {
  const { result, launches } = await run(
    ['gemini', '-p', prompt, '--approval-mode', 'yolo'],
    recorded('gemini', 'loop-50'),
  )
  expect(result).toMatchObject({ outcome: 'failed', exitCode: 1, label: 'doom_loop', launches: 3 })
  expect(launches[1]).toContain('Do not make that call again')
  expect(launches[1]).not.toContain('--resume')
})

test('a conversation that is too long is continued once in a new session', async () => {
  const argv = ['claude', '-p', prompt, '--resume', 'old']
  const { result, launches } = await run(argv, recorded('claude', 'context-400'))
  expect(result).toMatchObject({ outcome: 'failed', label: 'context_overflow', launches: 2 })
  expect(launches[1]).toContain('grew too long')
  expect(launches[1]).not.toContain('old')
})

test('a turn that changed files is launched again for what --allow-dir allows, and for nothing else', async () => {
  const changing = (path: string): Play => {
    const refusal = claudeRefuses('Write', { file_path: path }, ask.replace(file, path))
    return { ...refusal, also: `date +%N > ${join(work, 'changed')}` }
  }
  const inside = await run(['claude', '-p', prompt], changing(file))
  expect(inside.result).toMatchObject({ outcome: 'refused', exitCode: 3, changed: true, launches: 1 })
  const allowed = await run(['claude', '-p', prompt], changing(join(outside, 'x')))
  expect(allowed.launches).toHaveLength(2)
})

test('no mode is changed where the agent may not work, nor below .git', async () => {
  for (const locked of [join(root, 'elsewhere'), join(work, '.git')]) {
    mkdirSync(locked)
    chmodSync(locked, 0o500)
    const stderr = `Permission denied writing to file: ${join(locked, 'x')} (EACCES)\n`
    const { result, launches } = await run(['gemini', '-p', prompt], { stdout: '', stderr, code: 1 })
    expect([result.label, launches.length, statSync(locked).mode & 0o777]).toEqual(['FS_PERM_ERROR', 1, 0o500])
  }
  rmSync(join(work, '.git'), { recursive: true })
})

test('secrets of the command line are in no event', async () => {
  const argv = ['claude', '-p', prompt, '--mcp-config', '{"env":{"MY_TOKEN":"hunter2hunter2"}}']
  const { launches } = await run(argv, claudeRefuses('Write', write, ask))
  expect(launches.join()).not.toContain('hunter2')
})
