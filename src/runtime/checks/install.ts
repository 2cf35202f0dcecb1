/**
 * Runs installs that checks need, in a clone made by Unstuck and never in the user's own tree. Every command is on the fixed list in
 * `recovery/install.ts`. It runs in the way a check runs: from its argv, under a shim, with the environment of checks.
 */
import { join } from 'node:path'
import type { Install } from '../../domain/install.ts'
import type { CommandResult } from '../../process/run-command.ts'
import { approvedEnvironment } from '../../process/environment.ts'
import { commandCause } from '../../recovery/cause.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { linesIn } from '../../recovery/failing-set.ts'
import { fillsNodeModules } from '../../recovery/install.ts'
import { npmVariables, packageVariables } from '../core/package-variables.ts'
import { cacheVariables } from './private-caches.ts'
import type { CheckRequest } from './check-request.ts'
import { defined } from '../../domain/defined.ts'

export type InstallRequest = Omit<CheckRequest, 'commands' | 'source' | 'passed'>

/** `failed`: the command as a check that failed, to be diagnosed like one; absent = no command ran. */
export type Installed = { ok: true } | { ok: false; detail: string; failed?: ObservedCheck }

const graceMs = 5_000

/** How the command ended, and why. */
const troubleOf = (result: CommandResult): string => {
  if (result.spawnError !== undefined) return result.spawnError
  const ended = result.timedOut ? 'ran out of time' : `ended with ${result.exitCode ?? result.signal}`
  const why = commandCause([...linesIn(result.stdout), ...linesIn(result.stderr)])
  return why === '' ? ended : `${ended}, ${why}`
}

const asCheck = (argv: readonly string[], result: CommandResult): ObservedCheck => ({
  ...{ command: argv.join(' '), source: 'inferred', exitCode: result.exitCode, signal: result.signal },
  ...{ timedOut: result.timedOut, stdout: result.stdout, stderr: result.stderr, remaining: 0 },
  ...defined({ spawnError: result.spawnError }),
})

/** Stops at the first command that fails. Safe to repeat after a crash: an install leads to the same files each time. */
export const carryOutInstall = async (request: InstallRequest, install: Install): Promise<Installed> => {
  const { workspace, ports, clock, repository } = request
  if (install.files !== undefined) {
    const { problem } = await ports.git.layOwnersFiles({ repository, workspace, paths: install.files })
    return problem === undefined ? { ok: true } : { ok: false, detail: problem }
  }
  // The same install gave these packages before: another one would only take time.
  if (fillsNodeModules(install) && (await ports.git.hasOwnInstall(workspace, install.folder))) return { ok: true }
  const deadline = clock.elapsed() + request.totalMs
  const folders = [workspace, join(workspace, install.folder)]
  const variables = {
    ...(install.manager.startsWith('npm') ? npmVariables(ports.files, request.environment, folders) : {}),
    ...(await cacheVariables(request)),
  }
  for (const [index, argv] of install.commands.entries()) {
    const dir = request.folder(index + 1)
    // The output of an interrupted install must not be read as that of this one.
    ports.files.rmSync(dir, { recursive: true, force: true })
    const result = await ports.processes.runCommand(dir, {
      argv,
      cwd: join(workspace, install.folder),
      environment: approvedEnvironment(workspace, request.environment, {
        extraNames: request.extraNames,
        programs: [],
        added: { ...packageVariables(ports.files, workspace), ...variables, ...request.variables },
      }),
      timeoutMs: Math.max(1, Math.min(request.timeoutMs, deadline - clock.elapsed())),
      marker: request.marker,
      graceMs,
      keepAliveMs: request.keepAliveMs,
      signal: request.signal,
    })
    if (result.exitCode === 0 && !result.timedOut && result.spawnError === undefined) continue
    const detail = `${argv.join(' ')}: ${troubleOf(result)}`.slice(0, 400)
    return { ok: false, detail, failed: asCheck(argv, result) }
  }
  return { ok: true }
}

/** The same for several installs, in the order given. */
export const carryOutInstalls = async (request: InstallRequest, installs: readonly Install[]): Promise<Installed> => {
  const begun = request.clock.elapsed()
  for (const [index, install] of installs.entries()) {
    const left = Math.max(1, request.totalMs - (request.clock.elapsed() - begun))
    const folder = (number: number): string => request.folder((index + 1) * 100 + number)
    const done = await carryOutInstall({ ...request, folder, totalMs: left }, install)
    if (!done.ok) return done
  }
  return { ok: true }
}
