/**
 * Restarts a goal whose branch is lost, because a person chose so: from its target's current commit, with every task
 * whose work is not there. The branch is moved first, then the store; a crash in between repeats both.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { mustSucceed } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import { withdrawJudgement } from '../../store/judgement.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { listMerges, moveMerge } from '../../store/merge.ts'
import { listTasks, moveTask } from '../../store/task.ts'
import { goalRef, type Context } from '../core/context.ts'
import { remoteLinkOf } from '../core/remote-link.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { recordBrokenBranch } from './broken-branch.ts'
import { remoteTargetTip } from './remote-target.ts'

/**
 * The commit to start from: the target, or the checkout for a goal without a target. Null = work in place, undefined =
 * no such branch.
 */
const startOf = async (context: Context, goal: Goal): Promise<string | null | undefined> => {
  const { ports, repository } = context
  if (goal.repoMode === 'direct') return null
  if (goal.repoMode === 'remote') return (await remoteTargetTip(context, goal)) ?? undefined
  if (goal.targetBranch !== null)
    return (await ports.git.readRef(repository, `refs/heads/${goal.targetBranch}`)) ?? undefined
  return (await ports.git.openRepository(repository.root)).head ?? undefined
}

const moveOnRemote = async (context: Context, goal: Goal, to: string): Promise<boolean> => {
  const ref = goalRef(goal)
  const expected = (await remoteLinkOf(context).fetchRefs([ref]))[ref] ?? null
  if (expected === to) return true
  await confirmLeadership(context.db)
  const pushed = await remoteLinkOf(context).push([{ ref, to, expected }])
  if (pushed.kind === 'refused') throw new Error(`the remote refused ${ref}: ${pushed.detail}`)
  return pushed.kind === 'done'
}

const moveBranch = async (context: Context, goal: Goal, to: string): Promise<boolean> => {
  if (goal.repoMode === 'remote') return moveOnRemote(context, goal, to)
  const { git } = context.ports
  const ref = goalRef(goal)
  const from = await git.readRef(context.repository, ref)
  await confirmLeadership(context.db)
  return (await git.restoreRef(context.repository, { ref, from, to })) === 'done'
}

/** Ids of finished tasks whose work is in the start commit already. */
const containedIn = async (context: Context, goal: Goal, start: string | null): Promise<Set<string>> => {
  const { ports, repository, db } = context
  const contained = new Set<string>()
  if (start === null) return contained
  for (const { taskId, landedCommit: commit } of await listMerges(db, { goalId: goal.id, state: 'merged' })) {
    if (commit === null || !(await ports.git.isCommitOf(repository, { commit, below: null, not: null }))) continue
    if (await ports.git.isBelow(repository, commit, start)) contained.add(taskId)
  }
  return contained
}

/** The division of the goal into tasks is no work on the branch: planned again, each task would be there twice. */
const isToRedo = ({ id, status, plan }: Task, contained: ReadonlySet<string>): boolean =>
  status === 'blocked(awaiting_judge)' || (status === 'done' && plan === null && !contained.has(id))

const record = async (
  context: Context,
  goal: Goal,
  { start, contained }: { start: string | null; contained: ReadonlySet<string> },
): Promise<void> => {
  const redone = (await listTasks(context.db, goal.id)).filter((task) => isToRedo(task, contained))
  await context.db.transaction(async (tx) => {
    for (const entry of await listMerges(tx, { goalId: goal.id, state: 'pending' }))
      mustSucceed(await moveMerge(tx, entry, 'cancelled', { detail: 'its goal was restarted' }))
    for (const task of redone) {
      await failOpenRecoveries(tx, task.id, 'the goal was restarted')
      await withdrawJudgement(tx, task.id, 'the goal was restarted')
      mustSucceed(await moveTask(tx, task, 'conflicted', { resetBudget: true, payload: { reason: 'began_again' } }))
    }
    const landing = { outdated: false, unverified: false, sentBack: false, tries: 0, refused: null, broken: null }
    const at = start === null ? {} : { baseCommit: start, headCommit: start }
    await progressGoal(tx, goal.id, { ...at, landing, reason: '' })
    await appendEvent(tx, {
      type: 'goal.began_again',
      goalId: goal.id,
      payload: { start, before: goal.headCommit, tasks: redone.length },
    })
  })
}

/** False = nothing more can be done now. */
export const restartGoal = async (context: Context, goal: Goal): Promise<boolean> => {
  const start = await startOf(context, goal)
  if (start === undefined) {
    const detail = `the branch ${goal.targetBranch ?? 'of your checkout'} does not exist, so the goal cannot restart on it`
    await recordBrokenBranch(context, goal.id, { reason: 'failed', detail })
    return false
  }
  if (start !== null && !(await moveBranch(context, goal, start))) return false
  await record(context, goal, { start, contained: await containedIn(context, goal, start) })
  context.wake()
  return true
}
