/**
 * Any agent that speaks the Agent Client Protocol, started by our bridge, which holds its pipe (`acp-bridge.ts`). The configured
 * command is the agent. A session is resumed by loading it.
 */
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../errors.ts'
import { taskCommandsIn } from '../recovery/command/task-commands.ts'
import { readAcp } from './acp-events.ts'
import type { Driver, LaunchLine, LaunchRequest, QuestionRequest } from './driver.ts'
import { openedDirs } from './prompt-argument.ts'
import { emptyTranscript, hasFailingExit, concludeFailed, concludeFinal } from './transcript.ts'

/** TypeScript in a checkout, JavaScript when built. */
const bridge = fileURLToPath(new URL(`./acp-bridge${extname(import.meta.url)}`, import.meta.url))

const agentOf = ({ program = [], extraArgs }: Pick<LaunchRequest, 'program' | 'extraArgs'>): string[] => {
  if (program.length === 0)
    throw new AppError(
      'HARNESS_MISSING',
      'a harness with the driver "acp" has no command: set it to the agent, e.g. ["gemini", "--acp"]',
    )
  return ['--', ...program, ...extraArgs]
}

/** The protocol has no read-only mode: every permission that the agent requests is refused. */
const question = (request: QuestionRequest): LaunchLine => ({
  argv: [
    ...[
      process.execPath,
      bridge,
      `--prompt-file=${request.promptFile}`,
      `--cwd=${request.workspace}`,
      '--allow-nothing',
    ],
    ...agentOf(request),
  ],
  cwd: request.workspace,
  env: {},
  stdinFile: null,
})

const launch = (request: LaunchRequest): LaunchLine => {
  const agent = agentOf(request)
  return {
    argv: [
      ...[process.execPath, bridge, `--prompt-file=${request.promptFile}`, `--cwd=${request.workspace}`],
      ...(request.resumeSession === undefined ? [] : [`--session=${request.resumeSession}`]),
      ...openedDirs(request).map((dir) => `--allow-dir=${dir}`),
      ...[...request.commands, ...request.toolRules].map((line) => `--allow-command=${line}`),
      ...(request.unrestricted === true ? ['--allow-all'] : []),
      ...agent,
    ],
    cwd: request.workspace,
    env: {},
    stdinFile: null,
  }
}

export const acp: Driver = {
  name: 'acp',
  defaultProgram: null,
  tokenScope: 'launch',
  // Only the owner knows which keys the agent needs: harness.<name>.env.
  environment: [],
  // The protocol's version, not the agent's. What an agent leaves out of the protocol shows only when it runs.
  measured: [
    {
      version: '1',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
  ],
  launch,
  question,
  // The bridge compares whole lines, so a line made of the task's commands is allowed as a whole.
  toolRules: ({ target }, { taskCommands }) =>
    target === undefined || taskCommandsIn(target, taskCommands) === undefined ? undefined : [target.trim()],
  emptyTranscript,
  read: readAcp,
  conclude: (reading, exit) => {
    const said = hasFailingExit(exit) && reading.stderrTail.length > 0 ? reading.stderrTail.join('\n') : undefined
    return (
      concludeFinal(reading, exit) ??
      concludeFailed('the bridge', reading, exit, said === undefined ? undefined : { source: 'stderr', text: said })
    )
  },
}
