/**
 * A turn that left no change in its workspace may have left it beside: on another branch of the clone or on none, in a stash, in a worktree
 * inside of it. One such place is unambiguous, and its files are laid into the workspace; several are named to the agent and to people.
 */
import { keptVerdict } from '../../domain/run.ts'
import { requireLease } from '../../store/run.ts'
import { appendEvent } from '../../store/event.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { KeptCommits } from '../../workspace/snapshot.ts'
import { collectNow } from '../agent/collected.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'

const shown = 20

/** What the agent wrote and git shows no change of, and what appeared in the owner's checkout: an agent may have taken that for its folder. */
const noteUnseen = async (runContext: RunContext, base: string): Promise<void> => {
  const { context, paths, run } = runContext
  const startedAt = run.launches[0]?.startedAt
  if (startedAt == null) return
  const request = { workspace: paths.workspace, base, since: Date.parse(startedAt) }
  const { git } = context.ports
  runContext.ignoredFiles = await git.ignoredSince(context.shadow, request)
  runContext.emptyFolders = await git.emptyFoldersSince(context.shadow, request)
  const appeared = await git.untrackedSince(context.repository, request.since)
  runContext.strayFiles = [...new Set([...(runContext.strayFiles ?? []), ...appeared])]
}

/** Returns the work with what was found; undefined = nothing unambiguous was found. */
export const bringStrayWork = async (
  runContext: RunContext,
  base: string,
  kept: KeptCommits['kept'],
): Promise<ChangeList | undefined> => {
  const { context, goal, paths, run } = runContext
  if (goal.repoMode === 'direct') return undefined
  const { git } = context.ports
  const all = await git.findStrayWork(context.shadow, { workspace: paths.workspace, base, kept })
  // What was brought in and taken back by a later turn of the run stays where it is.
  const found = all.filter(({ files }) => runContext.broughtIn?.includes(files) !== true)
  const [only] = found
  runContext.strayWork = found.map(({ where }) => where)
  if (only === undefined) await noteUnseen(runContext, base)
  if (only === undefined || found.length > 1) return undefined
  const changed = (await git.changesBetween(context.shadow, base, only.files)).map(({ path }) => path)
  const verdict = keptVerdict(run.verdict)
  // Its work will be here; the worktree itself is no part of it.
  const inside = only.inside.map((path) => ({ path, because: 'its work was brought in' }))
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    if (inside.length > 0)
      await saveProgress(
        runContext,
        { verdict: { ...verdict, excluded: [...(verdict.excluded ?? []), ...inside] } },
        tx,
      )
    await appendEvent(tx, {
      type: 'run.work_brought_in',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { from: only.where, paths: changed.slice(0, shown), more: Math.max(0, changed.length - shown) },
    })
  })
  await git.layOver(context.shadow, { snapshot: only.files, from: base, onto: base, into: paths.workspace })
  runContext.broughtIn = [...(runContext.broughtIn ?? []), only.files]
  return collectNow(runContext)
}
