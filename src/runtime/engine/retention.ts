/**
 * Removes what retention no longer needs: installed packages when their run has ended; workspaces when the run's work
 * is merged, or after 14 days; snapshots after 14 days; results of checks after 14 days, or when they take too much
 * space; branches of goals that have ended; what runs noted about the owner's checkout (drop-run-notes.ts); the ref of a run on a git remote together with
 * its workspace; a published ref in the repository when its merge has ended. Artifacts of runs that are still needed are never removed.
 */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { installedPatterns } from '../../recovery/install.ts'
import { isStoreTrouble } from '../../store/db.ts'
import { getRun } from '../../store/run.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { takenOverFolders } from '../../store/take-over.ts'
import { getTask } from '../../store/task.ts'
import { endedBranches } from './clean-branches.ts'
import { keepLeftOut } from './landed-trees.ts'
import { unusedStorage } from './unused-storage.ts'
import { dropDecidedCopies, dropRunNotes } from './drop-run-notes.ts'
import { dropCachedChecks, cacheLimitReason } from '../checks/limit-check-cache.ts'
import { prepareAhead } from '../checks/prepare-ahead.ts'
import { checkCaches, runPaths, type Context } from '../core/context.ts'
import { dropUnusedRunRef, localRunRef, listUnusedRunRefs } from '../landing/run-refs.ts'
import { dropRunRef, listRunRefs, runRef } from '../core/remote-link.ts'

const retentionMs = 14 * 24 * 3600 * 1000
const cachesMaxBytes = 8 * 1024 ** 3

export interface RemovedArtifact {
  kind:
    | 'workspace'
    | 'packages'
    | 'snapshot'
    | 'ref'
    | 'checks'
    | 'remote ref'
    | 'branch'
    | 'package store'
    | 'tree'
    | 'caches'
  id: string
  reason: string
  /** Its size on disk. */
  bytes?: number
  /** Why it could not be removed and is still there. */
  problem?: string
}

/** What cannot be removed (a mount in it, files of another user) is reported, and must not keep the others from being removed. */
const attempt = async (
  context: Context,
  artifact: RemovedArtifact,
  remove: (() => Promise<unknown>) | undefined,
): Promise<RemovedArtifact> => {
  try {
    await remove?.()
    return artifact
  } catch (error) {
    if (isStoreTrouble(error)) throw error
    const problem = messageOf(error)
    context.log.warn({ ...artifact, problem }, 'what is no longer needed could not be removed')
    return { ...artifact, problem }
  }
}

const removedFile = (context: Context, runId: string): string => join(runPaths(context, runId).root, 'packages-removed')

/** Whether the packages of an ended run were removed, so that nothing works in its folders any more. */
export const arePackagesGone = (context: Context, runId: string): boolean =>
  context.ports.files.existsSync(removedFile(context, runId))

/**
 * Removes the packages of an ended run and returns their folders; with `dryRun` nothing is removed. A running run
 * needs its packages.
 */
const dropPackages = async (context: Context, runId: string, dryRun: boolean): Promise<string[]> => {
  const { files, git } = context.ports
  const { root, workspace } = runPaths(context, runId)
  const run = await getRun(context.db, runId)
  if (run === undefined || run.state === 'running' || !files.existsSync(workspace)) return []
  if ((await takenOverFolders(context.db)).includes(workspace)) return []
  const more = installedPatterns(run.verdict?.installed ?? []).map((pattern) => pattern.slice(1))
  const keepIn = join(root, 'packages-changed')
  const found = await git.removePackages(context.shadow, { workspace, base: run.baseCommit, more, keepIn, dryRun })
  if (!dryRun) files.writeFileSync(removedFile(context, runId), '', { mode: 0o600 })
  return found
}

export const runIds = (context: Context): string[] => {
  const folder = join(context.stateDir, 'runs')
  return context.ports.files.existsSync(folder) ? context.ports.files.readdirSync(folder) : []
}

/**
 * In the background: returns the ports of an ended run and removes its packages. A failure is logged, and the next
 * start tries again.
 */
const release = async (context: Context, runId: string): Promise<void> => {
  try {
    if (context.stopping.aborted || arePackagesGone(context, runId)) return
    if ((await getRun(context.db, runId))?.state !== 'running') {
      context.ports.processes.releasePorts(context.cacheDir, runId)
      // Left if an engine was killed while checks ran and the run then ended without them.
      const { checked } = runPaths(context, runId)
      if (context.ports.files.existsSync(checked)) await context.ports.git.removeWorkspace(checked)
      dropCachedChecks(context, { all: false, dryRun: false })
    }
    const freed = await dropPackages(context, runId, false)
    if (freed.length === 0) return
    context.log.info({ run: runId, freed }, 'the packages of an ended run were removed')
    void prepareAhead(context)
  } catch (error) {
    context.log.warn({ run: runId, error: messageOf(error) }, 'the packages of a run could not be removed')
  }
}

const dropNotes = async (context: Context): Promise<void> => {
  try {
    if (!context.stopping.aborted) await dropRunNotes(context, runIds(context))
  } catch (error) {
    context.log.warn({ error: messageOf(error) }, 'what runs noted about the checkout could not be removed')
  }
}

export const releaseRun = async (context: Context, runId: string): Promise<void> => {
  await release(context, runId)
  await dropNotes(context)
}

/**
 * Empties the package caches when they are too large and no run is running, because checks may be using them. The next
 * checks fill them again.
 */
const boundCaches = async (context: Context): Promise<void> => {
  const { git } = context.ports
  const caches = checkCaches(context)
  if ((await git.bytesOf(caches)) <= cachesMaxBytes) return
  for (const runId of runIds(context)) if ((await getRun(context.db, runId))?.state === 'running') return
  try {
    await git.removeWorkspace(caches)
  } catch (error) {
    context.log.warn({ caches, error: messageOf(error) }, 'the package caches could not be removed')
  }
}

/** Removes what an engine that was killed left behind, and what has grown since the last start. */
export const releaseEndedRuns = async (context: Context): Promise<void> => {
  for (const runId of runIds(context)) await release(context, runId)
  await dropNotes(context)
  await boundCaches(context)
  await prepareAhead(context)
}

const sizeOf = async (context: Context, folder: string, names: readonly string[]): Promise<{ bytes: number }> => {
  let bytes = 0
  for (const name of names) bytes += await context.ports.git.bytesOf(join(folder, name))
  return { bytes }
}

/**
 * Why a run's workspace may be removed; undefined = it stays. A person may be working in it, even if no run ever
 * started there.
 */
const workspaceReason = async (context: Context, runId: string): Promise<string | undefined> => {
  if ((await takenOverFolders(context.db)).includes(runPaths(context, runId).workspace)) return undefined
  const run = await getRun(context.db, runId)
  if (run === undefined) return 'the store has no such run'
  if (run.state === 'running') return undefined
  const task = await getTask(context.db, run.taskId)
  if (task?.status === 'done') return 'its work is merged'
  const ended = run.endedAt ?? run.startedAt
  return context.clock.now().getTime() - ended.getTime() > retentionMs ? 'it ended more than 14 days ago' : undefined
}

/** Why a run's ref on the remote may be removed. A ref of a run unknown to this store belongs to another store. */
const refReason = async (context: Context, runId: string): Promise<string | undefined> =>
  (await getRun(context.db, runId)) === undefined ? undefined : workspaceReason(context, runId)

/** Runs last, because the remote may be unreachable: local artifacts are removed by then. */
const cleanRemote = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> => {
  if (context.remote === undefined) return []
  const removed: RemovedArtifact[] = []
  for (const [runId, commit] of await listRunRefs(context.remote)) {
    const reason = await refReason(context, runId)
    if (reason === undefined || (!dryRun && !(await dropRunRef(context, runId, commit)))) continue
    removed.push({ kind: 'remote ref', id: runRef(runId), reason })
  }
  return removed
}

const dropTree = async (context: Context, runId: string): Promise<void> => {
  const run = await getRun(context.db, runId)
  if (run !== undefined) await keepLeftOut(context, run)
  await context.ports.git.removeWorkspace(runPaths(context, runId).workspace)
}

/** An ended run keeps its workspace for some time, but not its packages. */
const cleanRun = async (context: Context, runId: string, dryRun: boolean): Promise<RemovedArtifact | undefined> => {
  const { files } = context.ports
  const { workspace } = runPaths(context, runId)
  if (!files.existsSync(workspace)) return undefined
  const reason = await workspaceReason(context, runId)
  if (reason !== undefined) {
    const size = await sizeOf(context, workspace, [''])
    const artifact = { kind: 'workspace' as const, id: runId, reason, ...size }
    return attempt(context, artifact, dryRun ? undefined : () => dropTree(context, runId))
  }
  const found = await dropPackages(context, runId, true)
  if (found.length === 0) return undefined
  const size = await sizeOf(context, workspace, found)
  const artifact = { kind: 'packages' as const, id: runId, reason: 'its run has ended', ...size }
  return attempt(context, artifact, dryRun ? undefined : () => dropPackages(context, runId, false))
}

/** Results of checks are reused for work on the same files, so without a live goal none is needed. */
const cleanChecks = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> => {
  const all = (await listLiveGoals(context.db)).length === 0
  const { count, bytes } = dropCachedChecks(context, { all, dryRun })
  if (count === 0) return []
  return [
    {
      kind: 'checks',
      id: count === 1 ? '1 result' : `${count} results`,
      reason: all ? 'no goal is open' : cacheLimitReason,
      bytes,
    },
  ]
}

/** A remote that does not respond keeps its branches, and no engine asks it where a client only reads. */
const cleanBranches = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> =>
  (await endedBranches(context, dryRun)).flatMap(({ branch, end }) =>
    end.kind === 'removable' ? [{ kind: 'branch' as const, id: branch, reason: end.why }] : [],
  )

/** The trees and packages of runs, and results of checks, that nothing needs. */
export const removeUnneeded = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> => {
  const removed: RemovedArtifact[] = []
  for (const runId of runIds(context)) {
    const cleaned = await cleanRun(context, runId, dryRun)
    if (cleaned !== undefined) removed.push(cleaned)
  }
  return [...removed, ...(await cleanChecks(context, dryRun))]
}

/** Copies of packages and trees make the next start of an agent faster, so they stay while a goal is open. */
const cleanAhead = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> => {
  if ((await listLiveGoals(context.db)).length > 0) return []
  const removed: RemovedArtifact[] = []
  for (const { kind, id, folder, bytes } of await unusedStorage(context)) {
    if (kind === 'caches') continue
    const artifact = { kind, id, reason: 'no goal is open; the next one copies it again', bytes }
    removed.push(await attempt(context, artifact, dryRun ? undefined : () => context.ports.git.removeWorkspace(folder)))
  }
  return removed
}

/** Removes everything that retention no longer needs and lists it; with `dryRun` it only lists. */
export const removeExpired = async (context: Context, dryRun: boolean): Promise<RemovedArtifact[]> => {
  const { git } = context.ports
  if (!dryRun) {
    await dropRunNotes(context, runIds(context))
    await dropDecidedCopies(context, new Date(context.clock.now().getTime() - retentionMs))
  }
  const removed = [...(await removeUnneeded(context, dryRun)), ...(await cleanAhead(context, dryRun))]
  for (const snapshot of await git.listSnapshots(context.shadow)) {
    if (context.clock.now().getTime() - new Date(snapshot.at).getTime() <= retentionMs) continue
    const artifact = { kind: 'snapshot' as const, id: snapshot.id, reason: 'it is older than 14 days' }
    const drop = (): Promise<unknown> => git.dropSnapshot(context.shadow, snapshot.id)
    removed.push(await attempt(context, artifact, dryRun ? undefined : drop))
  }
  for (const runId of await listUnusedRunRefs(context)) {
    removed.push({ kind: 'ref', id: localRunRef(runId), reason: 'no merge needs it' })
    if (!dryRun) await dropUnusedRunRef(context, runId)
  }
  removed.push(...(await cleanBranches(context, dryRun)))
  return [...removed, ...(await cleanRemote(context, dryRun))]
}
