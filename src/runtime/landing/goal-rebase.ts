/**
 * Rebases the goal branch onto its moved target: the branch's own commits are applied to the target's tip one by one,
 * and the branch is moved by compare-and-swap. Equal input gives equal commits, so after a crash a matching hash
 * proves that the branch was moved already. Work of a task that has to be redone is left out, and a commit that
 * conflicts sends its task back.
 */
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import { appendEvent } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges, relocateMerge } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { getTask, listTasks } from '../../store/task.ts'
import { goalRef, type Context } from '../core/context.ts'
import { remoteLinkOf } from '../core/remote-link.ts'
import { handleMergeConflict } from './unmergeable-entry.ts'
import { goalHead } from './merge-attempt.ts'
import { restoreGoalBranch } from './ref-guard.ts'
import { remoteMergeBase } from './remote-merge.ts'
import { refuseLanding } from './refused-landing.ts'
import { targetRef } from './remote-target.ts'
import { addsOnlyGoal } from './target-tip.ts'

/** An upper limit; no goal branch has as many commits. */
const longestLine = 100_000

interface Picked {
  commit: string
  /** Absent for a commit that others put on the branch. */
  entry: MergeEntry | undefined
}

/**
 * The commits that the target lacks, oldest first. A commit that the user merged already would be applied to itself,
 * and may conflict there.
 */
const lacking = async ({ ports, repository }: Context, line: readonly string[], onto: string): Promise<string[]> => {
  let held = 0
  while (held < line.length && (await ports.git.isBelow(repository, line[held] ?? '', onto))) held += 1
  return line.slice(held)
}

/** The commits that stay on the branch, oldest first, and how many are left out. */
const pick = async (
  context: Context,
  goal: Goal,
  { from, onto }: { from: string; onto: string },
): Promise<{ stays: Picked[]; goes: number }> => {
  const range = { head: goal.baseCommit ?? from, tip: from }
  const found = (await context.ports.git.commitsBetween(context.repository, range, longestLine)).toReversed()
  const line = await lacking(
    context,
    found.map(({ commit }) => commit),
    onto,
  )
  const entries = await listMerges(context.db, { goalId: goal.id, state: 'merged' })
  const done = new Set(
    (await listTasks(context.db, goal.id)).flatMap(({ id, status }) => (status === 'done' ? [id] : [])),
  )
  const all = line.map((commit) => ({ commit, entry: entries.findLast((entry) => entry.landedCommit === commit) }))
  const stays = all.filter(({ entry }) => entry === undefined || done.has(entry.taskId))
  return { stays, goes: all.length - stays.length }
}

type Replayed =
  | { ok: true; head: string; moved: { entry: MergeEntry | undefined; to: string }[] }
  | { ok: false; entry: MergeEntry | undefined; commit: string; conflicts: string[] }

/** Applies the commits to `onto`. A commit whose change is there already gives no new commit. */
const replay = async ({ ports, shadow }: Context, stays: readonly Picked[], onto: string): Promise<Replayed> => {
  const moved: { entry: MergeEntry | undefined; to: string }[] = []
  let head = onto
  for (const { commit, entry } of stays) {
    const integrated = await ports.git.integrate(shadow, { commit, onto: head })
    if (!integrated.ok) return { ok: false, entry, commit, conflicts: integrated.conflicts }
    if (integrated.rebased && (await ports.git.changesBetween(shadow, head, integrated.commit)).length === 0) continue
    head = integrated.commit
    moved.push({ entry, to: head })
  }
  return { ok: true, head, moved }
}

/** The observed tips. `from` is the content of the goal branch, with commits of others on top. */
interface Seen {
  tip: string
  from: string
  /** The value that the compare-and-swap expects. */
  found: string | null
}

const seeLocal = async (context: Context, goal: Goal): Promise<Seen | undefined> => {
  const tip = goal.landing.onForge ?? (await context.ports.git.readRef(context.repository, targetRef(goal)))
  return tip === null ? undefined : { tip, from: goalHead(goal), found: goalHead(goal) }
}

const seeRemote = async (context: Context, goal: Goal): Promise<Seen | undefined> => {
  const seen = await remoteLinkOf(context).fetchRefs([targetRef(goal), goalRef(goal)])
  const tip = seen[targetRef(goal)]
  const found = seen[goalRef(goal)] ?? null
  return tip === undefined ? undefined : { tip, from: found ?? goalHead(goal), found }
}

/** Moves the local goal branch. False = something else moved it; the next try restores it first. */
export const publishLocal = async (
  context: Context,
  goal: Goal,
  move: { onto: string; to: string },
): Promise<boolean> => {
  const { git } = context.ports
  const ref = goalRef(goal)
  if ((await git.readRef(context.repository, ref)) === move.to) return true
  await restoreGoalBranch(context, goal)
  await confirmLeadership(context.db)
  const change = { ref, from: goalHead(goal), to: move.to, present: move.onto }
  return (await git.publish(context.repository, context.shadow, change)) === 'done'
}

/** The same for the branch on the remote, from the commit that was found there. Throws if the remote refuses it. */
export const publishRemote = async (
  context: Context,
  goal: Goal,
  { onto, to, found }: { onto: string; to: string; found: string | null },
): Promise<boolean> => {
  await context.ports.git.bringObjects(context.repository, context.shadow, { from: onto, to })
  await confirmLeadership(context.db)
  const pushed = await remoteLinkOf(context).push([{ ref: goalRef(goal), to, expected: found }])
  if (pushed.kind === 'refused') throw new Error(`the remote refused ${goalRef(goal)}: ${pushed.detail}`)
  return pushed.kind === 'done'
}

/** The commit to rebase. Restores the branch on the remote first if something other than a commit on top moved it. */
const restoredOnRemote = async (context: Context, goal: Goal, seen: Seen): Promise<Seen> => {
  const from = await remoteMergeBase(context, goal, { head: goalHead(goal), tip: seen.found })
  return { ...seen, from, found: from }
}

const record = async (
  context: Context,
  goal: Goal,
  done: { onto: string; replayed: Extract<Replayed, { ok: true }>; goes: number },
): Promise<true> => {
  const { onto, goes } = done
  const { head, moved } = done.replayed
  const before = goalHead(goal)
  await context.db.transaction(async (tx) => {
    for (const { entry, to } of moved) if (entry !== undefined) await relocateMerge(tx, entry, to)
    const unverified = moved.length > 0 && (goal.landing.unverified || head !== before)
    // The sent-back work is off the branch now, so the refusals on the way are over.
    const freed = goal.landing.sentBack ? { tries: 0, refused: null } : {}
    await progressGoal(tx, goal.id, {
      baseCommit: onto,
      headCommit: head,
      landing: { outdated: false, sentBack: false, unverified, ...freed },
      ...(goal.landing.sentBack ? { reason: '' } : {}),
    })
    await appendEvent(tx, {
      type: 'goal.rebased',
      goalId: goal.id,
      payload: { onto, before, head, commits: moved.length, leftOut: goes },
    })
  })
  context.at('goal-rebase-recorded')
  return true
}

/** Redoes the task whose commit conflicts, or asks a person. A conflicting commit of others always needs a person. */
const sendBack = async (
  context: Context,
  goal: Goal,
  { entry, commit, conflicts, onto }: Extract<Replayed, { ok: false }> & { onto: string },
): Promise<boolean> => {
  const [task, run] = [
    entry === undefined ? undefined : await getTask(context.db, entry.taskId),
    entry === undefined ? undefined : await getRun(context.db, entry.runId),
  ]
  if (entry !== undefined && task !== undefined && run !== undefined) {
    await handleMergeConflict({ context, goal, task, run, entry, tries: 0 }, { conflicts, onto })
    return true
  }
  const detail = `commit ${commit.slice(0, 12)} on the goal branch is not from Unstuck and conflicts with ${goal.targetBranch}`
  await refuseLanding(context, goal, { reason: 'conflict', detail, paths: conflicts })
  return false
}

/** Whether a run of this step before a crash moved the branch already; others may have added commits since. */
const isPublished = async (
  context: Context,
  goal: Goal,
  { found, head, goes }: { found: string | null; head: string; goes: number },
): Promise<boolean> => {
  if (found === head) return true
  if (found === null || goes > 0 || head === goalHead(goal)) return false
  return context.ports.git.isBelow(context.repository, head, found)
}

/**
 * Rebases a goal branch onto the tip of its target, as far as one pass can; work that is sent back is left out by the
 * next pass. False = nothing more can be done now.
 */
export const rebaseGoal = async (context: Context, goal: Goal): Promise<boolean> => {
  const isRemote = goal.repoMode === 'remote'
  const observed = isRemote ? await seeRemote(context, goal) : await seeLocal(context, goal)
  if (observed === undefined) {
    const detail = `the branch ${goal.targetBranch} does not exist any more`
    await refuseLanding(context, goal, { reason: 'branch-missing', detail, paths: [] })
    return false
  }
  const isBehind = await addsOnlyGoal(context, goal, observed.tip)
  const onto = isBehind ? (goal.baseCommit ?? observed.tip) : observed.tip
  // A push before a crash left the commit that replaying from the store's own head gives, so replay from there
  // first.
  const own = await pick(context, goal, { from: goalHead(goal), onto })
  const again = await replay(context, own.stays, onto)
  if (again.ok && (await isPublished(context, goal, { found: observed.found, head: again.head, goes: own.goes })))
    return record(context, goal, { onto, replayed: again, goes: own.goes })
  const seen = isRemote ? await restoredOnRemote(context, goal, observed) : observed
  const { stays, goes } = seen.from === goalHead(goal) ? own : await pick(context, goal, { from: seen.from, onto })
  const replayed = seen.from === goalHead(goal) ? again : await replay(context, stays, onto)
  if (!replayed.ok) return sendBack(context, goal, { ...replayed, onto })
  context.at('goal-rebased')
  const move = { onto, to: replayed.head, found: seen.found }
  const published = isRemote ? await publishRemote(context, goal, move) : await publishLocal(context, goal, move)
  context.at('goal-rebase-published')
  // If the branch was not moved, the goal stays outdated, and the next pass starts from the branch as it is then.
  return published && record(context, goal, { onto, replayed, goes })
}
