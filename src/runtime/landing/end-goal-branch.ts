/**
 * Removes the branch of a goal that has ended: of a done goal when its work is on the target, of a cancelled one after a snapshot. A
 * branch that a person moved or uses, or that live work builds on, stays. Every step can be repeated, so a kill between two of them
 * only delays the rest.
 */
import type { Goal } from '../../domain/goal.ts'
import { appendEvent } from '../../store/event.ts'
import { forgeLinkOf } from '../../store/forge-link.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges } from '../../store/merge.ts'
import { listRuns } from '../../store/run.ts'
import { listTasksOf } from '../../store/task.ts'
import type { Remote } from '../../workspace/remote.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { isWorkOn } from './goal-work.ts'
import { targetRef } from './remote-target.ts'

/** What becomes of the branch of an ended goal. */
export type BranchEnd =
  | { kind: 'absent' }
  /** It goes. `snapshot`: what it holds is on no other branch and is kept first. */
  | { kind: 'removable'; why: string; snapshot: boolean }
  /** `passing`: the reason may pass by itself, so it is worth another look. */
  | { kind: 'kept'; why: string; passing: boolean }

const kept = (why: string, passing = false): BranchEnd => ({ kind: 'kept', why, passing })

/** What still works on the goal itself, or starts from its branch. */
const liveUse = async ({ db }: Context, goal: Goal): Promise<string | undefined> => {
  const branch = goalBranch(goal)
  if ((await listRuns(db, { goalId: goal.id, state: 'running' })).length > 0) return 'a run of the goal is ending'
  const merges = await listMerges(db, { goalId: goal.id })
  if (merges.some(({ state }) => state === 'processing')) return 'a merge of the goal is ending'
  const live = await listLiveGoals(db)
  const on = live.find(({ targetBranch }) => targetBranch === branch)
  if (on !== undefined) return `goal ${on.id} lands on it`
  const ids = live.map(({ id }) => id)
  const reviewed = (await listTasksOf(db, ids)).find(
    ({ review }) => review !== null && 'branch' in review && review.branch === branch,
  )
  return reviewed === undefined ? undefined : `task ${reviewed.id} reviews it`
}

/** The tips of the target, here and where the goal's pull request was merged. */
const targetTips = async (context: Context, goal: Goal, origin: Remote | undefined): Promise<string[]> => {
  const ref = targetRef(goal)
  const here = goal.repoMode === 'remote' ? null : await context.ports.git.readRef(context.repository, ref)
  const there = (await origin?.fetchRefs([ref]))?.[ref]
  return [here, there].filter((tip) => typeof tip === 'string')
}

const isLandedOn = async (context: Context, goal: Goal, origin: Remote | undefined): Promise<boolean> => {
  if (goal.targetBranch === null) return false
  for (const tip of await targetTips(context, goal, origin)) if (await isWorkOn(context, goal, tip)) return true
  return false
}

const isEmpty = ({ baseCommit, headCommit }: Goal): boolean => baseCommit === headCommit

/** Where the branch is read and removed: the remote of a repository by URL, or `origin` for a branch that was pushed there. */
const remoteOf = async (context: Context, goal: Goal): Promise<Remote | undefined> => {
  if (goal.repoMode === 'remote') return context.remote
  if ((await forgeLinkOf(context.db, goal.id))?.pushedHead == null) return undefined
  return (await context.origin?.()) ?? undefined
}

const decide = async (context: Context, goal: Goal, origin: Remote | undefined): Promise<BranchEnd> => {
  if (context.config().git.keepGoalBranches) return kept('git.keepGoalBranches is true')
  const used = await liveUse(context, goal)
  if (used !== undefined) return kept(used, true)
  if (await isLandedOn(context, goal, origin))
    return { kind: 'removable', why: `its work is on ${goal.targetBranch}`, snapshot: false }
  if (goal.state === 'cancelled')
    return { kind: 'removable', why: 'the goal was cancelled', snapshot: !isEmpty(goal) || goal.targetBranch === null }
  return kept(
    `it has commits that ${goal.targetBranch ?? 'no branch of yours'} ${goal.targetBranch === null ? 'has' : 'lacks'}`,
  )
}

const inRepository = async (context: Context, goal: Goal, origin: Remote | undefined): Promise<BranchEnd> => {
  const { ports, repository } = context
  const ref = goalRef(goal)
  const found = await ports.git.readRef(repository, ref)
  if (found === null) return { kind: 'absent' }
  if (found !== goal.headCommit) return kept(`it was moved to ${found.slice(0, 12)}, and not by Unstuck`)
  const use = (await ports.git.branchUses(repository))[ref]
  return use === undefined ? decide(context, goal, origin) : kept(use, true)
}

const onRemote = async (context: Context, goal: Goal, remote: Remote): Promise<BranchEnd> => {
  const ref = goalRef(goal)
  const found = (await remote.fetchRefs([ref]))[ref]
  if (found === undefined) return { kind: 'absent' }
  if (found !== goal.headCommit)
    return kept(`it was moved to ${found.slice(0, 12)} on ${remote.url}, and not by Unstuck`)
  return decide(context, goal, remote)
}

/** What would become of the branch now; reads only. */
export const branchEndOf = async (context: Context, goal: Goal): Promise<BranchEnd> => {
  if (goal.headCommit === null || goal.repoMode === 'direct') return { kind: 'absent' }
  const remote = await remoteOf(context, goal)
  if (goal.repoMode !== 'remote') return inRepository(context, goal, remote)
  return remote === undefined ? kept('no engine asks its remote') : onRemote(context, goal, remote)
}

/** The copy that we pushed for a pull request. Of a cancelled goal it stays: removing it would close the pull request. */
const removePushed = async (context: Context, goal: Goal, origin: Remote | undefined): Promise<void> => {
  if (origin === undefined || goal.state !== 'done') return
  const { pushedHead = null } = (await forgeLinkOf(context.db, goal.id)) ?? {}
  const ref = goalRef(goal)
  const there = (await origin.fetchRefs([ref]))[ref]
  if (there === undefined || there !== pushedHead || !(await isLandedOn(context, goal, origin))) return
  await confirmLeadership(context.db)
  await origin.push([{ ref, to: null, expected: there }])
}

const remove = async (context: Context, goal: Goal, remote: Remote | undefined): Promise<boolean> => {
  const [ref, head] = [goalRef(goal), goal.headCommit ?? '']
  await confirmLeadership(context.db)
  if (goal.repoMode !== 'remote')
    return (await context.ports.git.restoreRef(context.repository, { ref, from: head, to: null })) === 'done'
  return (await remote?.push([{ ref, to: null, expected: head }]))?.kind === 'done'
}

/** The same input gives the same snapshot, so one that was taken before a kill is not taken again. */
const keepWork = async ({ ports, shadow }: Context, goal: Goal): Promise<void> => {
  const [commit, at] = [goal.headCommit ?? '', (goal.endedAt ?? goal.changedAt).toISOString()]
  const reason = `the goal "${goal.title}" was cancelled: the work of its branch ${goalBranch(goal)}`
  await ports.git.keepCommit(shadow, { id: goal.id, base: goal.baseCommit ?? commit, commit, reason, at })
}

/** Removes the branch if it may go, and returns what became of it. */
export const endGoalBranch = async (context: Context, goal: Goal): Promise<BranchEnd> => {
  const end = await branchEndOf(context, goal)
  const remote = await remoteOf(context, goal)
  if (end.kind === 'removable') {
    if (end.snapshot) await keepWork(context, goal)
    context.at('goal-branch-kept')
    if (!(await remove(context, goal, remote))) return kept('it moved at this moment', true)
    context.at('goal-branch-removed')
    const payload = { branch: goalBranch(goal), commit: goal.headCommit, reason: end.why }
    await appendEvent(context.db, { type: 'goal.branch_removed', goalId: goal.id, payload })
  }
  if (end.kind !== 'kept' && goal.repoMode === 'local' && !context.config().git.keepGoalBranches)
    await removePushed(context, goal, remote)
  return end
}
