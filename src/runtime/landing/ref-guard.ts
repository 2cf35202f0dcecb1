/**
 * Guards the refs of the user's repository against agents. Refs are read before the agent starts and compared after it
 * ended; one event reports all changes. A target branch is restored if its new commit can only come from the run's
 * clone. Any other change may be the user's own and stays. Goal branches belong to Unstuck: only the merge queue
 * restores them (`restoreGoalBranches`), because only the queue knows that no merge is in progress.
 */
import { waitsForBranch, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, listGoals, listLiveGoals } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges } from '../../store/merge.ts'
import type { RefChange } from '../../workspace/refs.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, isRefusal } from '../core/remote-link.ts'
import { storeRefs, refsBefore } from '../agent/refs-before.ts'
import {
  askAboutBranchAgain,
  BranchLostError,
  isBranchRetryDue,
  recordBrokenBranch,
  recordRepairedBranch,
} from './broken-branch.ts'
import { goalHead } from './merge-attempt.ts'
import { restoreMirrorHead } from './mirror-head.ts'
import { isUserRefChange } from './user-ref-changes.ts'
import { detectReplacedRepository } from './replaced-repository.ts'
import type { RunContext } from '../core/run-context.ts'

const shownRefs = 20

/** Refs of Unstuck are guarded elsewhere, and a target branch at the head of a goal was moved by a landing. */
const isOurs = ({ ref, after }: RefChange, goals: Goal[]): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  ref.startsWith('refs/unstuck/') ||
  goals.some((goal) => `refs/heads/${goal.targetBranch}` === ref && goal.headCommit === after)

/** Whether only this run's clone can have brought the commit. */
const isFromClone = async (runContext: RunContext, commit: string): Promise<boolean> => {
  const { context, paths, run } = runContext
  const { git } = context.ports
  if (!(await git.isCommitOf(context.repository, { commit, below: null, not: null }))) return true
  const base = run.baseCommit ?? ''
  const { kept } = await git.keepAgentCommits(context.shadow, { workspace: paths.workspace, runId: run.id, base })
  for (const { commit: tip } of kept) {
    if (await git.isCommitOf(context.shadow.gitDir, { commit, below: tip, not: base })) return true
  }
  return false
}

/** How many reflog entries of a branch are read. */
const longestLog = 200

/**
 * Reflog notes of commands that the user runs. Commits from an agent's clone arrive by a fetch, a push or a bare
 * write.
 */
const byOwner = /^(?:commit|merge|pull|rebase|cherry-pick|revert|am)\b/

/** The commit to restore: the user's own commits and landings since the run began are kept. */
const restorePointOf = async (
  runContext: RunContext,
  { ref, before, after }: { ref: string; before: string; after: string },
  goals: readonly Goal[],
): Promise<string> => {
  const { context } = runContext
  const moves = await context.ports.git.readRefLog(context.repository, ref, longestLog)
  // If the log does not reach back to the start of the run, the age of its entries is unknown.
  const since = moves.findIndex(({ to }) => to === before)
  for (const { to, note } of moves.slice(0, Math.max(0, since))) {
    if (to === after) continue
    if (goals.some(({ headCommit }) => headCommit === to) || note.startsWith('commit')) return to
    if (byOwner.test(note) && !(await isFromClone(runContext, to))) return to
  }
  return before
}

/**
 * Changes that the user made in their checkout are not reported as the agent's. A commit from the agent's clone is
 * never taken for the user's.
 */
const isUsers = async (runContext: RunContext, change: RefChange): Promise<boolean> => {
  const { ref, after } = change
  if (after === null || (!after.startsWith('ref: ') && (await isFromClone(runContext, after)))) return false
  return isUserRefChange(
    change,
    await runContext.context.ports.git.readRefLog(runContext.context.repository, ref, longestLog),
  )
}

const restoreTarget = async (runContext: RunContext, change: RefChange, goals: readonly Goal[]): Promise<boolean> => {
  const { context, goal } = runContext
  const { ref, before, after } = change
  if (ref !== `refs/heads/${goal.targetBranch}` || goal.repoMode === 'direct') return false
  if (before === null || after === null || !(await isFromClone(runContext, after))) return false
  const to = await restorePointOf(runContext, { ref, before, after }, goals)
  const done = await context.ports.git.restoreRef(context.repository, { ref, from: after, to })
  if (done !== 'done') return false
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    taskId: runContext.task.id,
    runId: runContext.run.id,
    payload: { ref, found: after, restored: to },
  })
  return true
}

/** Runs after the agent ended: restores what may be restored, then reports all changes in one event. */
export const reportRefChanges = async (runContext: RunContext): Promise<void> => {
  const { context } = runContext
  const { git } = context.ports
  const before = refsBefore(runContext)
  if (before === undefined) return
  const after = await git.readRefs(context.repository)
  const changed = git.compareRefs(before, after)
  const goals = changed.length === 0 ? [] : await listGoals(context.db)
  const found: RefChange[] = []
  for (const change of changed) if (!isOurs(change, goals) && !(await isUsers(runContext, change))) found.push(change)
  if (found.length === 0) return storeRefs(runContext, after)
  const refs: (RefChange & { restored: boolean })[] = []
  for (const change of found.slice(0, shownRefs))
    refs.push({ ...change, restored: await restoreTarget(runContext, change, goals) })
  await appendEvent(context.db, {
    type: 'ref.moved',
    goalId: runContext.goal.id,
    taskId: runContext.task.id,
    runId: runContext.run.id,
    payload: { refs, more: found.length - refs.length },
  })
  // Remembered as the new state, so that a relaunch or a restart does not report it again.
  storeRefs(runContext, await git.readRefs(context.repository))
}

/**
 * Publishes the goal branch again. After it was deleted or moved, git may have pruned its commits; the shadow
 * repository has every commit that was made here.
 */
const republish = async (context: Context, goal: Goal, move: { from: string | null; to: string }): Promise<void> => {
  const { repository, shadow, ports } = context
  // Nothing of an old goal is written into a repository that replaced the old one at this path.
  if (
    !(await detectReplacedRepository(context)) ||
    (await getGoal(context.db, goal.id))?.landing.broken?.reason === 'replaced'
  )
    throw new Error(`the repository at ${repository.root} was replaced or is missing`)
  if (!(await ports.git.isCommitOf(shadow.gitDir, { commit: move.to, below: null, not: null })))
    throw new BranchLostError(`commit ${move.to} is neither in the repository nor in Unstuck's own copy`)
  await ports.git.publish(repository, shadow, { ref: goalRef(goal.id), ...move })
}

/**
 * Restores the goal branch, which belongs to Unstuck, if it differs from the store, and records an event. Throws
 * `BranchLostError` if its commits are gone.
 */
export const restoreGoalBranch = async (context: Context, goal: Goal): Promise<void> => {
  const head = goalHead(goal)
  const found = await context.ports.git.readRef(context.repository, goalRef(goal.id))
  if (found === head) return
  // What this engine read may be outdated: it must not move the branch back behind a commit of another leader.
  await confirmLeadership(context.db)
  await republish(context, goal, { from: found, to: head })
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    payload: { ref: goalRef(goal.id), found, restored: head },
  })
}

/**
 * A moved branch may be the result of a merge or rebase that a crash interrupted, which the queue finishes. A deleted
 * branch never is.
 */
const mayBeOurMove = async (context: Context, goal: Goal): Promise<boolean> => {
  if (goal.landing.outdated) return true
  const merges = await listMerges(context.db, { goalId: goal.id })
  return merges.some(({ state }) => state === 'pending' || state === 'processing')
}

const guardOne = async (context: Context, goal: Goal, found: string | undefined): Promise<void> => {
  const { broken } = goal.landing
  if (broken?.again === true) return
  const isUnchanged = found === goal.headCommit
  if (isUnchanged && broken !== null && broken.reason !== 'replaced') return recordRepairedBranch(context, goal.id)
  if (waitsForBranch(goal)) return goal.state === 'paused' ? undefined : askAboutBranchAgain(context, goal.id)
  // With a broken branch neither the queue nor a rebase finishes anything; both do their step again on the restored branch.
  if (isUnchanged || (broken === null && found !== undefined && (await mayBeOurMove(context, goal)))) return
  if (!(await isBranchRetryDue(context, goal))) return
  await restoreGoalBranch(context, goal)
  if (broken !== null) await recordRepairedBranch(context, goal.id)
}

/** The current commits of the goal branches in the user's repository. */
const branchesOf = async ({ ports, repository }: Context, goals: readonly Goal[]): Promise<Record<string, string>> =>
  goals.some(({ repoMode }) => repoMode === 'local')
    ? ports.git.readRefs(repository, `refs/heads/${goalBranch('')}`)
    : {}

/**
 * Restores goal branches that something else moved or deleted. A branch that cannot be restored does not stop the
 * other goals.
 */
export const restoreGoalBranches = async (context: Context): Promise<void> => {
  // Goals that wait for a person as well: they are resumed and inspected from their branch.
  const goals = (await listLiveGoals(context.db)).filter(
    ({ repoMode, headCommit }) =>
      headCommit !== null && (repoMode === 'local' || (repoMode === 'remote' && context.remote !== undefined)),
  )
  const refs = await branchesOf(context, goals)
  for (const goal of goals) {
    try {
      if (goal.repoMode === 'remote') await restoreMirrorHead(context, goal)
      else await guardOne(context, goal, refs[goalRef(goal.id)])
    } catch (error) {
      if (endsPass(context, error)) throw error
      // An unreachable remote, or one that denies access, says nothing about the branch.
      if (error instanceof StaleError || isOutage(error) || isRefusal(error)) continue
      const detail = messageOf(error)
      context.log.warn({ goal: goal.id, detail }, 'a goal branch could not be restored')
      await recordBrokenBranch(context, goal.id, {
        reason: error instanceof BranchLostError ? 'lost' : 'failed',
        detail,
      })
    }
  }
}
