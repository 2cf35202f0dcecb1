/**
 * Merging on a repository given by URL. The goal branch on the remote moves by compare-and-swap only, after the store
 * confirmed that this engine still leads. Before any push we look on the remote for the commit we would publish, so a
 * crash never merges an entry twice. Commits that others put on top of the branch are kept as the new base; a branch
 * moved in any other way is restored, and what it held is kept under refs/unstuck/kept.
 */
import type { Goal } from '../../domain/goal.ts'
import { AppError } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { ownsMergeEntry } from '../../store/merge-fence.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listRuns } from '../../store/run.ts'
import type { PushOutcome } from '../../workspace/transport.ts'
import { goalRef, type Context } from '../core/context.ts'
import { dropRunRef, remoteLinkOf, runRef } from '../core/remote-link.ts'
import { lineOfTask } from './auto-fix.ts'
import type { MergeAttempt } from './merge-attempt.ts'

type Entry = Pick<MergeAttempt, 'context' | 'goal' | 'run' | 'entry'>

/**
 * The commit of the goal branch on the remote (null: the branch is missing there). Fetches the commits of the branch
 * and of the run.
 */
export const fetchGoalBranch = async ({ context, goal, run }: Omit<Entry, 'entry'>): Promise<string | null> => {
  const ref = goalRef(goal)
  const commit = run.commit ?? ''
  const here = await context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })
  const seen = await remoteLinkOf(context).fetchRefs(here ? [ref] : [ref, runRef(run.id)])
  if (!here && seen[runRef(run.id)] !== commit)
    throw new AppError(
      'REPOSITORY_STATE',
      `commit ${commit} of run ${run.id} is neither in the local mirror nor at ${runRef(run.id)} on ${remoteLinkOf(context).url}`,
    )
  return seen[ref] ?? null
}

/** Upper limit of commits by others on top of the head that the store knows. */
const longestTail = 200

/**
 * The commit under which this entry is on the branch already. Anybody can write a trailer, so a trailer only names a
 * candidate. The proof is the hash: integrating the run's commit onto the candidate's parent must give exactly this
 * commit again.
 */
export const findMergedCommit = async (
  { context, run, entry }: Entry,
  range: { head: string; tip: string },
): Promise<string | undefined> => {
  const { git } = context.ports
  const tail = await git.commitsBetween(context.repository, range, longestTail)
  for (const { commit, parent, trailers } of tail) {
    if (trailers['Unstuck-Run'] !== run.id || parent === null) continue
    const again = await git.integrate(context.shadow, { commit: entry.commit, onto: parent })
    if (again.ok && again.commit === commit) return commit
  }
  return undefined
}

const restoreOnRemote = async (
  context: Context,
  goal: Goal,
  where: { head: string; tip: string | null },
): Promise<void> => {
  const ref = goalRef(goal)
  const { head, tip } = where
  const kept = `refs/unstuck/kept/${goal.id}/${tip?.slice(0, 12) ?? ''}`
  const keep = tip === null ? [] : [{ ref: kept, to: tip, expected: null }]
  await confirmLeadership(context.db)
  const pushed = await remoteLinkOf(context).push([...keep, { ref, to: head, expected: tip }])
  if (pushed.kind !== 'done') throw new AppError('REMOTE_REFUSED', `${ref} could not be restored: ${pushed.detail}`)
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    payload: { ref, found: tip, restored: head, ...(tip === null ? {} : { kept }) },
  })
}

/** The commit to merge onto: the head that the store knows, or a tip of the remote that contains it. */
export const remoteMergeBase = async (
  context: Context,
  goal: Goal,
  where: { head: string; tip: string | null },
): Promise<string> => {
  const { head, tip } = where
  if (tip === head) return head
  const { git } = context.ports
  if (tip !== null && (await git.isBelow(context.repository, head, tip))) {
    await appendEvent(context.db, {
      type: 'remote.moved',
      goalId: goal.id,
      payload: { ref: goalRef(goal), head, tip },
    })
    return tip
  }
  await restoreOnRemote(context, goal, where)
  return head
}

/**
 * Pushes the merged commit, fenced by the version of the merge entry: an engine that lost the entry must not publish
 * it.
 */
export const pushMerge = async (
  { context, goal, run, entry }: Entry,
  move: { from: string; to: string },
): Promise<PushOutcome> => {
  await context.ports.git.bringObjects(context.repository, context.shadow, move)
  await confirmLeadership(context.db)
  if (!(await ownsMergeEntry(context.db, entry))) throw new StaleError(`merge entry ${entry.number}`)
  context.at('merge-push')
  const ref = goalRef(goal)
  const pushed = await remoteLinkOf(context).push([{ ref, to: move.to, expected: move.from }])
  context.at('merge-published')
  const about = { goalId: goal.id, taskId: entry.taskId, runId: run.id }
  if (pushed.kind === 'done')
    await appendEvent(context.db, { type: 'remote.pushed', ...about, payload: { ref, commit: move.to } })
  if (pushed.kind === 'refused')
    await appendEvent(context.db, {
      type: 'remote.refused',
      ...about,
      payload: { ref, commit: move.to, detail: pushed.detail, attempt: entry.attempts },
    })
  return pushed
}

/** The commit of the run, earlier ones of its task that did not fit, and those of the tasks that it continues: they are no longer merged. */
export const dropMergedRunRefs = async ({ context, task }: Pick<MergeAttempt, 'context' | 'task'>): Promise<void> => {
  for (const { id } of await lineOfTask(context.db, task))
    for (const { id: runId, commit } of await listRuns(context.db, { taskId: id, state: 'success' }))
      if (commit !== null) await dropRunRef(context, runId, commit)
}
