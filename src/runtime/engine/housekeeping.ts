/**
 * `clean`: removes what retention no longer needs. Workspaces go when their run's work is merged or after 14 days,
 * snapshots after 14 days, a run's ref on a git remote like its workspace, one in the repository when its merge has ended; what a run that is still of use left is never touched.
 */
import { join } from 'node:path'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { runPaths, type Context } from '../core/context.ts'
import { dropUnused, handOverRef, listUnused } from '../landing/hand-overs.ts'
import { dropRunRef, listRunRefs, runRef } from '../core/remote-link.ts'

const retentionMs = 14 * 24 * 3600 * 1000

export interface Cleaned {
  kind: 'workspace' | 'snapshot' | 'ref' | 'remote ref'
  id: string
  reason: string
}

/** Why a run's workspace may go; undefined keeps it. */
const workspaceReason = async (context: Context, runId: string): Promise<string | undefined> => {
  const run = await getRun(context.db, runId)
  if (run === undefined) return 'the store knows no such run'
  if (run.state === 'running') return undefined
  const task = await getTask(context.db, run.taskId)
  if (task?.place === 'done') return 'its task is merged'
  const ended = run.endedAt ?? run.startedAt
  return context.clock.now().getTime() - ended.getTime() > retentionMs ? 'it ended more than 14 days ago' : undefined
}

/** Why a run's ref on the remote may go. One that this store does not know is another's. */
const refReason = async (context: Context, runId: string): Promise<string | undefined> =>
  (await getRun(context.db, runId)) === undefined ? undefined : workspaceReason(context, runId)

/** Last, because it needs the remote: what is ours here is gone by then. */
const cleanRemote = async (context: Context, dryRun: boolean): Promise<Cleaned[]> => {
  if (context.remote === undefined) return []
  const removed: Cleaned[] = []
  for (const [runId, commit] of await listRunRefs(context.remote)) {
    const reason = await refReason(context, runId)
    if (reason === undefined || (!dryRun && !(await dropRunRef(context, runId, commit)))) continue
    removed.push({ kind: 'remote ref', id: runRef(runId), reason })
  }
  return removed
}

export const clean = async (context: Context, dryRun: boolean): Promise<Cleaned[]> => {
  const { files, git } = context.ports
  const removed: Cleaned[] = []
  const folder = join(context.stateDir, 'runs')
  for (const runId of files.existsSync(folder) ? files.readdirSync(folder) : []) {
    const { workspace } = runPaths(context, runId)
    const reason = files.existsSync(workspace) ? await workspaceReason(context, runId) : undefined
    if (reason === undefined) continue
    removed.push({ kind: 'workspace', id: runId, reason })
    if (!dryRun) await git.removeWorkspace(workspace)
  }
  for (const snapshot of await git.listSnapshots(context.shadow)) {
    if (context.clock.now().getTime() - new Date(snapshot.at).getTime() <= retentionMs) continue
    removed.push({ kind: 'snapshot', id: snapshot.id, reason: 'it is older than 14 days' })
    if (!dryRun) await git.dropSnapshot(context.shadow, snapshot.id)
  }
  for (const runId of await listUnused(context)) {
    removed.push({ kind: 'ref', id: handOverRef(runId), reason: 'no merge will read it any more' })
    if (!dryRun) await dropUnused(context, runId)
  }
  return [...removed, ...(await cleanRemote(context, dryRun))]
}
