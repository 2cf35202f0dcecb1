/**
 * Driver for OpenCode. The launch decides every permission class in advance, because one that asks would be refused and end the run.
 * Facts were measured on 1.18.33.
 */
import { join } from 'node:path'
import type {
  AgentExit,
  Driver,
  LaunchLine,
  LaunchRequest,
  QuestionRequest,
  ToolServer,
  Transcript,
  Conclusion,
} from './driver.ts'
import { opencodeLogCause, opencodeStderrError } from './opencode-errors.ts'
import { readOpencode } from './opencode-events.ts'
import { folderIn, type LoginTraces } from './cli-login.ts'
import { opencodeRefusalWords, opencodeRemedy, permissionRejected } from './opencode-denials.ts'
import { toolServerName, toolServerStartSeconds, variableReferences } from './tool-server.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { narrowedArgs, withoutModel } from './narrowed-args.ts'
import { emptyTranscript, hasFailingExit, concludeFailed, concludeFinal } from './transcript.ts'
import {
  hasFlag,
  lastWord,
  withHint,
  withOptions,
  withoutValued,
  type ChangedArguments,
  type LineChange,
  type UserCommand,
} from './user-command.ts'

const openedBy = (dirs: readonly string[]) => Object.fromEntries(dirs.map((dir) => [`${dir}/**`, 'allow']))

interface Widened {
  unrestricted?: boolean | undefined
  ownTools?: Record<string, 'allow'>
}

/**
 * Passed in the environment, which takes precedence over the user's files and changes none of them. The last matching rule decides,
 * so general denials come before the exceptions.
 */
const permissionsOf = (dirs: string[], { unrestricted = false, ownTools = {} }: Widened): string =>
  JSON.stringify({
    read: unrestricted
      ? { '*': 'allow' }
      : { '*': 'allow', '*.env': 'deny', '*.env.*': 'deny', '*.env.example': 'allow' },
    edit: { '*': 'allow' },
    glob: { '*': 'allow' },
    grep: { '*': 'allow' },
    list: { '*': 'allow' },
    bash: { '*': 'allow' },
    task: { '*': 'allow' },
    lsp: { '*': 'allow' },
    skill: { '*': 'allow' },
    external_directory: unrestricted ? { '*': 'allow' } : { '*': 'deny', ...openedBy(dirs) },
    todowrite: 'allow',
    webfetch: 'allow',
    websearch: 'allow',
    // No person can answer, and Unstuck itself detects repeated calls.
    question: 'deny',
    doom_loop: 'allow',
    plan_enter: 'deny',
    plan_exit: 'deny',
    ...ownTools,
  })

const entryOf = (server: ToolServer) => ({
  type: 'local',
  command: server.command,
  environment: variableReferences(server, (name) => `{env:${name}}`),
  enabled: true,
  timeout: Math.max(toolServerStartSeconds, server.callSeconds) * 1000,
})

/** The configuration of the user's environment with the server added; undefined = that is no JSON object, and stays as it is. */
const configWith = (server: ToolServer): string | undefined => {
  try {
    const own: unknown = JSON.parse(server.inherited('OPENCODE_CONFIG_CONTENT') || '{}')
    if (typeof own !== 'object' || own === null || Array.isArray(own)) return undefined
    const { mcp = {} } = own as { mcp?: object }
    return JSON.stringify({ ...own, mcp: { ...mcp, [toolServerName]: entryOf(server) } })
  } catch {
    return undefined // the CLI reads JSON with comments as well, and reports what is wrong with it
  }
}

const launch = (request: LaunchRequest): LaunchLine => {
  const { toolServer: server } = request
  const content = server === undefined ? undefined : configWith(server)
  const line = lineOf(request)
  if (server === undefined || content === undefined) return line
  const ownTools = Object.fromEntries(server.tools.map((tool) => [`${toolServerName}_${tool}`, 'allow' as const]))
  const { unrestricted } = request
  return {
    ...line,
    env: {
      ...line.env,
      OPENCODE_CONFIG_CONTENT: content,
      OPENCODE_PERMISSION: permissionsOf(openedDirs(request), { unrestricted, ownTools }),
    },
  }
}

const lineOf = (request: LaunchRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['opencode']),
    'run',
    // The cause of an unknown model is reported only in the log.
    ...['--format', 'json', '--print-logs', '--log-level', 'ERROR'],
    ...request.extraArgs,
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...(request.resumeSession === undefined ? [] : ['--session', request.resumeSession]),
    // Without it the CLI resumes a session of another folder, prints nothing and never ends.
    ...['--dir', request.workspace],
    promptArgument(request.prompt),
  ],
  cwd: request.workspace,
  env: {
    OPENCODE_PERMISSION: permissionsOf(openedDirs(request), { unrestricted: request.unrestricted }),
    OPENCODE_DISABLE_AUTOUPDATE: 'true',
  },
  // The CLI reads standard input to its end before anything else.
  stdinFile: null,
})

const widening = {
  flags: ['--auto', '--continue', '-c', '--fork', '--share'],
  valued: ['--session', '-s', '--agent', '--dir', '--attach', '--command'],
}

/** Every class is denied, also those that a later version adds. Only the tools that read the folder are left. */
const readingOnly = JSON.stringify({
  '*': 'deny',
  read: { '*': 'allow', '*.env': 'deny', '*.env.*': 'deny', '*.env.example': 'allow' },
  glob: { '*': 'allow' },
  grep: { '*': 'allow' },
  list: { '*': 'allow' },
  ...Object.fromEntries(
    ['edit', 'bash', 'task', 'lsp', 'skill', 'external_directory'].map((name) => [name, { '*': 'deny' }]),
  ),
  ...Object.fromEntries(
    ['todowrite', 'webfetch', 'websearch', 'question', 'doom_loop', 'plan_enter', 'plan_exit'].map((name) => [
      name,
      'deny',
    ]),
  ),
})

const question = (request: QuestionRequest): LaunchLine => ({
  argv: [
    ...(request.program ?? ['opencode']),
    'run',
    ...['--format', 'json', '--print-logs', '--log-level', 'ERROR'],
    ...withoutModel(narrowedArgs(request.extraArgs, widening), request.model),
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...['--dir', request.workspace],
    promptArgument(request.prompt),
  ],
  cwd: request.workspace,
  env: { OPENCODE_PERMISSION: readingOnly, OPENCODE_DISABLE_AUTOUPDATE: 'true' },
  stdinFile: null,
})

/**
 * The CLI exits with 1 when it printed any error, also one that it overcame by compacting the conversation. Then its own end counts.
 */
const overcame = (reading: Transcript, exit: AgentExit): boolean =>
  exit.code === 1 && exit.stopCause === undefined && reading.errors.every((error) => error.type === 'prompt_too_long')

/** A rejected permission ends the turn at once: the refusal explains the end, not the missing final event. */
const endedRejected = (reading: Transcript, { code, stopCause }: AgentExit): boolean =>
  code === 0 &&
  stopCause === undefined &&
  reading.final === undefined &&
  reading.errors.length === 0 &&
  reading.denials.some(({ text }) => permissionRejected.test(text))

const settle = (reading: Transcript, exit: AgentExit): Conclusion => {
  const compacted = reading.errors.length > 0 && overcame(reading, exit)
  const done = concludeFinal(reading, compacted ? { code: 0, signal: null } : exit)
  if (done !== undefined) return done
  if (endedRejected(reading, exit)) return { ok: true, text: reading.lastText }
  const said = hasFailingExit(exit) ? opencodeStderrError(reading) : undefined
  const settled = concludeFailed('opencode', reading, exit, said)
  if (settled.ok || settled.error.source !== 'event' || settled.error.type !== undefined) return settled
  const cause = hasFailingExit(exit) ? opencodeLogCause(reading) : undefined
  return cause === undefined ? settled : { ...settled, error: { ...settled.error, ...cause } }
}

const login: LoginTraces = {
  variables: [
    'ANTHROPIC_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'OPENAI_API_KEY',
    'OPENCODE_API_KEY',
    'OPENROUTER_API_KEY',
  ],
  files: (home, environment) => [
    join(folderIn(environment, 'XDG_DATA_HOME', join(home, '.local', 'share')), 'opencode', 'auth.json'),
  ],
  maybe: () => [],
  // It works without an account, with models that are free.
  otherwise: 'unknown',
  advice: 'run "opencode auth login", or set the key of its provider',
}

/** Options of `opencode run` without a value: behind any other option the last word could be its value. */
const switches = ['--auto', '--continue', '-c', '--fork', '--share', '--thinking']

const userLine = (args: string[], { corrections, hint }: LineChange): ChangedArguments => {
  const own = withoutValued(args, '--format', '--log-level').filter((arg) => arg !== '--print-logs')
  const at = hasFlag(own, '--') ? -1 : lastWord(own, own.indexOf('run'), switches)
  const session = at < 0 ? undefined : hint?.session
  const hinted = withHint(own, at, hint)
  const words =
    session === undefined && hint?.fresh === undefined
      ? hinted
      : withoutValued(hinted, '--session', '-s').filter((arg) => !['--continue', '-c', '--fork'].includes(arg))
  const more = session === undefined ? [] : ['--session', session]
  const { addDirs } = corrections
  return {
    args: withOptions(words, [...more, '--format', 'json', '--print-logs', '--log-level', 'ERROR']),
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: 'true',
      // The CLI merges this into the user's own permissions, so it opens these directories and nothing else.
      ...(addDirs.length === 0
        ? {}
        : { OPENCODE_PERMISSION: JSON.stringify({ external_directory: openedBy(addDirs) }) }),
    },
    resumed: session !== undefined,
  }
}

const userCommand: UserCommand = {
  form: 'opencode run "<task>"',
  isHeadless: (args) => hasFlag(args, 'run'),
  line: userLine,
  restriction: (_args, environment) => ({
    tools: false,
    // The correction needs this variable, and the user's own value stays.
    dirs: environment['OPENCODE_PERMISSION'] === undefined,
    writes: true,
    trust: false,
  }),
  decided: opencodeRefusalWords,
  writes: { tools: ['apply_patch', 'edit', 'multiedit', 'patch', 'write'] },
}

export const opencode: Driver = {
  name: 'opencode',
  defaultProgram: 'opencode',
  tokenScope: 'launch',
  printsWholeItems: true,
  // Keys of the most common providers; other keys are named in harness.opencode.env.
  environment: [
    'ANTHROPIC_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'OPENAI_API_KEY',
    'OPENCODE_API_KEY',
    'OPENCODE_CONFIG',
    'OPENCODE_CONFIG_CONTENT',
    'OPENCODE_CONFIG_DIR',
    'OPENROUTER_API_KEY',
  ],
  measured: [
    {
      version: '1.18.33',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'any', toolRules: false, callStarts: false },
        ...{ tokens: true, cost: true, retries: 'none', toolServer: true },
      },
    },
  ],
  login,
  launch,
  question,
  openSession: (session) => ['--session', session],
  remedy: opencodeRemedy,
  userCommand,
  emptyTranscript,
  read: readOpencode,
  conclude: settle,
}
