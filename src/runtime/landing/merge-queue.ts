/**
 * The merge queue: one processor per goal merges approved commits into the goal branch, in order. A commit that does
 * not apply on top is rebased and verified again. After a crash we first look for the commit we would publish, so no
 * entry is merged twice; the branch moves by compare-and-swap.
 */
import { mayStartWork, type Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { mustSucceed } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { getGoal, progressGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges, moveMerge } from '../../store/merge.ts'
import { recoveriesOf, waitEnd, type Recovery } from '../../store/recovery.ts'
import { getRun } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import { isOutage, isRefusal, remoteLinkOf, refusalLimit } from '../core/remote-link.ts'
import { escalateUnmergeable, handleFailedChecks, handleMergeConflict } from './unmergeable-entry.ts'
import { isEntryRetryDue, recordEntryFailure } from './entry-retries.ts'
import { dropUnusedRunRef, publishesRunRefs } from './run-refs.ts'
import { goalHead, type MergeAttempt } from './merge-attempt.ts'
import { restoreGoalBranch } from './ref-guard.ts'
import { dropMergedRunRefs, remoteMergeBase, findMergedCommit, pushMerge, fetchGoalBranch } from './remote-merge.ts'
import { verifyRebased } from './reverify.ts'

/** If something else moves the goal branch during each of this many tries, a person is asked. */
const outrunLimit = 5

const record = async (landing: MergeAttempt, landedCommit: string): Promise<void> => {
  const { context, goal, entry, run } = landing
  await context.db.transaction(async (tx) => {
    mustSucceed(await moveMerge(tx, entry, 'merged', { landedCommit }))
    await progressGoal(tx, goal.id, { headCommit: landedCommit })
    await resolveOpenOf(tx, entry.taskId, (condition, past) =>
      condition.type === 'work_merges' && past.runId !== run.id
        ? { satisfied: true, detail: `merged as ${landedCommit.slice(0, 12)}` }
        : undefined,
    )
    const task = await getTask(tx, entry.taskId)
    if (task !== undefined && task.status === 'blocked(awaiting_judge)') {
      mustSucceed(
        await moveTask(tx, task, 'merged', {
          runId: run.id,
          payload: { commit: landedCommit, branch: goalBranch(goal) },
        }),
      )
    }
  })
  context.at('merge-recorded')
  if (publishesRunRefs(context, goal)) await dropUnusedRunRef(context, run.id)
}

/** The waits of an entry so far. The run itself succeeded, so any wait with its id belongs to the merge. */
const waitsOf = async (context: Context, { taskId, runId }: MergeEntry): Promise<Recovery[]> =>
  (await recoveriesOf(context.db, taskId)).filter((past) => past.runId === runId && past.action.type === 'wait')

const isOver = async (context: Context, wait: Recovery): Promise<boolean> =>
  (await storeNow(context.db)).getTime() >= waitEnd(wait).getTime()

/** Also drops the refs on the remote that are no longer needed once the commit is on the goal branch. */
const recordRemote = async (landing: MergeAttempt, landedCommit: string): Promise<void> => {
  await record(landing, landedCommit)
  await dropMergedRunRefs(landing)
}

/** Like `landGoalCommand`, for the goal branch on the remote. */
const landRemote = async (landing: MergeAttempt): Promise<void> => {
  const { context, goal, entry } = landing
  const head = goalHead(goal)
  const tip = await fetchGoalBranch(landing)
  const landed = tip === null || tip === head ? undefined : await findMergedCommit(landing, { head, tip })
  if (landed !== undefined) return recordRemote(landing, landed)
  const onto = await remoteMergeBase(context, goal, { head, tip })
  const integrated = await context.ports.git.integrate(context.shadow, { commit: entry.commit, onto })
  if (!integrated.ok) return handleMergeConflict(landing, { conflicts: integrated.conflicts, onto })
  context.at('merge-integrated')
  const evidence = integrated.rebased ? await verifyRebased(landing, integrated.commit) : undefined
  if (context.stopping.aborted) return
  if (evidence !== undefined) return handleFailedChecks(landing, evidence)
  const pushed = await pushMerge(landing, { from: onto, to: integrated.commit })
  if (pushed.kind === 'done') return recordRemote(landing, integrated.commit)
  if (landing.tries >= (pushed.kind === 'refused' ? refusalLimit : outrunLimit))
    return escalateUnmergeable(landing, diagnose({ kind: 'refused', text: pushed.detail }))
  mustSucceed(await context.db.transaction((tx) => moveMerge(tx, entry, 'outrun', { detail: pushed.detail })))
}

/** Moves the goal branch by compare-and-swap from the commit that was merged onto, and records the outcome. */
const publish = async (landing: MergeAttempt, move: { from: string; to: string }): Promise<void> => {
  const { context, goal, entry, tries } = landing
  const ref = goalRef(goal)
  await confirmLeadership(context.db)
  const published = await context.ports.git.publish(context.repository, context.shadow, { ref, ...move })
  context.at('merge-published')
  if (published === 'done') return record(landing, move.to)
  const text = `another process moved ${ref} ${tries} times`
  if (tries >= outrunLimit) return escalateUnmergeable(landing, diagnose({ kind: 'workspace', text }))
  const detail = 'the goal branch moved during the merge'
  mustSucceed(await context.db.transaction((tx) => moveMerge(tx, entry, 'outrun', { detail })))
}

const land = async (landing: MergeAttempt): Promise<void> => {
  const { context, goal, entry } = landing
  const { git } = context.ports
  const head = goalHead(goal)
  const integrated = await git.integrate(context.shadow, { commit: entry.commit, onto: head })
  // Commits are deterministic, so a matching hash proves that this commit was published before a crash. A trailer
  // proves nothing: anyone with write access to the repository can write one.
  if (integrated.ok && (await git.readRef(context.repository, goalRef(goal))) === integrated.commit)
    return record(landing, integrated.commit)
  await restoreGoalBranch(context, goal)
  if (!integrated.ok) return handleMergeConflict(landing, { conflicts: integrated.conflicts, onto: head })
  context.at('merge-integrated')
  if (integrated.rebased) {
    const evidence = await verifyRebased(landing, integrated.commit)
    if (context.stopping.aborted) return
    if (evidence !== undefined) return handleFailedChecks(landing, evidence)
  }
  await publish(landing, { from: head, to: integrated.commit })
}

const requeue = async ({ context, entry }: MergeAttempt, error: Error): Promise<void> => {
  mustSucceed(await context.db.transaction((tx) => moveMerge(tx, entry, 'interrupted', { detail: error.message })))
}

/** Whether the remote responds. While it is unreachable, entries stay in the queue and no try is counted. */
export const isRemoteReachable = async (context: Context, goal: Goal): Promise<boolean> => {
  if (goal.repoMode !== 'remote') return true
  const link = remoteLinkOf(context)
  if (!link.failing()) return true
  if (link.waitMs() > 0) return false
  try {
    await link.fetchRefs([goalRef(goal)])
  } catch (error) {
    // A refusal is no outage: the merge meets it again and counts it as a try.
    if (isOutage(error)) return false
    if (!isRefusal(error)) throw error
  }
  return true
}

const process = async (context: Context, pending: MergeEntry): Promise<void> => {
  const goal = await getGoal(context.db, pending.goalId)
  const run = await getRun(context.db, pending.runId)
  const task = await getTask(context.db, pending.taskId)
  if (goal === undefined || run === undefined || task === undefined || !mayStartWork(goal)) return
  // The base of the entry is about to change.
  if (goal.landing.outdated || goal.landing.broken !== null) return
  if (!(await isEntryRetryDue(context, pending)) || !(await isRemoteReachable(context, goal))) return
  const waits = await waitsOf(context, pending)
  const last = waits.at(-1)
  if (last !== undefined && !(await isOver(context, last))) return
  const entry = mustSucceed(await context.db.transaction((tx) => moveMerge(tx, pending, 'claimed')))
  context.at('merge-claimed')
  const landing = { context, goal, run, task, entry, tries: entry.attempts - entry.failures - waits.length }
  try {
    await (goal.repoMode === 'remote' ? landRemote(landing) : land(landing))
  } catch (error) {
    // The next try looks on the remote for the commit before it pushes again.
    if (!isOutage(error) || context.stopping.aborted) throw error
    await requeue(landing, error)
  }
  context.wake()
}

/** Requeues entries that a crash left in processing; their effect is looked for on the branch. */
export const requeueInterruptedMerges = async (context: Context): Promise<void> => {
  for (const entry of await listMerges(context.db, { state: 'processing' })) {
    // A failed move means that a person took the entry out meanwhile.
    await context.db.transaction((tx) =>
      moveMerge(tx, entry, 'interrupted', { detail: 'the engine ended during the merge' }),
    )
  }
}

/** Processes the pending entries, oldest first. Only one loop calls it, so there is one processor. */
export const processMergeQueue = async (context: Context): Promise<void> => {
  for (const entry of await listMerges(context.db, { state: 'pending' })) {
    if (context.stopping.aborted) return
    try {
      await process(context, entry)
    } catch (error) {
      if (context.stopping.aborted) return
      // The store failed, and the last write is unknown. The merge is not to blame: the next pass looks for its
      // effect.
      if (endsPass(context, error)) throw error
      await recordEntryFailure(context, entry, error)
    }
  }
}
