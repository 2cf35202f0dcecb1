/**
 * A turn that left no change in its workspace may have left it beside: on another branch of the clone, in a stash, in a worktree
 * inside of it. One such place is unambiguous, and its files are laid into the workspace; several are named to the agent and to people.
 */
import { keptVerdict } from '../../domain/run.ts'
import { requireLease } from '../../store/run.ts'
import { appendEvent } from '../../store/event.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { KeptCommits } from '../../workspace/snapshot.ts'
import { collectNow } from '../agent/collected.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'

/** Returns the work with what was found; undefined = nothing unambiguous was found. */
export const bringStrayWork = async (
  runContext: RunContext,
  base: string,
  kept: KeptCommits['kept'],
): Promise<ChangeList | undefined> => {
  const { context, goal, paths, run } = runContext
  if (goal.repoMode === 'direct') return undefined
  const { git } = context.ports
  const found = await git.findStrayWork(context.shadow, { workspace: paths.workspace, base, kept })
  const [only] = found
  runContext.strayWork = found.map(({ where }) => where)
  if (only === undefined || found.length > 1) return undefined
  const { written } = await git.layOver(context.shadow, {
    ...{ snapshot: only.files, from: base, onto: base, into: paths.workspace },
  })
  if (written.length === 0) return undefined
  // Its work is here now; the worktree itself is no part of it.
  const verdict = keptVerdict(run.verdict)
  const excluded = [
    ...(verdict.excluded ?? []),
    ...only.inside.map((path) => ({ path, because: 'its work was brought in' })),
  ]
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    if (only.inside.length > 0) await saveProgress(runContext, { verdict: { ...verdict, excluded } }, tx)
    await appendEvent(tx, {
      type: 'run.work_brought_in',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: {
        from: only.where,
        paths: written.slice(0, 20).map(({ path }) => path),
        more: Math.max(0, written.length - 20),
      },
    })
  })
  return collectNow(runContext)
}
