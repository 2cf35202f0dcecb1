/**
 * Claude Code: launch line in the least mode that works unattended (edits accepted, the task's commands allowed, never a
 * bypass unless the owner set `unrestricted`), event parser, session resume. Facts were measured on 2.1.197.
 */
import { claudeStderrError } from './claude-errors.ts'
import { readClaude } from './claude-events.ts'
import type { Driver, LaunchLine, LaunchRequest } from './driver.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { grantRulesOf, toolRulesOf } from './tool-rules.ts'
import { emptyReading, failing, settleFailed, settleFinal } from './reading.ts'

/** A rule ends at its closing parenthesis, so a command that holds one cannot be written as a rule. */
const ruleOf = (command: string): string[] =>
  command.trim() === '' || /[()\r\n]/.test(command) ? [] : [`Bash(${command.trim()}:*)`]

/**
 * The tool's bare name would let it write anywhere on the machine (seen with 2.1.197), so the rule names the workspace: two
 * slashes for an absolute path, and one rule for all tools that edit. A path that reads as a pattern cannot be named.
 */
const editRule = (_tool: string, workspace: string): string | undefined =>
  /[()[\]{}*?!\\,\r\n]/.test(workspace) ? undefined : `Edit(/${workspace}/**)`

const launch = (request: LaunchRequest): LaunchLine => {
  const rules = [...request.commands.flatMap(ruleOf), ...request.toolRules]
  return {
    // The prompt stands right behind -p: --add-dir and --allowedTools take every argument that follows them.
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
      ...(rules.length === 0 ? [] : ['--allowedTools', ...new Set(rules)]),
    ],
    // A session can only be resumed from the folder it was started in.
    cwd: request.workspace,
    env: { DISABLE_AUTOUPDATER: '1' },
    stdinFile: null,
  }
}

const tools = { shell: 'Bash', edits: ['Edit', 'MultiEdit', 'NotebookEdit', 'Write'], ruleOf }

export const claude: Driver = {
  name: 'claude',
  defaultProgram: 'claude',
  tokenScope: 'launch',
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
  launch,
  openSession: (session) => ['--resume', session],
  toolRules: toolRulesOf({ ...tools, editRule }),
  grantRules: grantRulesOf(tools),
  begin: emptyReading,
  read: readClaude,
  settle: (reading, exit) =>
    settleFinal(reading, exit) ??
    settleFailed('claude', reading, exit, failing(exit) ? claudeStderrError(reading) : undefined),
}
