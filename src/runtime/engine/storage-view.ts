/** What stays in the state folder and in the repository, and why: for `unstuck clean`. Reads only. */
import { join } from 'node:path'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { takenOverFolders } from '../../store/take-over.ts'
import { checkCaches, runPaths, treePool, type Context } from '../core/context.ts'
import { endedBranches } from './clean-branches.ts'
import { runIds } from './retention.ts'
import { packageStore } from './unused-storage.ts'

export interface StoredPart {
  kind: string
  count: number
  bytes: number
  reason: string
}

const treeReason = async (context: Context, runId: string): Promise<string> => {
  const run = await getRun(context.db, runId)
  if (run === undefined) return 'the store has no such run'
  if (run.state === 'running') return 'a run works in it'
  if ((await takenOverFolders(context.db)).includes(runPaths(context, runId).workspace)) return 'you took it over'
  const task = await getTask(context.db, run.taskId)
  if (task?.status === 'done') return 'its work is merged: unstuck clean'
  if (task?.status === 'cancelled') return 'its task was cancelled; it goes 14 days after its end'
  return 'its task has not ended and may continue there'
}

/** Trees of runs by the reason why they stay, and beside them what each run printed. */
const ofRuns = async (context: Context): Promise<StoredPart[]> => {
  const { files, git } = context.ports
  const trees = new Map<string, StoredPart>()
  for (const runId of runIds(context)) {
    const { workspace } = runPaths(context, runId)
    if (!files.existsSync(workspace)) continue
    const reason = await treeReason(context, runId)
    const part = trees.get(reason) ?? { kind: 'workspace', count: 0, bytes: 0, reason }
    trees.set(reason, { ...part, count: part.count + 1, bytes: part.bytes + (await git.bytesOf(workspace)) })
  }
  const inTrees = [...trees.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  const bytes = (await git.bytesOf(join(context.stateDir, 'runs'))) - inTrees
  const logs = { kind: 'logs', count: runIds(context).length, bytes, reason: 'unstuck logs and explain read them' }
  return [...trees.values(), logs]
}

const folders = (context: Context): Record<string, [folder: string, reason: string]> => ({
  'package store': [packageStore(context), 'the next run starts with them; those that no run used for 14 days go'],
  trees: [treePool(context), 'the next run starts with them; those that no run used for 14 days go'],
  caches: [checkCaches(context), 'checks download less with them'],
  snapshots: [context.shadow.gitDir, 'commits and snapshots of runs: unstuck restore'],
})

const ofBranches = async (context: Context): Promise<StoredPart[]> => {
  // A command without an engine asks no remote.
  if (context.repository.url !== undefined && context.remote === undefined) return []
  return (await endedBranches(context, true)).flatMap(({ branch, end }) =>
    end.kind === 'kept' ? [{ kind: `branch ${branch}`, count: 1, bytes: 0, reason: end.why }] : [],
  )
}

export const storageView = async (context: Context): Promise<StoredPart[]> => {
  const { git, files } = context.ports
  const parts = await ofRuns(context)
  for (const [kind, [folder, reason]] of Object.entries(folders(context)))
    if (files.existsSync(folder)) parts.push({ kind, count: 1, bytes: await git.bytesOf(folder), reason })
  const known = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  const rest = (await git.bytesOf(context.stateDir)) - known
  parts.push({
    kind: 'other files',
    count: 1,
    bytes: Math.max(0, rest),
    reason: 'settings and records of this repository',
  })
  return [...parts.filter(({ bytes, count }) => bytes > 0 && count > 0), ...(await ofBranches(context))]
}
