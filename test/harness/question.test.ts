/** The launch line of a question: every driver's read-only mode, as it was run with the real CLIs, whatever the owner's arguments say. */
import { describe, expect, it } from 'vitest'
import { acp } from '../../src/harness/acp.ts'
import { decidePermission } from '../../src/harness/acp-permission.ts'
import { capabilitiesOf } from '../../src/harness/capabilities.ts'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import { command } from '../../src/harness/command.ts'
import type { QuestionRequest } from '../../src/harness/driver.ts'
import { drivers } from '../../src/harness/drivers.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { opencode } from '../../src/harness/opencode.ts'

const prompt = 'May it stay?'

const request = (more: Partial<QuestionRequest> = {}): QuestionRequest => ({
  ...{ can: capabilitiesOf(drivers.claude, undefined).capabilities, prompt, promptFile: '/q/prompt-1.md' },
  ...{ workspace: '/q/view', runDir: '/q/scratch', extraArgs: [], ...more },
})

describe('claude', () => {
  it('plans, with tools that only read and no MCP server', () => {
    expect(claude.question(request({ model: 'haiku' }))).toEqual({
      argv: [
        ...['claude', '-p', prompt, '--output-format', 'stream-json', '--verbose'],
        ...['--permission-mode', 'plan', '--strict-mcp-config', '--model', 'haiku', '--tools', 'Read,Grep,Glob'],
      ],
      cwd: '/q/view',
      env: { DISABLE_AUTOUPDATER: '1' },
      stdinFile: null,
    })
  })
  it('keeps of the owner’s arguments what allows nothing', () => {
    const extraArgs = [
      ...['--allowedTools', 'Bash', 'Write', '--settings', '/s.json', '--dangerously-skip-permissions'],
      ...['--permission-mode=bypassPermissions', '--add-dir', '/a', '/b', '--tools', 'default', '--resume', 'x'],
      ...['--mcp-config', '/m.json', '--max-turns', '9', '--model', 'opus'],
    ]
    const { argv } = claude.question(request({ extraArgs, model: 'haiku', program: ['node', 'c.js'] }))
    expect(argv.slice(0, argv.indexOf('-p'))).toEqual(['node', 'c.js', '--settings', '/s.json', '--max-turns', '9'])
    expect(claude.question(request({ extraArgs: ['--model', 'opus'] })).argv.slice(1, 3)).toEqual(['--model', 'opus'])
  })
})

describe('codex', () => {
  it('is in the read-only sandbox, in a folder that is no repository', () => {
    expect(codex.question(request({ model: 'm' })).argv).toEqual([
      ...['codex', 'exec', '--json', '-C', '/q/view', '-m', 'm', '-s', 'read-only', '--skip-git-repo-check'],
      prompt,
    ])
  })
  it.each([
    [['-s', 'danger-full-access']],
    [['-sworkspace-write']],
    [['--sandbox=workspace-write', '--add-dir', '/a']],
    [['--full-auto', '--dangerously-bypass-approvals-and-sandbox']],
    [['-c', 'sandbox_mode="danger-full-access"']],
    [['--config', 'sandbox_workspace_write.network_access=true']],
    [['-csandbox_mode=danger-full-access']],
    [['--config=approval_policy="never"']],
    [['-c', 'mcp_servers.x.command="touch"']],
  ])('does not take over %j', (extraArgs) => {
    expect(codex.question(request({ extraArgs })).argv).toEqual(codex.question(request()).argv)
  })
  it('keeps the provider', () => {
    const extraArgs = ['-c', 'model_provider=sim', '-c', 'model_providers.sim={name="sim"}']
    expect(codex.question(request({ extraArgs })).argv.slice(5, 9)).toEqual(extraArgs)
  })
})

describe('gemini', () => {
  it('plans', () => {
    const extraArgs = [
      '--yolo',
      '--allowed-tools',
      'run_shell_command',
      '--approval-mode',
      'yolo',
      '-m',
      'old',
      '--debug',
    ]
    expect(gemini.question(request({ extraArgs, model: 'new' }))).toMatchObject({
      argv: [
        ...['gemini', '--debug', '-p', prompt, '-o', 'stream-json', '--skip-trust', '--approval-mode', 'plan'],
        ...['-m', 'new'],
      ],
      env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
    })
  })
})

describe('opencode', () => {
  it('denies every class, also unknown ones, except reading', () => {
    const { argv, env } = opencode.question(request({ extraArgs: ['--auto', '--agent', 'build', '--variant', 'high'] }))
    expect(argv).toEqual([
      ...['opencode', 'run', '--format', 'json', '--print-logs', '--log-level', 'ERROR', '--variant', 'high'],
      ...['--dir', '/q/view', prompt],
    ])
    const permissions = JSON.parse(env['OPENCODE_PERMISSION'] ?? '') as Record<string, unknown>
    const isDenied = (rule: unknown): boolean =>
      JSON.stringify(rule) === '"deny"' || JSON.stringify(rule) === '{"*":"deny"}'
    const open = Object.keys(permissions).filter((name) => !isDenied(permissions[name]))
    expect(open).toEqual(['read', 'glob', 'grep', 'list'])
    // The last matching rule decides, so the general denial has to be the first.
    expect(Object.keys(permissions)[0]).toBe('*')
    // Every class that a launch decides is decided here as well.
    const launched = opencode.launch({ ...request(), addDirs: [], skipGitCheck: false, commands: [], toolRules: [] })
    const classes = Object.keys(JSON.parse(launched.env['OPENCODE_PERMISSION'] ?? '') as object)
    expect(classes.filter((name) => !Object.hasOwn(permissions, name))).toEqual([])
  })
})

describe('acp', () => {
  it('refuses every permission', () => {
    const { argv } = acp.question(request({ program: ['agent'], extraArgs: ['--x'] }))
    expect(argv.slice(2)).toEqual([
      ...['--prompt-file=/q/prompt-1.md', '--cwd=/q/view', '--allow-nothing', '--', 'agent', '--x'],
    ])
    const nothing = { workspace: '/q/view', dirs: [], commands: ['npm test'], everything: true, nothing: true }
    for (const call of [
      { kind: 'edit', locations: [{ path: '/q/view/a' }] },
      { kind: 'read', locations: [{ path: '/q/view/a' }] },
      { kind: 'execute', rawInput: { command: 'npm test' } },
    ])
      expect(decidePermission(call, nothing).allowed).toBe(false)
  })
})

describe('command', () => {
  it.each([
    ['argument', { argv: ['agent', '--x', prompt], stdinFile: null }],
    ['stdin', { argv: ['agent', '--x'], stdinFile: '/q/prompt-1.md' }],
    ['file', { argv: ['agent', '--x', '/q/prompt-1.md'], stdinFile: null }],
  ] as const)('gets the prompt as %s', (promptMode, line) => {
    expect(command.question(request({ program: ['agent'], extraArgs: ['--x'], promptMode }))).toMatchObject(line)
    expect(command.answersOnStdout).toBe(true)
  })
})
