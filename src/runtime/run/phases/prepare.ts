/**
 * Phase `prepare`: makes sure that everything an agent needs is there: usable folders, its own clone, dependencies,
 * and the program.
 */
import { join } from 'node:path'
import { AppError } from '../../../errors.ts'
import { missingLogin } from '../../../harness/cli-login.ts'
import { ownersFiles } from '../../../recovery/install.ts'
import { allowedEnvironment } from '../../../process/environment.ts'
import type { Evidence, ObservedDirectory } from '../../../recovery/evidence.ts'
import { isExcluded, keptVerdict, type Run } from '../../../domain/run.ts'
import { appendEvent, toldSinceLaunch } from '../../../store/event.ts'
import { filesThatHelped, recoveriesOf } from '../../../store/recovery.ts'
import { pathsLeftOut, type PathLeftOut } from '../../../store/requeue.ts'
import { listRuns, requireLease } from '../../../store/run.ts'
import { recordPrepared, type Prepared } from '../../agent/prepared.ts'
import { copiedPatterns, makeFreshWorkspace, runSetup } from '../../checks/fresh-workspace.ts'
import { detectEarly } from '../../harness/detected-capabilities.ts'
import { prepareAhead } from '../../checks/prepare-ahead.ts'
import { recover } from '../carry-out.ts'
import { continueProposal } from '../continue-proposal.ts'
import { collectGivenBack } from '../collect-given-back.ts'
import { checkWithoutProgram } from '../check-without-program.ts'
import { collectReview } from '../collect-review.ts'
import { beginLoop } from '../loop/begin-loop.ts'
import type { PhaseResult, Phase } from '../phase.ts'
import { changeModes } from '../../agent/change-modes.ts'
import { carriedFor, effectiveMatcher, effectiveTexts } from '../../core/effective-paths.ts'
import { inspectDirectory } from '../../core/folder-access.ts'
import { unfinishedAs } from '../../core/held-work.ts'
import { missingProgram } from '../../harness/harness-choice.ts'
import type { Files } from '../../core/files.ts'
import { bringBase } from '../remote-run.ts'
import { installBeforeAgent } from '../install-before-agent.ts'
import { makeVirtualEnvironment } from '../install-needed.ts'
import { commandContext } from '../repair.ts'
import { fencedRecoveries, resolveOpenOf } from '../../core/store-record.ts'
import { isReleased, passedVariables, saveProgress, type RunContext } from '../../core/run-context.ts'
import { mergeConflictingWork } from '../../agent/conflict-workspace.ts'
import { reportConflict } from '../../agent/earlier-diff.ts'
import { appendReport, earlierReportFile, hasCommits } from '../../agent/progress-summary.ts'
import { attemptBefore, hasUnfinishedAttempt, resumeFromEarlier } from '../../agent/resume-from.ts'

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
    const found = inspectDirectory(files, path)
    if (found !== undefined) return found
  }
  const found = inspectDirectory(files, workspace)
  if (found?.problem !== 'missing') return found
  files.mkdirSync(workspace, { recursive: true, mode: 0o700 })
  return inspectDirectory(files, workspace)
}

const checkProgram = (runContext: RunContext): void => {
  const missing = missingProgram(
    runContext.context.ports.files,
    runContext,
    runContext.task.harness,
    runContext.context.environment.PATH,
  )
  if (missing !== undefined) throw new AppError('HARNESS_MISSING', missing)
}

/**
 * Without credentials an agent CLI retries for minutes before it fails. If the owner passes it a program, arguments or
 * variables, these may log it in, and only a launch can tell.
 */
const missingCredentials = ({ context, driver, harness }: RunContext): string | undefined => {
  const passed = passedVariables(context.config(), harness)
  if (harness.command !== undefined || harness.args.length > 0 || passed.length > 0) return undefined
  const environment = allowedEnvironment(context.environment, driver.environment)
  return missingLogin(driver, environment, (path) => context.ports.files.existsSync(path))
}

/** Runs the owner's set-up command in the workspace, and captures the files it leaves. */
const setUp = async (
  runContext: RunContext,
  base: string,
  copied: readonly string[],
): Promise<{ failed?: Evidence; tree: string | null }> => {
  const { context, paths, run } = runContext
  const { workspace } = context.config()
  if (workspace.setup === undefined) return { tree: null }
  const folder = join(paths.root, 'setup')
  // Ends what an engine that was killed here left running.
  await context.ports.processes.sweep(`${run.id}-check`)
  context.ports.files.rmSync(folder, { recursive: true, force: true })
  const request = {
    ...commandContext(runContext, paths.workspace),
    folder: (number: number) => join(folder, String(number)),
  }
  const failed = await runSetup(request, workspace)
  if (failed !== undefined) return { failed: failed.evidence, tree: null }
  const { tree } = await context.ports.git.captureTree(context.shadow, {
    ...{ base, workTree: paths.workspace, indexFile: paths.index },
    exclude: copiedPatterns(copied),
  })
  return { tree }
}

/** What checks of earlier runs were missing is there before this agent starts. */
const layKnownFiles = async (runContext: RunContext): Promise<void> => {
  const { context, paths, run } = runContext
  const known = await filesThatHelped(context.db)
  const there = known.filter((path) => context.ports.files.existsSync(join(context.repository.root, path)))
  if (there.length === 0) return
  await context.ports.git.layOwnersFiles({ repository: context.repository, workspace: paths.workspace, paths: there })
  const kept = keptVerdict(run.verdict)
  const others = (kept.installed ?? []).filter(({ files }) => files === undefined)
  await saveProgress(runContext, { verdict: { ...kept, installed: [...others, ownersFiles(there)] } })
}

/** Records an event if there is something to report. */
const emitPrepared = async ({ context, run, task }: RunContext, prepared: Prepared): Promise<void> => {
  const { laid, missing, copied, setupTree } = prepared
  if (laid.length + missing.length + copied.length === 0 && setupTree === null) return
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveOpenOf(tx, task.id, (condition) =>
      condition.type === 'workspace_ready' ? { satisfied: true, detail: 'the set-up passed' } : undefined,
    )
    await appendEvent(tx, {
      type: 'run.workspace_prepared',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { submodules: laid, missing, copied, setup: setupTree !== null },
    })
  })
}

const prepareClone = async (runContext: RunContext, base: string): Promise<PhaseResult | undefined> => {
  const { context, goal, paths, run } = runContext
  const { workspace: config } = context.config()
  // A crash may have left a clone of an older state of the goal branch.
  await context.ports.git.removeWorkspace(paths.workspace)
  const fresh = await makeFreshWorkspace(context.ports, {
    clone: { repository: context.repository, base, dir: paths.workspace, branch: `${goal.branchPrefix}run/${run.id}` },
    owners: context.repository,
    ...{ stateDir: context.stateDir, filters: context.shadow.filters, config, signal: context.stopping },
  })
  context.at('workspace-made')
  // In the background while the agent works: packages for its checks and for the next run.
  void prepareAhead(context)
  context.log.info({ run: run.id, ...fresh.dependencies }, 'dependencies of the workspace')
  if (fresh.copyProblem !== undefined)
    return recover(runContext, { kind: 'copy', text: `workspace.copy: ${fresh.copyProblem}` }, { source: 'engine' })
  await layKnownFiles(runContext)
  const { failed, tree } = await setUp(runContext, base, fresh.copied)
  if (failed === undefined) {
    await makeVirtualEnvironment(runContext)
    await installBeforeAgent(runContext)
  }
  if (isReleased(runContext)) return 'ended'
  if (failed !== undefined) return recover(runContext, failed, { source: 'engine' })
  const prepared = { ...fresh.submodules, copied: fresh.copied, setupTree: tree }
  recordPrepared(runContext, prepared)
  await emitPrepared(runContext, prepared)
  return undefined
}

/** A failed folder leads to another pass of this phase after a recovery, or to a question. */
const checkFolders = async (runContext: RunContext): Promise<PhaseResult | undefined> => {
  const { context, paths } = runContext
  const failed = await changeModes(fencedRecoveries(context, runContext.run), context.ports.files, runContext.run.id)
  if (failed !== undefined) return recover(runContext, { kind: 'directory', directory: failed }, { source: 'engine' })
  const found = prepareWorkerEnvironment(context.ports.files, {
    workspace: paths.root,
    target: context.repository.root,
    orchestrator: context.stateDir,
  })
  if (found === undefined) return undefined
  return recover(runContext, { kind: 'directory', directory: found }, { source: 'engine' })
}

/** The commit from which the work starts; for work in place, a commit of the folder's current state. */
const baseOf = async ({ context, goal, paths, run }: RunContext): Promise<string> => {
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

/** What a person left out of the work stays out of it, whatever the agent does, until a person allows it after all. */
const excludeLeftOut = async (runContext: RunContext): Promise<void> => {
  const { context, run, task } = runContext
  const paths = await pathsLeftOut(context.db, task.id)
  if (paths.length === 0) return
  const allows = await effectiveMatcher(runContext)
  const named = new Set(await effectiveTexts(runContext))
  const kept = keptVerdict(run.verdict)
  const known = kept.excluded ?? []
  const isAllowedAfterAll = ({ path, wasCovered }: PathLeftOut): boolean =>
    wasCovered ? named.has(path) : allows(path)
  const excluded = paths
    .filter((left) => !isAllowedAfterAll(left) && !isExcluded(left.path, known))
    .map(({ path }) => ({ path, because: 'a person left it out' }))
  if (excluded.length > 0) await saveProgress(runContext, { verdict: { ...kept, excluded: [...known, ...excluded] } })
}

/** Says which files the task may change in other places than it names. */
const tellCarried = async (runContext: RunContext): Promise<void> => {
  const { context, run } = runContext
  const carried = await carriedFor(runContext)
  if (carried.length === 0) return
  const of = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await appendEvent(tx, { type: 'task.paths_carried', ...of, payload: { carried } })
  })
}

/** The files of the attempt before, and for a conflict the finished work that is to be merged; with a report for the agent. */
const layEarlierWork = async (runContext: RunContext, base: string): Promise<void> => {
  const { context, goal, paths } = runContext
  if (goal.repoMode === 'direct') return resumeFromEarlier(runContext, base)
  const merged = await mergeConflictingWork(runContext, base)
  // On top of the merged work comes what an earlier attempt at the conflict has done.
  if (merged === undefined || (await hasUnfinishedAttempt(runContext))) await resumeFromEarlier(runContext, base)
  else context.ports.files.rmSync(earlierReportFile(paths), { force: true })
  if (merged === undefined) await reportConflict(runContext)
  else appendReport(runContext, merged)
}

/** Whether the attempt before waited for this machine, or ended with a question about a fault of it. */
const waitedForMachine = async ({ context, run }: RunContext, before: Run): Promise<boolean> => {
  const { machine } = before.errorMeta ?? {}
  // Another fault may be one of the work after all, such as a program that it has yet to install.
  if (machine !== undefined && machine.probe !== 'other') return true
  const last = (await recoveriesOf(context.db, run.taskId)).at(-1)
  return last?.status === 'acting' && last.action.type === 'wait' && last.action['forChecks'] === true
}

/**
 * The commit from which the work that is there is checked again, without a turn of an agent, because this machine was to blame for the
 * attempt before; undefined = the agent is called. In the owner's folder that work is part of `base`, so the base of the earlier
 * attempt counts, unless a file there was changed since: that is not the agent's work.
 */
const baseOfWorkToCheck = async (runContext: RunContext, base: string): Promise<string | undefined> => {
  const { context, goal, run } = runContext
  const before = attemptBefore(await listRuns(context.db, { taskId: run.taskId }), run.number)
  if (before === undefined || !(await waitedForMachine(runContext, before))) return undefined
  // This attempt would not know that the agent failed, and the work would land without a person: the agent is called again.
  if (unfinishedAs(before) !== undefined) return undefined
  if (goal.repoMode !== 'direct') return base
  const { git } = context.ports
  const snapshot = (await git.listSnapshots(context.shadow, before.id)).at(-1)
  if (before.baseCommit === null || snapshot === undefined || snapshot.leftOut.length > 0) return undefined
  if (!(await hasCommits(context, [before.baseCommit]))) return undefined
  const changed = await git.changesBetween(context.shadow, snapshot.commit, base)
  return changed.length === 0 ? before.baseCommit : undefined
}

/** Phase `prepare`. It can be repeated: no agent has run yet, so a half-made clone is made from scratch. */
export const prepare: Phase = async (runContext) => {
  const { context, goal, paths } = runContext
  // Before everything else: the configuration, which names the program, is in one of these folders.
  const stopped = await checkFolders(runContext)
  if (stopped !== undefined) return stopped
  const { takenOver, review } = runContext.task
  if (takenOver?.givenBack === true) return collectGivenBack(runContext, takenOver)
  if (review !== null) return collectReview(runContext, review)
  checkProgram(runContext)
  const text = missingCredentials(runContext)
  if (text !== undefined) {
    const failure = { source: 'exit', type: 'authentication_failed', text } as const
    return recover(
      runContext,
      { kind: 'launch', harness: runContext.driver.name, failure, denials: [] },
      { source: 'engine' },
    )
  }
  detectEarly(runContext)
  context.ports.files.mkdirSync(paths.agentDir, { recursive: true, mode: 0o700 })
  const base = await baseOf(runContext)
  if (goal.repoMode === 'remote') await bringBase(runContext, base)
  // A planner reads the base commit in a view of its own, and needs neither a workspace nor packages.
  if (runContext.task.plan !== null) {
    await saveProgress(runContext, { baseCommit: base, phase: 'launch' })
    return 'on'
  }
  const next = goal.repoMode === 'direct' ? undefined : await prepareClone(runContext, base)
  if (next !== undefined) return next
  if (goal.repoMode !== 'direct') await excludeLeftOut(runContext)
  const check = await checkWithoutProgram(runContext, base)
  if (check !== undefined) return recover(runContext, { kind: 'check', check }, { source: 'engine' })
  await layEarlierWork(runContext, base)
  await saveProgress(runContext, { baseCommit: base })
  await tellCarried(runContext)
  const checked = (await continueProposal(runContext)) ? base : await baseOfWorkToCheck(runContext, base)
  const isReady = checked !== undefined && !(await toldSinceLaunch(context.db, runContext.task.id))
  if (runContext.task.kind === 'loop') return beginLoop(runContext, base, isReady)
  await saveProgress(runContext, isReady ? { baseCommit: checked, phase: 'collect' } : { phase: 'launch' })
  return 'on'
}
