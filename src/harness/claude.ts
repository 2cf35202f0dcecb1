/**
 * Driver for Claude Code. It launches in the least permissive mode that works unattended: edits are accepted, the task's commands
 * are allowed, and permissions are bypassed only if the owner set `unrestricted`. Facts were measured on 2.1.197.
 */
import { join } from 'node:path'
import { claudeRefusalWords, claudeRemedy } from './claude-denials.ts'
import { claudeStderrError } from './claude-errors.ts'
import { readClaude } from './claude-events.ts'
import type { Driver, LaunchLine, LaunchRequest, QuestionRequest } from './driver.ts'
import { folderIn, type LoginTraces } from './cli-login.ts'
import { serverEntry, serverFile, toolServerName, toolServerStartSeconds } from './tool-server.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { narrowedArgs, withoutModel } from './narrowed-args.ts'
import { grantRulesOf, toolRulesOf } from './tool-rules.ts'
import { emptyTranscript, hasFailingExit, concludeFailed, concludeFinal } from './transcript.ts'
import {
  hasFlag,
  hasOption,
  optionValues,
  promptAfter,
  withHint,
  withOptions,
  withoutValued,
  type ChangedArguments,
  type LineChange,
  type UserCommand,
} from './user-command.ts'

/** A rule ends at its closing parenthesis, so a command that contains one cannot be written as a rule. */
const ruleOf = (command: string): string[] =>
  command.trim() === '' || /[()\r\n]/.test(command) ? [] : [`Bash(${command.trim()}:*)`]

/**
 * The bare name of the tool would allow writes anywhere on the machine (observed with 2.1.197), so the rule names the workspace: two
 * slashes for an absolute path, and one rule for all tools that edit. A path with characters of a pattern cannot be named.
 */
const editRule = (_tool: string, workspace: string): string | undefined =>
  /[()[\]{}*?!\\,\r\n]/.test(workspace) ? undefined : `Edit(/${workspace}/**)`

const toolRule = (tool: string): string => `mcp__${toolServerName}__${tool}`

/**
 * Claude begins its turn without waiting for its servers, and a call before they are connected fails as a call of an unknown tool. It
 * waits for those that are always loaded, 5 s unless the variable names another time.
 */
const startsFirst = { alwaysLoad: true }
const startVariables = { MCP_CONNECT_TIMEOUT_MS: String(toolServerStartSeconds * 1000) }

const launch = (request: LaunchRequest): LaunchLine => {
  const { toolServer: server } = request
  const ownTools = (server?.tools ?? []).map(toolRule)
  const rules = [...request.commands.flatMap(ruleOf), ...request.toolRules, ...ownTools]
  const file = server === undefined ? undefined : serverFile(server, { ...serverEntry(server), ...startsFirst })
  return {
    // The prompt directly follows -p, because --add-dir and --allowedTools take every argument behind them.
    argv: [
      ...(request.program ?? ['claude']),
      ...request.extraArgs,
      '-p',
      promptArgument(request.prompt),
      ...['--output-format', 'stream-json', '--verbose'],
      ...['--permission-mode', request.unrestricted === true ? 'bypassPermissions' : 'acceptEdits'],
      ...(request.resumeSession === undefined ? [] : ['--resume', request.resumeSession]),
      ...(request.model === undefined ? [] : ['--model', request.model]),
      ...openedDirs(request).flatMap((dir) => ['--add-dir', dir]),
      // In addition to the user's own servers, which keep working.
      ...(file === undefined ? [] : ['--mcp-config', file.path]),
      ...(rules.length === 0 ? [] : ['--allowedTools', ...new Set(rules)]),
    ],
    // A session can only be resumed from the folder it was started in.
    cwd: request.workspace,
    env: { DISABLE_AUTOUPDATER: '1', ...(file === undefined ? {} : startVariables) },
    ...(file === undefined ? {} : { files: [file] }),
    stdinFile: null,
  }
}

const widening = {
  flags: [
    ...['--dangerously-skip-permissions', '--allow-dangerously-skip-permissions'],
    ...['--continue', '-c', '--fork-session', '--ide', '--chrome', '--bg', '--background'],
  ],
  valued: ['--permission-mode', '--permission-prompt-tool', '--agent', '--agents', '--resume', '-r', '--session-id'],
  many: ['--allowedTools', '--allowed-tools', '--tools', '--add-dir', '--mcp-config'],
}

/** Plan mode alone would still run commands that the owner's settings allow, so only tools that read exist, and no MCP server. */
const question = (request: QuestionRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['claude']),
    ...withoutModel(narrowedArgs(request.extraArgs, widening), request.model),
    '-p',
    promptArgument(request.prompt),
    ...['--output-format', 'stream-json', '--verbose', '--permission-mode', 'plan', '--strict-mcp-config'],
    ...(request.model === undefined ? [] : ['--model', request.model]),
    ...['--tools', 'Read,Grep,Glob'],
  ],
  cwd: request.workspace,
  env: { DISABLE_AUTOUPDATER: '1' },
  stdinFile: null,
})

const tools = { shell: 'Bash', edits: ['Edit', 'MultiEdit', 'NotebookEdit', 'Write'], ruleOf }

const login: LoginTraces = {
  variables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
  files: (home, environment) => [
    join(folderIn(environment, 'CLAUDE_CONFIG_DIR', join(home, '.claude')), '.credentials.json'),
  ],
  maybe: (home, environment) => [
    join(folderIn(environment, 'CLAUDE_CONFIG_DIR', join(home, '.claude')), 'settings.json'),
  ],
  // On macOS the credentials are in the keychain.
  otherwise: process.platform === 'darwin' ? 'unknown' : 'no',
  advice: 'run "claude" and then /login, or set ANTHROPIC_API_KEY',
}

const userLine = (args: string[], { corrections, hint }: LineChange): ChangedArguments => {
  const own = withoutValued(args, '--output-format').filter((arg) => arg !== '--verbose')
  const at = promptAfter(own, '-p', '--print')
  const session = at < 0 ? undefined : hint?.session
  const hinted = withHint(own, at, hint)
  // A session id can be used only once.
  const free = hint === undefined ? hinted : withoutValued(hinted, '--session-id')
  const words =
    session === undefined && hint?.fresh === undefined
      ? free
      : withoutValued(free, '--resume', '-r').filter((arg) => arg !== '--continue' && arg !== '-c')
  const dirs = corrections.addDirs.flatMap((dir) => ['--add-dir', dir])
  const rules = corrections.toolRules ?? []
  const allowed = rules.length === 0 ? [] : ['--allowedTools', ...rules]
  const more = [...(session === undefined ? [] : ['--resume', session]), ...dirs, ...allowed]
  return {
    args: ['--output-format', 'stream-json', '--verbose', ...withOptions(words, more)],
    env: { DISABLE_AUTOUPDATER: '1' },
    resumed: session !== undefined,
  }
}

/** Modes that restrict no edit; naming the default mode restricts nothing either. */
const openModes = new Set(['acceptEdits', 'auto', 'bypassPermissions', 'default'])

const ruleOptions = [
  ...['--allowedTools', '--allowed-tools', '--disallowedTools', '--disallowed-tools', '--tools'],
  ...['--settings', '--setting-sources', '--permission-prompt-tool', '--agent', '--agents'],
]

const userCommand: UserCommand = {
  form: 'claude -p "<task>"',
  isHeadless: (args) => hasFlag(args, '-p', '--print'),
  line: userLine,
  restriction: (args) => {
    const [mode] = optionValues(args, ['--permission-mode'])
    const isOpen = mode === undefined || openModes.has(mode)
    // A directory only lets files be read and requested: what may be written there still depends on the mode.
    return { tools: isOpen && !hasOption(args, ruleOptions), dirs: true, writes: isOpen, trust: false }
  },
  directories: (args) => optionValues(args, ['--add-dir'], true),
  decided: claudeRefusalWords,
  writes: { tools: tools.edits, text: /^Output redirection to / },
}

export const claude: Driver = {
  name: 'claude',
  defaultProgram: 'claude',
  tokenScope: 'launch',
  printsWholeItems: true,
  environment: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_MODEL',
    'API_TIMEOUT_MS',
    'CLAUDE_CODE_MAX_RETRIES',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CONFIG_DIR',
    'IS_SANDBOX',
  ],
  measured: [
    {
      version: '2.1.197',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: true, cost: true, retries: 'events', toolServer: true },
      },
    },
  ],
  login,
  launch,
  question,
  openSession: (session) => ['--resume', session],
  toolRules: toolRulesOf({ ...tools, editRule }),
  grantRules: grantRulesOf(tools),
  ruleOption: '--allowedTools',
  remedy: claudeRemedy,
  userCommand,
  emptyTranscript,
  read: readClaude,
  conclude: (reading, exit) =>
    concludeFinal(reading, exit) ??
    concludeFailed('claude', reading, exit, hasFailingExit(exit) ? claudeStderrError(reading) : undefined),
}
