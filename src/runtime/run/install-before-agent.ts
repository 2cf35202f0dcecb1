/**
 * Packages that the clone of a run lacks because the owner's checkout has none either: they are installed before the agent starts, by the
 * repository's own package manager. Otherwise agent and checks would first fail without them, in every run anew.
 */
import { join } from 'node:path'
import type { Install } from '../../domain/install.ts'
import { keptVerdict } from '../../domain/run.ts'
import { commandEnvironment } from '../../process/environment.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { fillsNodeModules, installsLacking, installedPatterns, requirementFilesOf } from '../../recovery/install.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import { messageOf } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { requireLease } from '../../store/run.ts'
import { allowedCommands } from '../checks/allowed-commands.ts'
import { carryOutInstall, type Installed } from '../checks/install.ts'
import { interpreterHas } from '../checks/interpreter-packages.ts'
import { installsOfChecks } from '../checks/installs-of-checks.ts'
import { readIfFile } from '../core/files.ts'
import { findProgram } from '../core/find-program.ts'
import { isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { commandContext } from './repair.ts'

/** Milliseconds. The agent can work without packages, so a registry that does not respond may delay it only this long. */
const mostMs = 600_000

const cacheDirOf = ({ context }: RunContext): string => join(context.stateDir, 'dependencies')

const neededInstalls = async (runContext: RunContext): Promise<Install[]> => {
  const { context, paths } = runContext
  return installsOfChecks(context.ports.files, paths.workspace, await allowedCommands(runContext))
}

/** Those whose packages are nowhere in the clone, and whose program is on this machine. */
const lackingOf = ({ context, paths }: RunContext, installs: readonly Install[]): Install[] => {
  const { files } = context.ports
  const { PATH } = commandEnvironment(paths.workspace, context.environment)
  const lacking = installsLacking(installs, {
    read: (path) => readIfFile(files, join(paths.workspace, path)),
    has: (path) => files.existsSync(join(paths.workspace, path)),
  })
  return lacking.filter(({ commands }) => commands.every(([program = '']) => findProgram(files, program, PATH)))
}

interface OfRun {
  goalId: string
  taskId: string
  runId: string
}

const whileLeased = (
  { context, run }: RunContext,
  write: (tx: Queryable, of: OfRun) => Promise<unknown>,
): Promise<void> =>
  context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await write(tx, { goalId: run.goalId, taskId: run.taskId, runId: run.id })
  })

/** Stored with the run, so that its packages are no work, and its checks get them too. */
const record = async (runContext: RunContext, install: Install): Promise<void> => {
  const kept = keptVerdict(runContext.run.verdict)
  const others = (kept.installed ?? []).filter((other) => installKeyOf(other) !== installKeyOf(install))
  await saveProgress(runContext, { verdict: { ...kept, installed: [...others, install] } })
}

/** For the checks and for later runs. If it fails, each of them installs on its own. */
const keepForOthers = async (runContext: RunContext, folder: string, before: readonly string[]): Promise<void> => {
  const { context, paths, run } = runContext
  try {
    await context.ports.git.keepOwnInstall({
      ...{ repository: context.repository, workspace: paths.workspace, cacheDir: cacheDirOf(runContext) },
      ...{ folder, before },
      signal: context.stopping,
    })
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.warn({ run: run.id, error: messageOf(error) }, 'installed packages could not be kept for later runs')
  }
}

/** Half an install would hide from the agent, and from the next attempt, that packages are missing. */
const removeHalf = ({ context, paths }: RunContext, install: Install): void => {
  for (const made of installedPatterns([install]).filter((path) => /\/(?:node_modules|\.venv|vendor)$/.test(path)))
    context.ports.files.rmSync(join(paths.workspace, made), { recursive: true, force: true })
}

/** Nothing is lost by it: the agent starts, and its checks come to the same end. */
const reportFailed = async (
  runContext: RunContext,
  install: Install,
  { detail, failed }: Extract<Installed, { ok: false }>,
): Promise<void> => {
  removeHalf(runContext, install)
  const cause =
    failed === undefined ? { label: 'unknown', evidence: detail } : diagnose({ kind: 'check', check: failed })
  const { manager, folder } = install
  const payload = { manager, label: cause.label, cause: cause.evidence, detail, ...(folder === '' ? {} : { folder }) }
  await whileLeased(runContext, (tx, of) => appendEvent(tx, { type: 'run.install_failed', ...of, payload }))
}

const folderFor =
  ({ paths }: RunContext, install: Install) =>
  (number: number): string =>
    join(paths.root, 'packages', `${[install.manager, ...install.folder.split('/')].join('-')}-${number}`)

/** Those that bring what the interpreter on the PATH does not have either. */
const neededBeyondMachine = async (runContext: RunContext, installs: readonly Install[]): Promise<Install[]> => {
  const place = commandContext(runContext, runContext.paths.workspace)
  const left: Install[] = []
  for (const install of installs) {
    const request = { ...place, folder: folderFor(runContext, install) }
    if (requirementFilesOf(install).length === 0 || !(await interpreterHas(request, install))) left.push(install)
  }
  return left
}

const installOne = async (runContext: RunContext, install: Install): Promise<void> => {
  const { context, paths } = runContext
  const place = commandContext(runContext, paths.workspace)
  // Ends what an engine that was killed here left running.
  await context.ports.processes.sweep(place.marker)
  const begun = context.clock.elapsed()
  const commands = install.commands.map((argv) => argv.join(' '))
  const started = { manager: install.manager, commands, ...(install.folder === '' ? {} : { folder: install.folder }) }
  await whileLeased(runContext, (tx, of) => appendEvent(tx, { type: 'run.install_started', ...of, payload: started }))
  const before = await context.ports.git.packageFolders(paths.workspace)
  const folder = folderFor(runContext, install)
  const limits = { timeoutMs: mostMs, totalMs: mostMs }
  const done = await carryOutInstall({ ...place, ...limits, folder }, install)
  if (isReleased(runContext)) return
  if (!done.ok) return reportFailed(runContext, install, done)
  await keepForOthers(runContext, install.folder, before)
  await record(runContext, install)
  const payload = { ...started, seconds: Math.round((context.clock.elapsed() - begun) / 1000) }
  await whileLeased(runContext, (tx, of) => appendEvent(tx, { type: 'run.packages_installed', ...of, payload }))
}

/** The runs of an engine install one after the other, because the next one finds the packages of the one before it in the pool. */
const turns = new Map<string, Promise<void>>()

const inTurn = async (key: string, work: () => Promise<void>): Promise<void> => {
  const before = turns.get(key) ?? Promise.resolve()
  const mine = before.then(work, work)
  turns.set(key, mine)
  try {
    await mine
  } finally {
    if (turns.get(key) === mine) turns.delete(key)
  }
}

const installLacking = async (runContext: RunContext, needed: readonly Install[]): Promise<void> => {
  const { context, paths } = runContext
  if (isReleased(runContext)) return
  // Another run may have installed the same meanwhile.
  await context.ports.git.prepareDependencies({
    ...{ repository: context.repository, workspace: paths.workspace, cacheDir: cacheDirOf(runContext) },
    signal: context.stopping,
  })
  for (const install of lackingOf(runContext, needed)) {
    if (isReleased(runContext)) return
    await installOne(runContext, install)
  }
}

/** Installs what the checks need and the clone lacks. A failure is an event and keeps no agent from its work. */
export const installBeforeAgent = async (runContext: RunContext): Promise<void> => {
  const { context, paths } = runContext
  const { workspace, recovery } = context.config()
  // The owner's set-up command prepares the clone; with the lists of `recovery`, the owner says which command repairs a broken one.
  if (workspace.setup !== undefined || recovery?.enabled === true) return
  const needed = await neededInstalls(runContext)
  const lacking = await neededBeyondMachine(runContext, lackingOf(runContext, needed))
  if (lacking.length > 0) await inTurn(context.stateDir, () => installLacking(runContext, lacking))
  for (const install of needed.filter(fillsNodeModules)) {
    if (isReleased(runContext)) return
    // Of an earlier run, from the pool.
    if (await context.ports.git.hasOwnInstall(paths.workspace, install.folder)) await record(runContext, install)
  }
}
