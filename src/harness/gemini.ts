/**
 * Google's Gemini CLI: launch line in `auto_edit` with the task's commands allowed one by one, event parser, session
 * resume. Facts were measured on 0.61.0.
 */
import type { AgentExit, Driver, FaultType, LaunchLine, LaunchRequest, Reading, ReportedError } from './driver.ts'
import { geminiStderrError } from './gemini-errors.ts'
import { readGemini } from './gemini-events.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { grantRulesOf, toolRulesOf } from './tool-rules.ts'
import { emptyReading, failing, faultOfStatus, settleFailed, settleFinal } from './reading.ts'

/** A rule ends at its closing parenthesis, and a comma begins the next one. */
const ruleOf = (command: string): string[] =>
  command.trim() === '' || /[(),\r\n]/.test(command) ? [] : [`run_shell_command(${command.trim()})`]

/** The flag splits its value at commas, and a folder that is not there ends the CLI. */
const isNameable = (dir: string): boolean => !dir.includes(',')

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
    // In `auto_edit` the shell tool is not even declared; what is named here is, for these commands alone.
    ...[...new Set([...request.commands.flatMap(ruleOf), ...request.toolRules])].flatMap((rule) => [
      '--allowed-tools',
      rule,
    ]),
  ],
  // A session can only be resumed from the folder it was started in.
  cwd: request.workspace,
  // Without it the program starts itself again as a child, swallows SIGTERM and leaves the child behind on SIGKILL.
  env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
  stdinFile: null,
})

/** The CLI's own exit codes, where it printed nothing that explains them. */
const exitTypes: Record<number, FaultType> = {
  41: 'authentication_failed',
  52: 'bad_config',
  53: 'max_turns',
  55: 'git_trust',
  130: 'aborted',
}

/** In its JSON modes a failed request gives the HTTP status modulo 256. */
const statusOf = (code: number): number | undefined => (code >= 400 - 256 && code < 512 - 256 ? code + 256 : undefined)

const saidBy = (reading: Reading, exit: AgentExit): ReportedError | undefined => {
  if (!failing(exit)) return undefined
  const said = geminiStderrError(reading)
  if (said?.type !== undefined) return said
  const code = exit.code ?? 0
  const httpStatus = statusOf(code)
  const type = exitTypes[code] ?? faultOfStatus(httpStatus)
  if (type === undefined) return said
  const text = said?.text ?? `gemini exited with ${code}`
  return { source: 'exit', type, ...(httpStatus === undefined ? {} : { httpStatus }), text }
}

const tools = { shell: 'run_shell_command', edits: ['replace', 'write_file'], ruleOf }

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
  launch,
  openSession: (session) => ['--resume', session],
  // The workspace's bounds are checked apart from these rules, so a tool's name opens nothing outside of them.
  toolRules: toolRulesOf({ ...tools, editRule: (tool) => tool }),
  grantRules: grantRulesOf(tools),
  begin: emptyReading,
  read: readGemini,
  settle: (reading, exit) => settleFinal(reading, exit) ?? settleFailed('gemini', reading, exit, saidBy(reading, exit)),
}
