/** The trees of runs whose work has landed. What an agent left there outside the commit stays as a snapshot on top of the commit. */
import { installedPatterns } from '../../recovery/install.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import { listRuns } from '../../store/run.ts'
import { takenOverFolders } from '../../store/take-over.ts'
import { readPrepared } from '../agent/prepared.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { prepareAhead } from '../checks/prepare-ahead.ts'
import { runPaths, treePool, type Context } from '../core/context.ts'

/** Takes a snapshot if the tree holds files that the commit of the run lacks, except ignored ones, packages and copies of the owner's. */
export const keepLeftOut = async (context: Context, run: Run): Promise<void> => {
  const { git, files } = context.ports
  const paths = runPaths(context, run.id)
  const { workspace: workTree } = paths
  const base = run.commit ?? run.baseCommit
  if (base === null || !files.existsSync(workTree)) return
  const { copied } = readPrepared({ context, paths })
  const exclude = [...installedPatterns(run.verdict?.installed ?? []), ...copiedPatterns(copied)]
  const { changes } = await git.captureAside(context.shadow, { base, workTree, exclude })
  if (changes.length === 0) return
  const at = (run.endedAt ?? run.startedAt).toISOString()
  const reason = 'what the agent left outside the commit'
  await git.snapshot(context.shadow, { runId: run.id, workTree, base, reason, at, exclude })
}

/** Removes the trees of a goal that has landed. False = the packages of a run are still being removed, so its tree is not touched yet. */
export const dropLandedTrees = async (
  context: Context,
  goal: Goal,
  isOver: (run: Run) => boolean,
): Promise<boolean> => {
  const { git, files } = context.ports
  const taken = await takenOverFolders(context.db)
  let complete = true
  let isReturned = false
  for (const run of await listRuns(context.db, { goalId: goal.id })) {
    const { workspace } = runPaths(context, run.id)
    if (!files.existsSync(workspace) || taken.includes(workspace)) continue
    if (run.state === 'running' || !isOver(run)) complete = false
    else {
      await keepLeftOut(context, run)
      await git.returnWorkspace(workspace, treePool(context))
      isReturned = true
    }
  }
  if (isReturned) void prepareAhead(context)
  return complete
}
