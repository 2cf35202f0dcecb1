/**
 * What an agent does to refs of the user's repository: read before the program starts, compared when it has ended,
 * reported in one event. A branch that work is to land on is put back when it stands on a commit that can only come
 * from the run's own clone; any other move may be the user's own and is left alone. Goal branches are ours: the merge
 * queue puts them back (`guardGoalBranches`), never an executor, because only the queue knows that no merge is under way.
 */
import { waitsForBranch, type Goal } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { StaleError } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, listGoals, listLiveGoals } from '../../store/goal.ts'
import { confirmLead } from '../../store/leader.ts'
import { listMerges } from '../../store/merge.ts'
import type { RefChange } from '../../workspace/refs.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage, isRefusal } from '../core/remote-link.ts'
import { keepRefs, remembered } from '../agent/remembered-refs.ts'
import { askAgain, BranchLostError, isBranchRested, noteBroken, noteMended } from './broken-branch.ts'
import { headOf } from './landing.ts'
import { guardHead } from './lost-head.ts'
import { isOwnersMove } from './owner-moves.ts'
import { checkRepository } from './same-repository.ts'
import type { Session } from '../core/session.ts'

const shownRefs = 20

/** Our own branches are guarded elsewhere; a branch that stands where a goal was landed was moved by us. */
const isOurs = ({ ref, after }: RefChange, goals: Goal[]): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  ref.startsWith('refs/unstuck/') ||
  goals.some((goal) => `refs/heads/${goal.targetBranch}` === ref && goal.headCommit === after)

/** Whether the new commit of a branch is one that only this run's clone can have brought. */
const isFromClone = async (session: Session, commit: string): Promise<boolean> => {
  const { context, paths, run } = session
  const { git } = context.ports
  if (!(await git.isCommitOf(context.repository, { commit, below: null, not: null }))) return true
  const base = run.baseCommit ?? ''
  const { kept } = await git.keepAgentCommits(context.shadow, { workspace: paths.workspace, runId: run.id, base })
  for (const { commit: tip } of kept) {
    if (await git.isCommitOf(context.shadow.gitDir, { commit, below: tip, not: base })) return true
  }
  return false
}

/** How far back the moves of a branch are looked at. */
const longestLog = 200

/** A move that its owner makes, as git notes it. What an agent brings from its clone comes by a fetch, a push or a bare write. */
const byOwner = /^(?:commit|merge|pull|rebase|cherry-pick|revert|am)\b/

/** Where the branch belongs: what its owner committed and what landed there since the run began stays. */
const placeOf = async (
  session: Session,
  { ref, before, after }: { ref: string; before: string; after: string },
  goals: readonly Goal[],
): Promise<string> => {
  const { context } = session
  const moves = await context.ports.git.readRefLog(context.repository, ref, longestLog)
  // Without the place where the run began, nothing tells how old an entry is.
  const since = moves.findIndex(({ to }) => to === before)
  for (const { to, note } of moves.slice(0, Math.max(0, since))) {
    if (to === after) continue
    if (goals.some(({ headCommit }) => headCommit === to) || note.startsWith('commit')) return to
    if (byOwner.test(note) && !(await isFromClone(session, to))) return to
  }
  return before
}

/** What the user did in their own checkout meanwhile is no report about the agent. A commit of its clone never counts as that. */
const isUsers = async (session: Session, change: RefChange): Promise<boolean> => {
  const { ref, after } = change
  if (after === null || (!after.startsWith('ref: ') && (await isFromClone(session, after)))) return false
  return isOwnersMove(change, await session.context.ports.git.readRefLog(session.context.repository, ref, longestLog))
}

const putBack = async (session: Session, change: RefChange, goals: readonly Goal[]): Promise<boolean> => {
  const { context, goal } = session
  const { ref, before, after } = change
  if (ref !== `refs/heads/${goal.targetBranch}` || goal.repoMode === 'direct') return false
  if (before === null || after === null || !(await isFromClone(session, after))) return false
  const to = await placeOf(session, { ref, before, after }, goals)
  const done = await context.ports.git.restoreRef(context.repository, { ref, from: after, to })
  if (done !== 'done') return false
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    payload: { ref, found: after, restored: to },
  })
  return true
}

/** When the agent has ended: one event for everything that moved, after what could be put back was put back. */
export const compareAfterRun = async (session: Session): Promise<void> => {
  const { context } = session
  const { git } = context.ports
  const before = remembered(session)
  if (before === undefined) return
  const after = await git.readRefs(context.repository)
  const changed = git.compareRefs(before, after)
  const goals = changed.length === 0 ? [] : await listGoals(context.db)
  const found: RefChange[] = []
  for (const change of changed) if (!isOurs(change, goals) && !(await isUsers(session, change))) found.push(change)
  if (found.length === 0) return keepRefs(session, after)
  const refs: (RefChange & { restored: boolean })[] = []
  for (const change of found.slice(0, shownRefs))
    refs.push({ ...change, restored: await putBack(session, change, goals) })
  await appendEvent(context.db, {
    type: 'ref.moved',
    goalId: session.goal.id,
    taskId: session.task.id,
    runId: session.run.id,
    payload: { refs, more: found.length - refs.length },
  })
  // Not reported again after a relaunch or a restart.
  keepRefs(session, await git.readRefs(context.repository))
}

/** Where it was deleted or moved, its commits may be pruned by now: the shadow has what was made here. */
const bringBack = async (context: Context, goal: Goal, move: { from: string | null; to: string }): Promise<void> => {
  const { repository, shadow, ports } = context
  // Into a repository that was made again at this path nothing of an older one is put.
  if (!(await checkRepository(context)) || (await getGoal(context.db, goal.id))?.landing.broken?.reason === 'replaced')
    throw new Error(`there is another repository at ${repository.root}, or none`)
  if (!(await ports.git.isCommitOf(shadow.gitDir, { commit: move.to, below: null, not: null })))
    throw new BranchLostError(`commit ${move.to} is neither in the repository nor in Unstuck's own copy`)
  await ports.git.publish(repository, shadow, { ref: goalRef(goal.id), ...move })
}

/** The goal branch is ours: if it differs from the store, something else moved it. It is put back, and an event says so. */
export const guardBranch = async (context: Context, goal: Goal): Promise<void> => {
  const head = headOf(goal)
  const found = await context.ports.git.readRef(context.repository, goalRef(goal.id))
  if (found === head) return
  // What this engine knows may be old: to another leader's commit the branch must not be taken back.
  await confirmLead(context.db)
  await bringBack(context, goal, { from: found, to: head })
  await appendEvent(context.db, {
    type: 'ref.restored',
    goalId: goal.id,
    payload: { ref: goalRef(goal.id), found, restored: head },
  })
}

/** A branch that is moved may be so by a merge or rebase that a crash cut short; no crash of ours deletes one. */
const isOthersMatter = async (context: Context, goal: Goal): Promise<boolean> => {
  if (goal.landing.outdated) return true
  const merges = await listMerges(context.db, { goalId: goal.id })
  return merges.some(({ state }) => state === 'pending' || state === 'processing')
}

const guardOne = async (context: Context, goal: Goal, found: string | undefined): Promise<void> => {
  const { broken } = goal.landing
  if (broken?.again === true) return
  const isHome = found === goal.headCommit
  if (isHome && broken !== null && broken.reason !== 'replaced') return noteMended(context, goal.id)
  if (waitsForBranch(goal)) return goal.state === 'paused' ? undefined : askAgain(context, goal.id)
  if (isHome || (found !== undefined && (await isOthersMatter(context, goal)))) return
  if (!(await isBranchRested(context, goal))) return
  await guardBranch(context, goal)
  if (broken !== null) await noteMended(context, goal.id)
}

/** Of goals in the user's repository, where their branches stand. */
const branchesOf = async ({ ports, repository }: Context, goals: readonly Goal[]): Promise<Record<string, string>> =>
  goals.some(({ repoMode }) => repoMode === 'local')
    ? ports.git.readRefs(repository, `refs/heads/${goalBranch('')}`)
    : {}

/** Puts back goal branches that something else moved or deleted. What does not let itself be put back stops no other goal. */
export const guardGoalBranches = async (context: Context): Promise<void> => {
  // One that waits for a person too: it is resumed, or looked at, from where it is.
  const goals = (await listLiveGoals(context.db)).filter(
    ({ repoMode, headCommit }) =>
      headCommit !== null && (repoMode === 'local' || (repoMode === 'remote' && context.remote !== undefined)),
  )
  const refs = await branchesOf(context, goals)
  for (const goal of goals) {
    try {
      if (goal.repoMode === 'remote') await guardHead(context, goal)
      else await guardOne(context, goal, refs[goalRef(goal.id)])
    } catch (error) {
      if (endsPass(context, error)) throw error
      // A remote that is unreachable or denies access says nothing about the branch.
      if (error instanceof StaleError || isOutage(error) || isRefusal(error)) continue
      const detail = messageOf(error)
      context.log.warn({ goal: goal.id, detail }, 'a goal branch could not be put back')
      await noteBroken(context, goal.id, { reason: error instanceof BranchLostError ? 'lost' : 'failed', detail })
    }
  }
}
