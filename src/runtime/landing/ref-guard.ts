/**
 * Guards the goal branches, which belong to Unstuck, against agents. Only the merge queue restores them, because only the
 * queue knows that no merge is in progress. What agents do to the refs of the user is seen in checkout-guard.ts.
 */
import { waitsForBranch, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, listLiveGoals } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges } from '../../store/merge.ts'
import { goalRef, type Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, isRefusal, remoteLinkOf } from '../core/remote-link.ts'
import {
  askAboutBranchAgain,
  BranchLostError,
  isBranchRetryDue,
  recordBrokenBranch,
  recordRepairedBranch,
} from './broken-branch.ts'
import { goalRefs } from './goal-branch.ts'
import { goalHead } from './merge-attempt.ts'
import { detectReplacedRepository } from './replaced-repository.ts'

/**
 * Restores the commits of a goal on a git remote after the local mirror lost them (pruned, or removed and made again);
 * every landing step needs them there. They come from the goal's branch on the remote, else from the shadow
 * repository. A branch that is missing on the remote is restored by the next merge.
 */
const restoreHead = async (context: Context, goal: Goal): Promise<void> => {
  const { repository, shadow, ports } = context
  const to = goalHead(goal)
  const has = (where: typeof repository | string): Promise<boolean> =>
    ports.git.isCommitOf(where, { commit: to, below: null, not: null })
  await remoteLinkOf(context).fetchRefs([goalRef(goal)])
  if (await has(repository)) return
  if (!(await has(shadow.gitDir)))
    throw new BranchLostError(`commit ${to} is neither on the remote nor in Unstuck's own copies`)
  await ports.git.bringObjects(repository, shadow, { from: null, to })
}

/** Restores the commits of one goal in the mirror, or asks a person where they are lost. */
const restoreMirrorHead = async (context: Context, goal: Goal): Promise<void> => {
  const { broken } = goal.landing
  if (broken?.again === true) return
  const commit = goalHead(goal)
  const isHere = await context.ports.git.isCommitOf(context.repository, { commit, below: null, not: null })
  if (!isHere) {
    if (waitsForBranch(goal)) return goal.state === 'paused' ? undefined : askAboutBranchAgain(context, goal.id)
    if (remoteLinkOf(context).waitMs() > 0 || !(await isBranchRetryDue(context, goal))) return
    await restoreHead(context, goal)
  }
  if (broken !== null) await recordRepairedBranch(context, goal.id)
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
  await ports.git.publish(repository, shadow, { ref: goalRef(goal), ...move })
}

/**
 * Restores the goal branch, which belongs to Unstuck, if it differs from the store, and records an event. Throws
 * `BranchLostError` if its commits are gone.
 */
export const restoreGoalBranch = async (context: Context, goal: Goal): Promise<void> => {
  const head = goalHead(goal)
  const found = await context.ports.git.readRef(context.repository, goalRef(goal))
  if (found === head) return
  // What this engine read may be outdated: it must not move the branch back behind a commit of another leader.
  await confirmLeadership(context.db)
  await republish(context, goal, { from: found, to: head })
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    payload: { ref: goalRef(goal), found, restored: head },
  })
}

/**
 * A moved branch may be the result of a merge, a rebase or signatures that a crash interrupted, which the queue finishes. A deleted
 * branch never is.
 */
const mayBeOurMove = async (context: Context, goal: Goal, found: string): Promise<boolean> => {
  if (goal.landing.outdated || goal.landing.signing?.next?.to === found) return true
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
  if (isUnchanged || (broken === null && found !== undefined && (await mayBeOurMove(context, goal, found)))) return
  if (!(await isBranchRetryDue(context, goal))) return
  await restoreGoalBranch(context, goal)
  if (broken !== null) await recordRepairedBranch(context, goal.id)
}

/** The current commits of the goal branches in the user's repository. */
const branchesOf = async ({ ports, repository }: Context, goals: readonly Goal[]): Promise<Record<string, string>> =>
  goalRefs(
    ports,
    repository,
    goals.filter(({ repoMode }) => repoMode === 'local'),
  )

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
      else await guardOne(context, goal, refs[goalRef(goal)])
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
