/** Runs one approved command of a proposal in a clone, in the way a check runs, and undoes what it changed in files that land. */
import { basename } from 'node:path'
import { approvedEnvironment } from '../../process/environment.ts'
import type { CommandResult } from '../../process/run-command.ts'
import { commandCause } from '../../recovery/cause.ts'
import { linesIn } from '../../recovery/failing-set.ts'
import { managers } from '../../recovery/install.ts'
import { readShellCommand } from '../../recovery/proposal/simple-commands.ts'
import type { ExecutionOutcome } from '../../store/recovery-proposal.ts'
import { npmVariables, packageVariables } from '../core/package-variables.ts'
import type { Context } from '../core/context.ts'
import { commandDirectory } from './check-facts.ts'
import type { InstallRequest } from './install.ts'
import { cacheVariables } from './private-caches.ts'

const graceMs = 5_000
const longestError = 400

export interface ApprovedCommand {
  command: string
  workingDir: string
  timeoutSeconds: number
}

/**
 * Enters the folder first and then looks where it is: an agent's program may put a link in its place between the look and the start, and
 * what a process stands in cannot be replaced.
 */
const inFolder = `cd -P -- "$1" && [ "$(pwd -P)" = "$1" ] || { echo "working_dir $1 is another folder now" >&2; exit 125; }; exec /bin/sh -c "$2"`

/** The text that was judged is passed to the shell as one argument. A text = why the command did not start. */
export const runApproved = async (
  request: Omit<InstallRequest, 'folder'>,
  { command, workingDir, timeoutSeconds }: ApprovedCommand,
  dir: string,
): Promise<CommandResult | string> => {
  const { workspace, ports, environment, marker, keepAliveMs, signal } = request
  const place = commandDirectory(ports.files, workspace, [workingDir])
  if (!place.ok) return `working_dir: ${place.reason}`
  return ports.processes.runCommand(dir, {
    argv: ['/bin/sh', '-c', inFolder, 'sh', place.path, command],
    cwd: workspace,
    environment: approvedEnvironment(workspace, environment, {
      extraNames: request.extraNames,
      programs: readShellCommand(command).words.flatMap(([program = '']) => (program.includes('/') ? [] : [program])),
      added: {
        ...packageVariables(ports.files, workspace),
        ...npmVariables(ports.files, environment, [workspace, place.path]),
        ...(await cacheVariables(request)),
        ...request.variables,
      },
    }),
    timeoutMs: timeoutSeconds * 1000,
    ...{ marker, graceMs, keepAliveMs, signal },
  })
}

const troubleOf = (result: CommandResult): string => {
  if (result.spawnError !== undefined) return result.spawnError
  const status = String(result.exitCode ?? result.signal ?? 'no status')
  const ended = result.timedOut ? 'it ran out of time' : `it ended with ${status}`
  const why = commandCause([...linesIn(result.stdout), ...linesIn(result.stderr)])
  return why === '' ? ended : `${ended}: ${why}`.slice(0, longestError)
}

export const outcomeOfCommand = (result: CommandResult | string, changed: string[]): ExecutionOutcome => {
  if (typeof result === 'string') return { state: 'failed', exitCode: null, durationMs: 0, error: result, changed }
  const isWell = result.exitCode === 0 && !result.timedOut && result.spawnError === undefined
  return {
    ...{ state: isWell ? 'succeeded' : 'failed', exitCode: result.exitCode, changed },
    ...{ durationMs: Math.round(result.durationMs), error: isWell ? '' : troubleOf(result) },
  }
}

/** The outcome of a command during which the engine ended. */
export const unknownOutcome: ExecutionOutcome = {
  ...{ state: 'unknown', exitCode: null, durationMs: null, changed: [] },
  error: 'the engine ended while it ran, so its outcome is unknown',
}

const lockfileNames = new Set([
  ...['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb'],
  ...['uv.lock', 'poetry.lock', 'Cargo.lock', 'Gemfile.lock', 'composer.lock', 'go.sum'],
])

export const isLockfile = (path: string): boolean => lockfileNames.has(basename(path))

/** What package managers install, also in a repository that does not ignore it. No part of the work, so it may stay. */
const installed = [...new Set(managers.flatMap(({ makes }) => makes))]

interface CommandRun {
  result: CommandResult | string
  /** Every file that the command changed, also new ones; not those that git ignores. */
  changed: string[]
  /** The files before the command, and after it. */
  before: string
  after: string
}

/** The command with what it changed in the files. What `keeps` does not name is undone: a check may only see what lands. */
export const runUndone = async (
  { ports: { git }, shadow }: Pick<Context, 'ports' | 'shadow'>,
  place: { base: string; workTree: string; indexFile: string },
  run: () => Promise<CommandResult | string>,
  keeps: (path: string) => boolean = () => false,
): Promise<CommandRun> => {
  const capture = (base: string) => git.captureTree(shadow, { ...place, base, exclude: installed })
  // What the set-up and the commands before left is not of this command.
  const { tree: before } = await capture(place.base)
  const result = await run()
  const { tree: after, changes } = await capture(before)
  const changed = changes.map(({ path }) => path)
  const staying = await git.buildTree(shadow, { base: before, tree: after, paths: changed.filter(keeps) })
  if (staying !== after) await git.revertFiles(shadow, { before: staying, after, workTree: place.workTree })
  return { result, changed, before, after }
}
