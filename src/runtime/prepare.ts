/** Rung 0: what must be there before an agent starts: folders that can be used, a clone of its own, dependencies, a program. */
import { constants } from 'node:fs'
import { AppError, messageOf } from '../errors.ts'
import { missingProgram } from './harness-choice.ts'
import type { Files } from './files.ts'
import { bringBase } from './remote-run.ts'
import { save, type Session } from './session.ts'
import { takeOver } from './take-over.ts'

const usable = (files: Files, path: string): boolean => {
  try {
    files.accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false // the caller repairs it or says so
  }
}

const ownerBits = 0o700

/** Adds the owner's missing bits to a folder that we own and cannot use; gives the old mode, or undefined when nothing was needed. */
const repairMode = (files: Files, path: string): number | undefined => {
  if (usable(files, path)) return undefined
  const before = files.statSync(path)
  try {
    files.chmodSync(path, before.mode | ownerBits)
  } catch (error) {
    throw new AppError(
      'PERMISSION',
      `Cannot fix permissions for ${path}: ${messageOf(error)}; make it readable and writable for this user`,
    )
  }
  if (!usable(files, path))
    throw new AppError(
      'PERMISSION',
      `Cannot fix permissions for ${path}; it is still not readable and writable for this user`,
    )
  return before.mode
}

export interface Repaired {
  path: string
  oldMode: string
}

/**
 * `prepare_worker_environment` of the founding document: the workspace is made when missing, target and orchestrator must
 * exist; a folder without access gets the owner's missing bits or a clear error. Returns what was changed.
 */
export const prepareWorkerEnvironment = (
  files: Files,
  workspace: string,
  target: string,
  orchestrator: string,
): Repaired[] => {
  const repaired: Repaired[] = []
  for (const path of [workspace, target, orchestrator]) {
    if (!files.existsSync(path)) {
      if (path !== workspace) throw new AppError('DIRECTORY_MISSING', `Critical directory missing: ${path}`)
      files.mkdirSync(path, { recursive: true, mode: 0o700 })
    }
    if (!files.statSync(path).isDirectory())
      throw new AppError('DIRECTORY_MISSING', `${path} is a file; a directory is needed there`)
    const oldMode = repairMode(files, path)
    if (oldMode !== undefined) repaired.push({ path, oldMode: (oldMode & 0o7777).toString(8) })
  }
  return repaired
}

const checkProgram = (session: Session): void => {
  const missing = missingProgram(
    session.context.ports.files,
    session,
    session.task.harness,
    session.context.environment.PATH,
  )
  if (missing !== undefined) throw new AppError('HARNESS_MISSING', missing)
}

const prepareClone = async (session: Session, base: string): Promise<void> => {
  const { context, paths, run } = session
  const { git } = context.ports
  // Made before a crash, on a goal branch that another task has moved on since.
  await git.removeWorkspace(paths.workspace)
  await git.createWorkspace({
    repository: context.repository,
    base,
    dir: paths.workspace,
    branch: `unstuck/run/${run.id}`,
  })
  context.at('workspace-made')
  const copied = await git.prepareDependencies({
    repository: context.repository,
    workspace: paths.workspace,
    cacheDir: `${context.stateDir}/dependencies`,
    signal: context.stopping,
  })
  context.log.info({ run: run.id, ...copied }, 'dependencies of the workspace')
}

/** Phase `prepare`. Replay-safe: no agent has run yet, so a half-made clone is made anew. */
export const prepareRun = async (session: Session): Promise<void> => {
  const { context, goal, paths, run } = session
  const { files, git } = context.ports
  checkProgram(session)
  files.mkdirSync(paths.root, { recursive: true, mode: 0o700 })
  const direct = goal.repoMode === 'direct'
  const repaired = prepareWorkerEnvironment(files, paths.agentDir, context.repository.root, context.stateDir)
  if (repaired.length > 0) context.log.warn({ run: run.id, repaired }, 'missing owner permissions were added')
  const base = direct
    ? (run.baseCommit ??
      (await git.captureBase(context.shadow, {
        workTree: context.repository.root,
        indexFile: paths.index,
        name: run.id,
        at: run.startedAt.toISOString(),
      })))
    : (goal.headCommit ?? goal.baseCommit)
  if (base === null) throw new AppError('REPOSITORY_STATE', `goal ${goal.id} has no base commit`)
  if (goal.repoMode === 'remote') await bringBase(session, base)
  if (!direct) {
    await prepareClone(session, base)
    await takeOver(session, base)
  }
  await save(session, { phase: 'launch', baseCommit: base })
}
