/**
 * Lands a finished goal on the target branch of the remote by a fast-forward push. The user's branch is never
 * force-pushed.
 */
import { AppError } from '../../errors.ts'
import type { Goal } from '../../domain/goal.ts'
import { StaleError } from '../../store/db.ts'
import { getGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import type { FastForward } from '../../workspace/repository-types.ts'
import { goalRef, type Context } from '../core/context.ts'
import { remoteLinkOf } from '../core/remote-link.ts'
import { isWorkOn } from './goal-work.ts'
import { addsOnlyGoal } from './target-tip.ts'

export const targetRef = (goal: Goal): string => `refs/heads/${goal.targetBranch}`

/** The commit of the target branch on the remote (null: missing), with its commits fetched. */
export const remoteTargetTip = async (context: Context, goal: Goal): Promise<string | null> =>
  (await remoteLinkOf(context).fetchRefs([targetRef(goal)]))[targetRef(goal)] ?? null

/** Whether the target branch on the remote contains the goal's work. */
export const isOnTarget = async (context: Context, goal: Goal): Promise<boolean> => {
  // Fetch the goal branch too: another engine may have merged it, and then its commits are missing here.
  const tip = (await remoteLinkOf(context).fetchRefs([targetRef(goal), goalRef(goal)]))[targetRef(goal)]
  return tip !== undefined && isWorkOn(context, goal, tip)
}

/** Pushes the goal's head to the target, unless the goal changed in the store since it was read. */
export const fastForwardTarget = async (context: Context, goal: Goal): Promise<FastForward> => {
  const ref = targetRef(goal)
  const to = goal.headCommit ?? ''
  const from = (await remoteLinkOf(context).fetchRefs([ref]))[ref]
  const refuse = (reason: 'diverged' | 'branch-missing' | 'moved' | 'refused', detail: string): FastForward => ({
    ok: false,
    reason,
    detail,
    paths: [],
  })
  if (from === undefined) return refuse('branch-missing', `there is no branch ${goal.targetBranch} on the remote`)
  if (!(await addsOnlyGoal(context, goal, from)))
    return refuse('diverged', `${goal.targetBranch} does not continue from the base of ${to}`)
  await confirmLeadership(context.db)
  if ((await getGoal(context.db, goal.id))?.version !== goal.version) throw new StaleError(`goal ${goal.id}`)
  context.at('goal-push')
  const pushed = await remoteLinkOf(context).push([{ ref, to, expected: undefined }])
  if (pushed.kind === 'done') return { ok: true, from, to }
  return refuse(pushed.kind === 'moved' ? 'moved' : 'refused', pushed.detail)
}

interface RemoteCheck {
  name: string
  ok: boolean
  detail: string
}

/** For `unstuck doctor`. */
export const remoteChecks = async (
  context: Pick<Context, 'remote' | 'ports' | 'repository'>,
  goals: readonly Goal[],
): Promise<RemoteCheck[]> => {
  const link = remoteLinkOf(context)
  const name = 'the git remote responds'
  try {
    const seen = await link.fetchRefs(['HEAD', ...goals.map(goalRef)])
    const moved: string[] = []
    for (const goal of goals) {
      const tip = seen[goalRef(goal)]
      const holds =
        tip !== undefined && (await context.ports.git.isBelow(context.repository, goal.headCommit ?? '', tip))
      if (!holds) moved.push(`${goal.id} ${tip === undefined ? 'is missing' : `is at ${tip.slice(0, 12)}`}`)
    }
    return [
      { name, ok: true, detail: link.url },
      {
        name: 'goal branches on the remote hold what the store says',
        ok: moved.length === 0,
        detail: moved.length === 0 ? 'all in place' : `${moved.join(', ')}; the next merge of that goal restores it`,
      },
    ]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ name, ok: false, detail: error.message }]
  }
}
