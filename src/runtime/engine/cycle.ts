/** The cycle manager's periodic work: due retries, dead dependencies, goals that have ended. Every pass is safe to repeat. */
import { landCommand } from '../landing/goal-branch.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { dropEndedLimits } from '../../store/account.ts'
import { messageOf } from '../../errors.ts'
import { must, StaleError, type Queryable } from '../../store/db.ts'
import { getGoal, listLiveGoals, moveGoal } from '../../store/goal.ts'
import { dueTasks, listTasks, moveTask } from '../../store/task.ts'
import { cancel, retry } from '../core/choices.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { dropAllUnused } from '../landing/hand-overs.ts'
import {
  followTarget,
  lookDue,
  lookOf,
  tipsOfPass,
  tryLand,
  type Look,
  type Looked,
  type TipOf,
} from '../landing/land-goal.ts'
import { refuseLanding } from '../landing/refused-landing.ts'
import { isToVerify } from '../landing/goal-verify.ts'
import { acceptedText } from '../landing/still-red.ts'

/** Tasks whose persisted time has come go back to the queue, and limits whose time has come are over. */
const requeueDue = async (context: Context): Promise<void> => {
  await context.db.transaction(dropEndedLimits)
  for (const task of await dueTasks(context.db)) {
    await context.db.transaction((tx) =>
      moveTask(tx, task, 'retry_due', {
        payload: {
          reason: task.place === 'failed' ? 'cooldown_retry' : 'quota_wait_retry',
          after: task.retry?.reason,
          count: task.retry?.count,
        },
      }),
    )
  }
}

/** Queued tasks that need a cancelled one, however long the chain. */
const dependentsOfCancelled = (tasks: readonly Task[]): Task[] => {
  const dead = new Set(tasks.filter((task) => task.place === 'cancelled').map((task) => task.id))
  const lost: Task[] = []
  for (let found = true; found;) {
    const next = tasks.filter(
      (task) => task.place === 'queued' && !dead.has(task.id) && task.dependsOn.some((id) => dead.has(id)),
    )
    for (const task of next) dead.add(task.id)
    lost.push(...next)
    found = next.length > 0
  }
  return lost
}

const lostText = ({ title }: Goal, { length }: readonly Task[]): string =>
  `${length === 1 ? 'A task' : `${length} tasks`} of "${title}" ${length === 1 ? 'was' : 'were'} cancelled because a required task was cancelled.`

const askAboutLost = (context: Context, tx: Queryable, goal: Goal, lost: readonly Task[]): Promise<void> =>
  openEscalation(tx, {
    id: context.newId('q'),
    goalId: goal.id,
    taskId: null,
    runId: null,
    kind: 'exhausted',
    happened: lostText(goal, lost),
    tried: [],
    question: lostText(goal, lost),
    details: lost.map((task) => `${task.number}. ${task.title}`).join('\n'),
    choices: [retry(goal.id), cancel(goal.id)],
  })

/** Dependents of a cancelled task are cancelled, and one question per goal says so. */
const cancelDependents = async (context: Context, goal: Goal, tasks: Task[]): Promise<boolean> => {
  const lost = dependentsOfCancelled(tasks)
  if (lost.length === 0) return false
  const asked = (await listEscalations(context.db, { goalId: goal.id, pendingOnly: true })).some(
    (entry) => entry.taskId === null,
  )
  await context.db.transaction(async (tx) => {
    for (const task of lost)
      must(await moveTask(tx, task, 'dependency_cancelled', { payload: { reason: 'dependency_cancelled' } }))
    if (!asked) await askAboutLost(context, tx, goal, lost)
  })
  return true
}

/** Every task has ended: the goal is ready to land, or is over where tasks of it were cancelled. */
const endGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  // The merge queue's flight has the next step.
  if (goal.landing.outdated || isToVerify(goal, tasks)) return
  await dropAllUnused(context)
  const cancelled = tasks.filter((task) => task.place === 'cancelled').length
  if (cancelled > 0) {
    const detail = `${cancelled} of ${tasks.length} task(s) were cancelled`
    await context.db.transaction((tx) => moveGoal(tx, goal, 'work_cancelled', detail))
    return
  }
  const isDirect = goal.repoMode === 'direct'
  const detail = isDirect ? `the work is in the folder${await acceptedText(context, goal)}` : landCommand(goal)
  await context.db.transaction(async (tx) => {
    const ready = must(await moveGoal(tx, goal, 'all_done', detail))
    if (isDirect) must(await moveGoal(tx, ready, 'landed', detail))
  })
  context.at('goal-ready')
}

/** What waits behind a question waits for a person as well, however long the chain. */
const allWaitForPeople = (waiting: readonly Task[]): boolean => {
  const blockedOn = new Set(waiting.filter((task) => task.place === 'blocked(awaiting_human)').map((task) => task.id))
  const stuckBehind = (task: Task): boolean =>
    blockedOn.has(task.id) || (task.place === 'queued' && task.dependsOn.some((id) => blockedOn.has(id)))
  for (let before = -1; before !== blockedOn.size;) {
    before = blockedOn.size
    for (const task of waiting.filter(stuckBehind)) blockedOn.add(task.id)
  }
  return waiting.every((task) => blockedOn.has(task.id))
}

const finishGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  const waiting = tasks.filter((task) => task.place !== 'done' && task.place !== 'cancelled')
  if (waiting.length === 0) return endGoal(context, goal, tasks)
  if (!allWaitForPeople(waiting)) return
  await context.db.transaction((tx) =>
    moveGoal(tx, goal, 'only_questions_left', 'every task that is left waits for a person'),
  )
}

const tend = async (context: Context, goal: Goal, given: { look: Look; tipOf: TipOf }): Promise<void> => {
  const { look, tipOf } = given
  // Until its branch is there again, nothing that is read from it says anything.
  if (goal.landing.broken !== null) return
  if (goal.state === 'ready' && lookDue(context, look, goal)) await tryLand(context, goal, look, tipOf)
  if (goal.state !== 'active') return
  const tasks = await listTasks(context.db, goal.id)
  await followTarget(context, goal, tasks, given)
  if (await cancelDependents(context, goal, tasks)) return
  await finishGoal(context, goal, tasks)
  const after = await getGoal(context.db, goal.id)
  if (after?.state === 'ready') await tryLand(context, after, look, tipOf)
}

/** Told once, and not in every pass; one that is ready says with its state why it does not land. */
const noteFailure = async (
  context: Context,
  goalId: string,
  { look, detail }: { look: Look; detail: string },
): Promise<void> => {
  const goal = await getGoal(context.db, goalId)
  if (goal?.state === 'ready') await refuseLanding(context, goal, { reason: 'git-failed', detail, paths: [] })
  else if (look.failed !== detail)
    context.log.error({ goal: goalId, error: detail }, 'a goal could not be looked after')
  look.failed = detail
}

/** Looks at every goal that has not ended and takes the next step that no run or merge takes. */
export const cycleOnce = async (context: Context, looked: Looked): Promise<void> => {
  await requeueDue(context)
  const tipOf = tipsOfPass(context)
  for (const goal of await listLiveGoals(context.db)) {
    const look = lookOf(looked, goal)
    try {
      await tend(context, goal, { look, tipOf })
      delete look.failed
    } catch (error) {
      if (endsPass(context, error)) throw error
      // Somebody changed it at the same moment; the next pass sees how it is then.
      if (!(error instanceof StaleError)) await noteFailure(context, goal.id, { look, detail: messageOf(error) })
    }
  }
}
