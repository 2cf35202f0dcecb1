/**
 * OpenAI Codex CLI: launch line in the workspace-write sandbox, event parser, thread resume. Facts were measured on
 * 0.169.0.
 */
import { codexStderrError } from './codex-errors.ts'
import { readCodex } from './codex-events.ts'
import type { Driver, LaunchLine, LaunchRequest } from './driver.ts'
import { openedDirs, promptArgument } from './prompt-argument.ts'
import { emptyReading, failing, settleFailed, settleFinal } from './reading.ts'

const launch = (request: LaunchRequest): LaunchLine => ({
  // Every flag stands before `resume`, which refuses them; a resumed thread does not remember its sandbox.
  argv: [
    ...(request.program ?? ['codex']),
    'exec',
    '--json',
    ...['-C', request.workspace],
    ...(request.model === undefined ? [] : ['-m', request.model]),
    ...['-s', request.unrestricted === true ? 'danger-full-access' : 'workspace-write'],
    ...request.extraArgs,
    ...openedDirs(request).flatMap((dir) => ['--add-dir', dir]),
    ...(request.skipGitCheck ? ['--skip-git-repo-check'] : []),
    ...(request.resumeSession === undefined ? [] : ['resume', request.resumeSession]),
    promptArgument(request.prompt),
  ],
  cwd: request.workspace,
  // Without the sandbox's log a blocked write of a command is visible nowhere.
  env: { RUST_LOG: 'error,codex_sandboxing=warn' },
  stdinFile: null,
})

export const codex: Driver = {
  name: 'codex',
  defaultProgram: 'codex',
  tokenScope: 'session',
  // The built-in provider ignores OPENAI_API_KEY; providers of the user's own configuration often name it.
  environment: [
    'CODEX_API_KEY',
    'CODEX_HOME',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENAI_ORGANIZATION',
    'OPENAI_PROJECT',
  ],
  launch,
  openSession: (session) => ['resume', session],
  begin: emptyReading,
  read: readCodex,
  settle: (reading, exit) =>
    settleFinal(reading, exit) ??
    settleFailed('codex', reading, exit, failing(exit) ? codexStderrError(reading) : undefined),
}
