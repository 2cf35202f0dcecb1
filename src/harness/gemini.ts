/**
 * Driver for Google's Gemini CLI. It launches in `auto_edit`, with each of the task's commands allowed. Facts were measured on 0.61.0.
 */
import { join } from 'node:path'
import type {
  AgentExit,
  Driver,
  FaultType,
  LaunchLine,
  LaunchRequest,
  QuestionRequest,
  ToolServer,
  Transcript,
  ReportedError,
} from './driver.ts'
import { geminiRefusalWords, geminiRemedy } from './gemini-denials.ts'
import { geminiStderrError } from './gemini-errors.ts'
import { readGemini } from './gemini-events.ts'
import type { LoginTraces } from './cli-login.ts'
import { serverEntry, serverFile } from './tool-server.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { narrowedArgs, withoutModel } from './narrowed-args.ts'
import { grantRulesOf, toolRulesOf } from './tool-rules.ts'
import { emptyTranscript, hasFailingExit, faultOfStatus, concludeFailed, concludeFinal } from './transcript.ts'
import {
  hasOption,
  optionValues,
  promptAfter,
  withHint,
  withoutValued,
  type ChangedArguments,
  type LineChange,
  type UserCommand,
} from './user-command.ts'
import { defined } from '../domain/defined.ts'

/** A rule ends at its closing parenthesis, and a comma separates rules, so a command with either cannot be written as a rule. */
const ruleOf = (command: string): string[] =>
  command.trim() === '' || /[(),\r\n]/.test(command) ? [] : [`run_shell_command(${command.trim()})`]

/** The flag splits its value at commas, and the CLI exits when a folder does not exist. */
const isNameable = (dir: string): boolean => !dir.includes(',')

/** Without it the program starts itself again as a child, swallows SIGTERM and leaves the child behind on SIGKILL. */
const programEnv = { GEMINI_CLI_NO_RELAUNCH: 'true' }

/**
 * The settings with the lowest rank, which no user has: theirs, the project's and the system's stay as they are and may say otherwise.
 * Without `trust` each call would be asked about, and nobody is there.
 */
const settingsWith = (server: ToolServer): Required<Pick<LaunchLine, 'env' | 'files'>> => {
  const file = serverFile(server, { ...serverEntry(server), timeout: server.callSeconds * 1000, trust: true })
  return { env: { ...programEnv, GEMINI_CLI_SYSTEM_DEFAULTS_PATH: file.path }, files: [file] }
}

const systemDefaults = [
  '/etc/gemini-cli/system-defaults.json',
  '/Library/Application Support/GeminiCli/system-defaults.json',
]

const launch = (request: LaunchRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['gemini']),
    ...request.extraArgs,
    ...['-p', promptArgument(request.prompt), '-o', 'stream-json', '--skip-trust'],
    ...['--approval-mode', request.unrestricted === true ? 'yolo' : 'auto_edit'],
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...(request.resumeSession === undefined ? [] : ['--resume', request.resumeSession]),
    ...openedDirs(request)
      .filter(isNameable)
      .flatMap((dir) => ['--include-directories', dir]),
    // In `auto_edit` the shell tool is not declared at all; these rules declare it, for these commands only.
    ...[...new Set([...request.commands.flatMap(ruleOf), ...request.toolRules])].flatMap((rule) => [
      '--allowed-tools',
      rule,
    ]),
  ],
  // A session can only be resumed from the folder it was started in.
  cwd: request.workspace,
  ...(request.toolServer === undefined ? { env: programEnv } : settingsWith(request.toolServer)),
  stdinFile: null,
})

const widening = {
  flags: ['--yolo', '-y', '--accept-raw-output-risk'],
  valued: ['--approval-mode', '--approvalMode', '--policy', '--resume', '-r', '--session-id'],
  many: ['--allowed-tools', '--allowedTools', '--include-directories', '--includeDirectories'],
}

/** In plan mode the shell tool does not exist, and a plan is the only file that can be written, in a folder of the CLI's own. */
const question = (request: QuestionRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['gemini']),
    ...withoutModel(narrowedArgs(request.extraArgs, widening), request.model),
    ...['-p', promptArgument(request.prompt), '-o', 'stream-json', '--skip-trust', '--approval-mode', 'plan'],
    ...(request.model === undefined ? [] : ['-m', request.model]),
  ],
  cwd: request.workspace,
  env: programEnv,
  stdinFile: null,
})

/** Exit codes of the CLI, used when its output does not explain the exit. */
const exitTypes: Record<number, FaultType> = {
  41: 'authentication_failed',
  52: 'bad_config',
  53: 'max_turns',
  55: 'git_trust',
  130: 'aborted',
}

/** In its JSON modes the CLI exits with the HTTP status of a failed request modulo 256. */
const statusOf = (code: number): number | undefined => (code >= 400 - 256 && code < 512 - 256 ? code + 256 : undefined)

const saidBy = (reading: Transcript, exit: AgentExit): ReportedError | undefined => {
  if (!hasFailingExit(exit)) return undefined
  const said = geminiStderrError(reading)
  if (said?.type !== undefined) return said
  const code = exit.code ?? 0
  const httpStatus = statusOf(code)
  const type = exitTypes[code] ?? faultOfStatus(httpStatus)
  if (type === undefined) return said
  const text = said?.text ?? `gemini exited with ${code}`
  return { source: 'exit', type, ...defined({ httpStatus }), text }
}

const tools = { shell: 'run_shell_command', edits: ['replace', 'write_file'], ruleOf }

const settingsFolder = (home: string, environment: Record<string, string | undefined>): string =>
  join(environment['GEMINI_CLI_HOME'] || home, '.gemini')

const login: LoginTraces = {
  variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_GCA', 'GOOGLE_GENAI_USE_VERTEXAI'],
  files: (home, environment) => [join(settingsFolder(home, environment), 'oauth_creds.json')],
  maybe: (home, environment) => ['.env', 'settings.json'].map((name) => join(settingsFolder(home, environment), name)),
  otherwise: 'no',
  advice: 'set GEMINI_API_KEY, or log in by running "gemini"',
}

const userLine = (args: string[], { corrections, hint }: LineChange): ChangedArguments => {
  const own = withoutValued(args, '-o', '--output-format')
  const hinted = withHint(own, promptAfter(own, '-p', '--prompt'), hint)
  // A session id can be used only once.
  const free = hint === undefined ? hinted : withoutValued(hinted, '--session-id')
  const other = hint?.fresh === undefined && hint?.session === undefined ? free : withoutValued(free, '--resume', '-r')
  const words = hint?.session === undefined ? other : [...other, '--resume', hint.session]
  const dirs = corrections.addDirs.filter(isNameable).flatMap((dir) => ['--include-directories', dir])
  const rules = (corrections.toolRules ?? []).flatMap((rule) => ['--allowed-tools', rule])
  return {
    args: [...words, '-o', 'stream-json', ...dirs, ...rules],
    env: programEnv,
    resumed: hint?.session !== undefined,
  }
}

const ruleOptions = [
  ...['--allowed-tools', '--allowedTools', '--policy', '--admin-policy', '--adminPolicy'],
  ...['--allowed-mcp-server-names', '--sandbox', '-s'],
]

const userCommand: UserCommand = {
  form: 'gemini -p "<task>"',
  isHeadless: (args) => promptAfter(args, '-p', '--prompt') >= 0,
  line: userLine,
  restriction: (args) => {
    const [mode] = optionValues(args, ['--approval-mode', '--approvalMode'])
    const tools = (mode === undefined || mode === 'auto_edit' || mode === 'yolo') && !hasOption(args, ruleOptions)
    // Trust in a folder is the user's decision: Gemini asks a person for it.
    return { tools, dirs: true, writes: mode !== 'plan', trust: false }
  },
  directories: (args) =>
    optionValues(args, ['--include-directories', '--includeDirectories'], true).flatMap((value) => value.split(',')),
  decided: geminiRefusalWords,
  writes: { tools: tools.edits },
  trustAdvice: 'add --skip-trust to the command, or set GEMINI_CLI_TRUST_WORKSPACE=true',
}

export const gemini: Driver = {
  name: 'gemini',
  defaultProgram: 'gemini',
  tokenScope: 'launch',
  environment: [
    'GEMINI_API_KEY',
    'GEMINI_CLI_HOME',
    'GEMINI_MODEL',
    'GOOGLE_API_KEY',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_GENAI_USE_GCA',
    'GOOGLE_GENAI_USE_VERTEXAI',
    'GOOGLE_VERTEX_BASE_URL',
  ],
  programEnv,
  measured: [
    {
      version: '0.61.0',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: true, cost: false, retries: 'stderr', toolServer: true },
      },
    },
  ],
  login,
  launch,
  question,
  toolServerHides: systemDefaults,
  openSession: (session) => ['--resume', session],
  // The CLI checks the workspace's bounds separately, so a rule for a tool's name opens nothing outside.
  toolRules: toolRulesOf({ ...tools, editRule: (tool) => tool }),
  grantRules: grantRulesOf(tools),
  ruleOption: '--allowed-tools',
  remedy: geminiRemedy,
  userCommand,
  emptyTranscript,
  read: readGemini,
  conclude: (reading, exit) =>
    concludeFinal(reading, exit) ?? concludeFailed('gemini', reading, exit, saidBy(reading, exit)),
}
