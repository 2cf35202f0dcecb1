/**
 * Driver for the OpenAI Codex CLI. It launches in the workspace-write sandbox. Facts were measured on 0.169.0.
 */
import { join } from 'node:path'
import { codexRefusalWords, codexRemedy } from './codex-denials.ts'
import { codexStderrError } from './codex-errors.ts'
import { readCodex } from './codex-events.ts'
import { withCodexPaths } from './codex-rollout.ts'
import type { Capabilities, MeasuredVersion } from './capabilities.ts'
import type { Driver, LaunchLine, LaunchRequest, QuestionRequest, ToolServer } from './driver.ts'
import { folderIn, type LoginTraces } from './cli-login.ts'
import { textAt, type JsonObject } from './json-line.ts'
import { toolServerName, toolServerStartSeconds } from './tool-server.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { narrowedArgs, withoutModel } from './narrowed-args.ts'
import { emptyTranscript, hasFailingExit, concludeFailed, concludeFinal } from './transcript.ts'
import {
  hasFlag,
  lastWord,
  optionValues,
  withHint,
  type ChangedArguments,
  type LineChange,
  type UserCommand,
} from './user-command.ts'

/** TOML strings and arrays have the form of JSON here. `env_vars` names what the server inherits; everything else is withheld from it. */
const withServer = ({ command: argv, variables, callSeconds }: ToolServer): string[] => {
  const [command, ...args] = argv
  const key = `mcp_servers.${toolServerName}`
  const settings: Record<string, unknown> = {
    command,
    args,
    env_vars: variables,
    startup_timeout_sec: toolServerStartSeconds,
    tool_timeout_sec: callSeconds,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${key}.${name}=${JSON.stringify(value)}`])
}

const launch = (request: LaunchRequest): LaunchLine => ({
  // Every flag comes before `resume`, which rejects flags behind it; a resumed thread does not remember its sandbox.
  argv: [
    ...(request.program ?? ['codex']),
    'exec',
    '--json',
    ...['-C', request.workspace],
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...['-s', request.unrestricted === true ? 'danger-full-access' : 'workspace-write'],
    ...request.extraArgs,
    ...(request.toolServer === undefined ? [] : withServer(request.toolServer)),
    ...openedDirs(request).flatMap((dir) => ['--add-dir', dir]),
    ...(request.skipGitCheck ? ['--skip-git-repo-check'] : []),
    ...(request.resumeSession === undefined ? [] : ['resume', request.resumeSession]),
    promptArgument(request.prompt),
  ],
  cwd: request.workspace,
  // A blocked write of a command is reported only in the sandbox's log.
  env: { RUST_LOG: 'error,codex_sandboxing=warn' },
  stdinFile: null,
})

const widening = {
  flags: ['--full-auto', '--yolo', '--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check', '--last'],
  valued: ['-s', '--sandbox', '-a', '--ask-for-approval', '-C', '--cd', '--add-dir'],
}

/** Settings that decide what a command may write, or that start programs outside of the sandbox. */
const wideningSetting = /^\s*(?:sandbox_|approval_|mcp_servers|permissions|notify|default_permissions)/

const withoutWideSettings = (args: readonly string[]): string[] => {
  const isOption = (arg: string | undefined): boolean => arg === '-c' || arg === '--config'
  const isWide = (arg: string | undefined): boolean => wideningSetting.test(arg ?? '')
  return args.filter(
    (arg, at) =>
      !(isOption(arg) && isWide(args[at + 1])) &&
      !(isOption(args[at - 1]) && isWide(arg)) &&
      !isWide(/^(?:-c|--config)=?(?=\S)(.*)$/s.exec(arg)?.[1] ?? ''),
  )
}

const toolServers = {
  args: ['mcp', 'list', '--json'],
  namesIn: (output: string): string[] => {
    try {
      const listed: unknown = JSON.parse(output)
      return Array.isArray(listed) ? listed.flatMap((server) => textAt(server as JsonObject, 'name') ?? []) : []
    } catch {
      return [] // a version that cannot list them
    }
  },
}

/** One inline table, because a dotted key cannot hold every name. Measured with 0.169.0; an empty table stops none. */
const serversOff = (names: readonly string[]): string[] => {
  const tables = names.map((name) => `${JSON.stringify(name)}={enabled=false}`)
  return tables.length === 0 ? [] : ['-c', `mcp_servers={${tables.join(',')}}`]
}

/** Commands run, because Codex reads files with them, but the sandbox lets none of them write or use the network. */
const question = (request: QuestionRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['codex']),
    ...['exec', '--json', '-C', request.workspace],
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...withoutModel(withoutWideSettings(narrowedArgs(request.extraArgs, widening)), request.model),
    ...['-s', 'read-only', '--skip-git-repo-check'],
    ...serversOff(request.toolServers ?? []),
    promptArgument(request.prompt),
  ],
  cwd: request.workspace,
  env: { RUST_LOG: 'error,codex_sandboxing=warn' },
  stdinFile: null,
})

const events: Capabilities = {
  ...{ resume: true, directories: true, commands: 'sandbox', toolRules: false, callStarts: true },
  ...{ tokens: true, cost: false, retries: 'events' },
}

/** Of the versions before 0.80 only the flags were measured; their events were different. */
const flagsOnly: Capabilities = {
  ...{ resume: true, directories: false, commands: 'sandbox', toolRules: false, callStarts: false },
  ...{ tokens: false, cost: false, retries: 'none' },
}

const measured: readonly MeasuredVersion[] = [
  { version: '0.34.0', capabilities: { ...flagsOnly, resume: false } },
  { version: '0.42.0', capabilities: flagsOnly },
  { version: '0.80.0', capabilities: events },
  { version: '0.169.0', capabilities: { ...events, toolServer: true } },
]

const login: LoginTraces = {
  variables: ['CODEX_API_KEY'],
  files: (home, environment) => [join(folderIn(environment, 'CODEX_HOME', join(home, '.codex')), 'auth.json')],
  maybe: (home, environment) => [join(folderIn(environment, 'CODEX_HOME', join(home, '.codex')), 'config.toml')],
  otherwise: 'no',
  advice: 'run "codex login", or set CODEX_API_KEY',
}

const execAt = (args: string[]): number => args.findIndex((arg) => arg === 'exec' || arg === 'e')

/** Options of `codex exec` without a value: behind any other option the last word could be its value. */
const switches = ['--json', '--skip-git-repo-check', '--full-auto', '--ephemeral', '--oss']

const userLine = (args: string[], { corrections, hint }: LineChange): ChangedArguments => {
  const own = args.filter((arg) => arg !== '--json')
  const exec = execAt(own)
  const at = hasFlag(own.slice(exec + 1, -1), 'resume') ? -1 : lastWord(own, exec, switches)
  const session = at < 0 ? undefined : hint?.session
  const hinted = withHint(own, at, hint).slice(exec + 1)
  // Every flag comes before `resume`, which rejects flags behind it.
  const words = session === undefined ? hinted : [...hinted.slice(0, -1), 'resume', session, ...hinted.slice(-1)]
  const skip = corrections.skipGitCheck && !hasFlag(own, '--skip-git-repo-check') ? ['--skip-git-repo-check'] : []
  const dirs = corrections.addDirs.flatMap((dir) => ['--add-dir', dir])
  return {
    args: [...own.slice(0, exec + 1), '--json', ...skip, ...dirs, ...words],
    env: { RUST_LOG: 'error,codex_sandboxing=warn' },
    resumed: session !== undefined,
  }
}

/** The sandbox that the line asks for, by its option or as a setting. */
const sandboxIn = (args: readonly string[]): string | undefined => {
  const short = args.find((arg) => /^-s\S/.test(arg))?.replace(/^-s=?/, '')
  const configured = optionValues(args, ['-c', '--config']).flatMap(
    (value) => /^\s*sandbox_mode\s*=\s*["']?([\w-]+)/.exec(value)?.[1] ?? [],
  )
  return optionValues(args, ['-s', '--sandbox'])[0] ?? short ?? configured.at(-1)
}

const userCommand: UserCommand = {
  form: 'codex exec "<task>"',
  isHeadless: (args) => execAt(args) >= 0,
  line: userLine,
  restriction: (args) => {
    const writes = sandboxIn(args) !== 'read-only'
    return { tools: false, dirs: writes, writes, trust: true }
  },
  directories: (args) => optionValues(args, ['--add-dir']),
  decided: codexRefusalWords,
  writes: { tools: ['apply_patch', 'file_change'], text: /\breason=read_only_file_system\b/ },
  trustAdvice: 'add --skip-git-repo-check to the command, or run it inside a git repository',
}

export const codex: Driver = {
  name: 'codex',
  defaultProgram: 'codex',
  tokenScope: 'session',
  printsWholeItems: true,
  // The built-in provider ignores OPENAI_API_KEY; providers of the user's own configuration often name it.
  environment: [
    'CODEX_API_KEY',
    'CODEX_HOME',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENAI_ORGANIZATION',
    'OPENAI_PROJECT',
  ],
  measured,
  login,
  launch,
  question,
  toolServers,
  openSession: (session) => ['resume', session],
  remedy: codexRemedy,
  userCommand,
  emptyTranscript,
  read: readCodex,
  nameRefusals: withCodexPaths,
  conclude: (reading, exit) =>
    concludeFinal(reading, exit) ??
    concludeFailed('codex', reading, exit, hasFailingExit(exit) ? codexStderrError(reading) : undefined),
}
