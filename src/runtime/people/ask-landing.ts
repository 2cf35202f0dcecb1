/** A person has a goal land: `unstuck land`. */
import { isGoalBranch, isOnItsWay, type Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { moveGoal, progressGoal } from '../../store/goal.ts'
import { listMerges } from '../../store/merge.ts'
import { listTasks } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { findBranches, missingBranchText, landCommand, usableLandCommand } from '../landing/goal-branch.ts'
import { goalNamed } from './commands.ts'

/** States of a goal in which some of its tasks can be done and others not. */
const unfinished = new Set<Goal['state']>(['active', 'paused', 'awaiting_human', 'failed', 'cancelled'])

const formerEnd = ({ state }: Goal): 'failed' | 'cancelled' | undefined =>
  state === 'failed' || state === 'cancelled' ? state : undefined

/** How many tasks of the goal have work on its branch. */
const landableTasks = async (db: Queryable, goalId: string): Promise<number> => {
  const merged = new Set((await listMerges(db, { goalId, state: 'merged' })).map(({ taskId }) => taskId))
  return (await listTasks(db, goalId)).filter(({ id, status }) => status === 'done' && merged.has(id)).length
}

/** Why the goal does not land as a whole, and where to look. */
const notReadyText = (goal: Goal, tasks: readonly Task[]): string => {
  const work = tasks.filter(({ supersededBy }) => supersededBy === null)
  const open = work.filter(({ status }) => status !== 'done').length
  const state = goal.state.replaceAll('_', ' ')
  if (goal.state === 'active' && work.length > 0 && open === 0)
    return `goal ${goal.id} is about to be ready; "unstuck status" shows when it can land`
  if (!unfinished.has(goal.state) || open === 0)
    return `goal ${goal.id} is ${state}, and only a goal whose tasks are all done can land; "unstuck status" shows what it waits for`
  const look = goal.state === 'awaiting_human' ? '"unstuck inbox" has your questions' : '"unstuck status" shows why'
  return `${open} of the ${work.length} tasks of goal ${goal.id} ${open === 1 ? 'is' : 'are'} not done; ${look}`
}

const requireLandable = async (tx: Queryable, goal: Goal, done: boolean): Promise<void> => {
  if (goal.state === 'ready') return
  const finished = unfinished.has(goal.state) && goal.repoMode !== 'direct' ? await landableTasks(tx, goal.id) : 0
  if (done && finished > 0) return
  const way =
    finished === 0
      ? ''
      : `; to land ${finished === 1 ? 'the task that is' : `the ${finished} tasks that are`} done: unstuck land ${goal.id} --done`
  throw new AppError(
    'ILLEGAL',
    done
      ? `goal ${goal.id} is ${goal.state.replaceAll('_', ' ')}, and no work of it is done that could land; "unstuck status" shows what it waits for`
      : `${notReadyText(goal, await listTasks(tx, goal.id))}${way}`,
  )
}

const intoBranch = async ({ ports, repository }: Context, goal: Goal, branch: string): Promise<string> => {
  if (goal.repoMode !== 'local')
    throw new AppError(
      'USAGE',
      `--into applies to goals with a branch of their own in this repository, and goal ${goal.id} has none`,
    )
  if (isGoalBranch(branch))
    throw new AppError('USAGE', `--into: ${branch} is a branch of Unstuck; name one of yours ("git branch" lists them)`)
  if ((await ports.git.readRef(repository, `refs/heads/${branch}`)) === null)
    throw new AppError('USAGE', `--into: there is no branch ${branch} in this repository; "git branch" lists them`)
  return branch
}

/**
 * Requests the landing of a ready goal, also if `autoMerge` is off, or of one that is ready when its checks have passed on a newer base; with
 * `done`, of what is done of an unfinished one. The engine lands it and stores the result with the goal. `before` happens in the same transaction.
 */
export const landGoal = async (
  context: Context,
  id: string,
  { done = false, into, before }: { done?: boolean; into?: string; before?: (tx: Queryable) => Promise<void> } = {},
): Promise<Goal> => {
  const present = await findBranches(context)()
  const found = await goalNamed(context.db, id)
  const chosen = into === undefined ? undefined : await intoBranch(context, found, into)
  await context.db.transaction(async (tx) => {
    await before?.(tx)
    const goal = await goalNamed(tx, id)
    if (goal.state === 'done') return
    // The order is kept, and carried out when the checks have passed on the newer base.
    const comesLater = !done && chosen === undefined && isOnItsWay(goal, await listTasks(tx, id))
    if (!comesLater) await requireLandable(tx, goal, done)
    const branch = chosen ?? goal.targetBranch
    if (branch === null)
      throw new AppError(
        'ILLEGAL',
        `goal ${id} was started on no branch (HEAD was detached); name the branch that is to have it: ${usableLandCommand(goal, present) ?? missingBranchText(goal)}`,
      )
    const target = chosen === undefined ? {} : { targetBranch: chosen }
    if (goal.state === 'ready')
      await progressGoal(tx, id, {
        ...{ ...target, reason: landCommand({ ...goal, ...target }) },
        landing: { asked: true, tries: 0, refused: null },
      })
    else if (comesLater) await progressGoal(tx, id, { landing: { asked: true, refused: null } })
    else {
      const endedAs = formerEnd(goal)
      if (endedAs !== undefined)
        mustSucceed(await moveGoal(tx, goal, 'landed_in_part', 'what is done of it is to land'))
      const before = endedAs === undefined ? {} : { endedAs }
      await progressGoal(tx, id, { ...target, landing: { part: true, refused: null, ...before } })
    }
    await appendEvent(tx, { type: 'goal.landing_asked', goalId: id, payload: { branch, comesLater } })
  })
  context.wake()
  return goalNamed(context.db, id)
}
