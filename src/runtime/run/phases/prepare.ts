/**
 * Phase `prepare`: makes sure that everything an agent needs is there: usable folders, its own clone, dependencies,
 * and the program.
 */
import { join } from 'node:path'
import { AppError } from '../../../errors.ts'
import { missingLogin } from '../../../harness/logins.ts'
import { allowedEnvironment } from '../../../process/environment.ts'
import type { Evidence, ObservedDirectory } from '../../../recovery/evidence.ts'
import { appendEvent } from '../../../store/event.ts'
import { holdLease } from '../../../store/run.ts'
import { notePrepared, type Prepared } from '../../agent/prepared.ts'
import { copiedPatterns, makeFresh, runSetup } from '../../checks/fresh-workspace.ts'
import { askEarly } from '../../harness/abilities.ts'
import { tendPackages } from '../../checks/tend-packages.ts'
import { recover } from '../carry-out.ts'
import { collectGiven } from '../collect-given.ts'
import type { Next, Phase } from '../phase.ts'
import { changeModes } from '../../agent/change-modes.ts'
import { lookAtDirectory } from '../../core/folder-access.ts'
import { missingProgram } from '../../harness/harness-choice.ts'
import type { Files } from '../../core/files.ts'
import { bringBase } from '../remote-run.ts'
import { makeEnvironment } from '../needed-installs.ts'
import { placeOfChecks } from '../repair.ts'
import { fencedRecoveries, settleOpen } from '../../core/store-record.ts'
import { letGo, passedNames, save, type Session } from '../../core/session.ts'
import { tellConflict } from '../../agent/earlier-diff.ts'
import { takeOver } from '../../agent/take-over.ts'

export interface NeededDirectories {
  workspace: string
  target: string
  orchestrator: string
}

/**
 * Creates the workspace if it is missing; target and orchestrator must exist, and all three must be usable. Returns
 * the first folder that is not. The workspace lies inside the orchestrator and is checked last, because creating it
 * must not create its parent.
 */
export const prepareWorkerEnvironment = (
  files: Files,
  { workspace, target, orchestrator }: NeededDirectories,
): ObservedDirectory | undefined => {
  for (const path of [target, orchestrator]) {
    const found = lookAtDirectory(files, path)
    if (found !== undefined) return found
  }
  const found = lookAtDirectory(files, workspace)
  if (found?.problem !== 'missing') return found
  files.mkdirSync(workspace, { recursive: true, mode: 0o700 })
  return lookAtDirectory(files, workspace)
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

/**
 * Without credentials an agent CLI retries for minutes before it fails. If the owner passes it a program, arguments or
 * variables, these may log it in, and only a launch can tell.
 */
const missingCredentials = ({ context, driver, harness }: Session): string | undefined => {
  const passed = passedNames(context.config(), harness)
  if (harness.command !== undefined || harness.args.length > 0 || passed.length > 0) return undefined
  const environment = allowedEnvironment(context.environment, driver.environment)
  return missingLogin(driver, environment, (path) => context.ports.files.existsSync(path))
}

/** Runs the owner's set-up command in the workspace, and captures the files it leaves. */
const setUp = async (session: Session, base: string): Promise<{ failed?: Evidence; tree: string | null }> => {
  const { context, paths, run } = session
  const { workspace } = context.config()
  if (workspace.setup === undefined) return { tree: null }
  const folder = join(paths.root, 'setup')
  // Ends what an engine that was killed here left running.
  await context.ports.processes.sweep(`${run.id}-check`)
  context.ports.files.rmSync(folder, { recursive: true, force: true })
  const request = {
    ...placeOfChecks(session, paths.workspace),
    folder: (number: number) => join(folder, String(number)),
  }
  const failed = await runSetup(request, workspace)
  if (failed !== undefined) return { failed: failed.evidence, tree: null }
  const { tree } = await context.ports.git.captureTree(context.shadow, {
    ...{ base, workTree: paths.workspace, indexFile: paths.index },
    exclude: copiedPatterns(workspace.copy),
  })
  return { tree }
}

/** Records an event if there is something to report. */
const recordPrepared = async ({ context, run, task }: Session, prepared: Prepared): Promise<void> => {
  const { laid, missing, copied, setupTree } = prepared
  if (laid.length + missing.length + copied.length === 0 && setupTree === null) return
  await context.db.transaction(async (tx) => {
    await holdLease(tx, run)
    await settleOpen(tx, task.id, (condition) =>
      condition.type === 'workspace_ready' ? { holds: true, detail: 'the set-up passed' } : undefined,
    )
    await appendEvent(tx, {
      type: 'run.workspace_prepared',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { submodules: laid, missing, copied, setup: setupTree !== null },
    })
  })
}

const prepareClone = async (session: Session, base: string): Promise<Next | undefined> => {
  const { context, paths, run } = session
  const { workspace: config } = context.config()
  // A crash may have left a clone of an older state of the goal branch.
  await context.ports.git.removeWorkspace(paths.workspace)
  const fresh = await makeFresh(context.ports, {
    clone: { repository: context.repository, base, dir: paths.workspace, branch: `unstuck/run/${run.id}` },
    owners: context.repository,
    ...{ stateDir: context.stateDir, config, signal: context.stopping },
  })
  context.at('workspace-made')
  // In the background while the agent works: packages for its checks and for the next run.
  void tendPackages(context)
  context.log.info({ run: run.id, ...fresh.dependencies }, 'dependencies of the workspace')
  if (fresh.copyProblem !== undefined)
    return recover(session, { kind: 'copy', text: `workspace.copy: ${fresh.copyProblem}` }, { source: 'engine' })
  const { failed, tree } = await setUp(session, base)
  if (failed === undefined) await makeEnvironment(session)
  if (letGo(session)) return 'ended'
  if (failed !== undefined) return recover(session, failed, { source: 'engine' })
  const prepared = { ...fresh.submodules, copied: config.copy, setupTree: tree }
  notePrepared(session, prepared)
  await recordPrepared(session, prepared)
  return undefined
}

/** A failed folder leads to another pass of this phase after a recovery, or to a question. */
const checkFolders = async (session: Session): Promise<Next | undefined> => {
  const { context, paths } = session
  const failed = await changeModes(fencedRecoveries(context, session.run), context.ports.files, session.run.id)
  if (failed !== undefined) return recover(session, { kind: 'directory', directory: failed }, { source: 'engine' })
  const found = prepareWorkerEnvironment(context.ports.files, {
    workspace: paths.root,
    target: context.repository.root,
    orchestrator: context.stateDir,
  })
  if (found === undefined) return undefined
  return recover(session, { kind: 'directory', directory: found }, { source: 'engine' })
}

/** The commit from which the work starts; for work in place, a commit of the folder's current state. */
const baseOf = async ({ context, goal, paths, run }: Session): Promise<string> => {
  if (goal.repoMode === 'direct')
    return (
      run.baseCommit ??
      context.ports.git.captureBase(context.shadow, {
        workTree: context.repository.root,
        indexFile: paths.index,
        name: run.id,
        at: run.startedAt.toISOString(),
      })
    )
  const base = goal.headCommit ?? goal.baseCommit
  if (base === null) throw new AppError('REPOSITORY_STATE', `goal ${goal.id} has no base commit`)
  return base
}

/** Phase `prepare`. It can be repeated: no agent has run yet, so a half-made clone is made from scratch. */
export const prepare: Phase = async (session) => {
  const { context, goal, paths } = session
  // Before everything else: the configuration, which names the program, is in one of these folders.
  const stopped = await checkFolders(session)
  if (stopped !== undefined) return stopped
  const { takenOver } = session.task
  if (takenOver?.givenBack === true) return collectGiven(session, takenOver)
  checkProgram(session)
  const text = missingCredentials(session)
  if (text !== undefined) {
    const failure = { source: 'exit', type: 'authentication_failed', text } as const
    return recover(
      session,
      { kind: 'launch', harness: session.driver.name, failure, denials: [] },
      { source: 'engine' },
    )
  }
  askEarly(session)
  context.ports.files.mkdirSync(paths.agentDir, { recursive: true, mode: 0o700 })
  const base = await baseOf(session)
  if (goal.repoMode === 'remote') await bringBase(session, base)
  const next = goal.repoMode === 'direct' ? undefined : await prepareClone(session, base)
  if (next !== undefined) return next
  await takeOver(session, base)
  if (goal.repoMode !== 'direct') await tellConflict(session)
  await save(session, { phase: 'launch', baseCommit: base })
  return 'on'
}
