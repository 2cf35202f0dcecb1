/**
 * A pull request whose branch conflicts with the one that gets it: the goal is rebased onto what the forge has there, by the same ladder as
 * before a landing (goal-rebase.ts), verified, and pushed again. The user's own branch may lack those commits, and stays as it is.
 */
import type { PullRequest } from '../../forge/forge.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { feedbackOfGoal, insertFeedback } from '../../store/forge-feedback.ts'
import { moveGoal, progressGoal } from '../../store/goal.ts'
import type { Remote } from '../../workspace/remote.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import type { Ready } from './land-goal.ts'
import { refuseLanding } from './refused-landing.ts'
import { targetRef } from './remote-target.ts'

/** Of one goal. Each costs an agent, and a branch that is rewritten for ever would cost one for each change. */
const mostRebases = 3

const key = 'conflict'

interface Place {
  origin: Remote
  pull: PullRequest
  /** Throws where a person, or the goal itself, was faster. */
  requireUnchanged: (tx: Queryable) => Promise<void>
}

/** True = the goal does not only wait: it is brought onto the newer base, or a person is told. */
export const solvePullRequestConflict = async (
  context: Context,
  { origin, pull, requireUnchanged }: Place,
  goal: Ready,
): Promise<boolean> => {
  if (!pull.hasConflicts) return false
  const [target, branch] = [targetRef(goal), goalRef(goal)]
  const seen = await origin.fetchRefs([target, branch])
  const tip = seen[target]
  // What the forge says may be about an earlier head.
  if (tip === undefined || (await context.ports.git.isBelow(context.repository, tip, goal.headCommit))) return false
  const where = `pull request #${pull.number} conflicts with ${goal.targetBranch}`
  const refuse = async (reason: string, detail: string): Promise<true> => {
    await refuseLanding(context, goal, { reason, detail, paths: [] })
    return true
  }
  // In a repository by URL the rebase keeps them.
  if (goal.repoMode !== 'remote' && seen[branch] !== goal.headCommit)
    return refuse('branch-changed', `${where}, and ${goalBranch(goal)} on ${origin.url} has commits of others`)
  const before = (await feedbackOfGoal(context.db, goal.id)).filter((row) => row.key === key)
  if (before.length >= mostRebases)
    return refuse('pull-request-conflict', `${where} again, after ${mostRebases} rebases`)
  await context.db.transaction(async (tx) => {
    await requireUnchanged(tx)
    mustSucceed(await moveGoal(tx, goal, 'outdated', `${where}: the goal branch is rebased onto it and verified there`))
    const onForge = goal.repoMode === 'remote' ? {} : { onForge: tip }
    await progressGoal(tx, goal.id, { landing: { outdated: true, refused: null, ...onForge } })
    const row = { key, head: goal.headCommit, action: 'task' as const, taskId: null, points: [], comments: [] }
    await insertFeedback(tx, goal.id, row)
  })
  context.at('goal-outdated')
  context.wake()
  return true
}
