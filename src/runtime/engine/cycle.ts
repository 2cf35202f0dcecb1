/**
 * The periodic work on goals: due retries, dependents of cancelled tasks, goals that have ended. Every pass can be
 * repeated.
 */
import { taskName } from '../../domain/task-title.ts'
import { landCommand } from '../landing/goal-branch.ts'
import { isWithoutWork, type Goal } from '../../domain/goal.ts'
import { isOfReplan, replanPriority, wantsReplan } from '../../domain/replan.ts'
import { waitsForAutoFix } from '../../domain/rework.ts'
import type { Task } from '../../domain/task.ts'
import { dropEndedLimits } from '../../store/account.ts'
import { messageOf } from '../../errors.ts'
import { mustSucceed, StaleError, type Queryable } from '../../store/db.ts'
import type { DueWork } from '../../store/due.ts'
import { getGoal, listLiveGoals, moveGoal, progressGoal } from '../../store/goal.ts'
import { listMerges } from '../../store/merge.ts'
import { givenUpTasks } from '../../store/requeue.ts'
import { listTasks, moveTask, insertTasks } from '../../store/task.ts'
import { cancelChoice, retryChoice } from '../core/choices.ts'
import { isAboutGoal } from '../../domain/escalation.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import { requireAsRead } from '../core/as-read.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { dropUnusedRunRefs } from '../landing/run-refs.ts'
import {
  followTarget,
  isPollDue,
  targetPollOf,
  cachedTips,
  tryLand,
  type TargetPoll,
  type TargetPolls,
  type ReadTip,
} from '../landing/land-goal.ts'
import { tryLandPart } from '../landing/land-part.ts'
import { refuseLanding } from '../landing/refused-landing.ts'
import { needsVerification } from '../landing/goal-verify.ts'
import { acceptedFailuresText } from '../landing/accepted-failures.ts'
import { correctorOf } from '../people/waiting-on.ts'
import { pathDecisions } from '../run/policy-options.ts'
import { askAboutNext, requeueDue } from './requeue.ts'
import { appendEvent } from '../../store/event.ts'
import { maxTitle } from '../core/task-fields.ts'

// Every task of a planned goal is done: before the goal ends, a planner compares what was asked with what was done. It is a task of the
// lowest priority, so local work and the work of issues come first where agents are scarce.

/** True = the goal has a task more. */
const beginReplan = async (context: Context, goal: Goal, tasks: readonly Task[]): Promise<boolean> => {
  // In place there is no commit before the work that it could be compared with.
  const plan = tasks.find((task) => task.plan !== null && task.status === 'done')
  if (goal.repoMode === 'direct' || plan === undefined) return false
  const most = context.config().planner.replans
  if (!wantsReplan(tasks, most)) return false
  const number = Math.max(...tasks.map((task) => task.number)) + 1
  const { instructions, role, allowedPaths, deniedPaths, commandSource, targetArea, harness, model, judge } = plan
  const { contextFiles, originalCommands: commands } = plan
  await context.db.transaction(async (tx) => {
    await requireAsRead(tx, goal, tasks)
    const id = context.newId('t')
    await insertTasks(tx, [
      {
        ...{ id, goalId: goal.id, number, plan: 'replan' },
        title: `Look for what is missing: ${goal.title}`.slice(0, maxTitle),
        ...{ instructions, role, allowedPaths, deniedPaths, commandSource, targetArea, harness, model, judge },
        ...{ contextFiles, commands, dependsOn: [], priority: plan.priority + replanPriority },
      },
    ])
    const round = tasks.filter((task) => task.plan === 'replan').length + 1
    await appendEvent(tx, {
      type: 'planner.replan_triggered',
      ...{ goalId: goal.id, taskId: id },
      payload: { reason: 'local task backlog == 0', round, most, head: goal.headCommit },
    })
  })
  context.wake()
  return true
}

/** A cancelled task whose work no other task does. A comparison with what was asked is no work. */
const isLost = (task: Task): boolean => task.status === 'cancelled' && task.supersededBy === null && !isOfReplan(task)

/** Queued tasks that depend on a cancelled task, directly or through others. */
const dependentsOfCancelled = (tasks: readonly Task[]): Task[] => {
  const cancelled = new Set(tasks.filter(isLost).map((task) => task.id))
  const stranded: Task[] = []
  for (let found = true; found;) {
    const next = tasks.filter(
      (task) => task.status === 'queued' && !cancelled.has(task.id) && task.dependsOn.some((id) => cancelled.has(id)),
    )
    for (const task of next) cancelled.add(task.id)
    stranded.push(...next)
    found = next.length > 0
  }
  return stranded
}

const askAboutStranded = (context: Context, tx: Queryable, goal: Goal, stranded: readonly Task[]): Promise<void> => {
  const [one] = stranded.length === 1 ? stranded : []
  const happened =
    one === undefined
      ? `${stranded.length} tasks of goal "${goal.title}" were cancelled, because a task they depend on was cancelled.`
      : `${taskName(one)} was cancelled, because a task it depends on was cancelled.`
  return openEscalation(tx, {
    id: context.newId('q'),
    goalId: goal.id,
    taskId: null,
    runId: null,
    kind: 'exhausted',
    happened,
    tried: [],
    question: happened,
    details: stranded.map((task) => `${task.number}. ${task.title}`).join('\n'),
    choices: [retryChoice(goal.id), cancelChoice(goal.id)],
  })
}

const isAskedAbout = async (context: Context, goal: Goal): Promise<boolean> =>
  (await listEscalations(context.db, { goalId: goal.id, pendingOnly: true })).some(isAboutGoal)

/** Whether the engine gave a task up. A person who cancelled one, and with it what needs it, has decided already. */
const hasGivenUp = async (context: Context, goal: Goal): Promise<boolean> =>
  (await givenUpTasks(context.db, goal.id)).length > 0

/** Cancels the dependents of a cancelled task, and asks one question per goal about them unless a person cancelled it. */
const cancelDependents = async (context: Context, goal: Goal, tasks: Task[]): Promise<boolean> => {
  const stranded = dependentsOfCancelled(tasks)
  if (stranded.length === 0) return false
  const isQuestion = (await hasGivenUp(context, goal)) && !(await isAskedAbout(context, goal))
  await context.db.transaction(async (tx) => {
    for (const task of stranded)
      mustSucceed(await moveTask(tx, task, 'dependency_cancelled', { payload: { reason: 'dependency_cancelled' } }))
    if (isQuestion) await askAboutStranded(context, tx, goal, stranded)
  })
  return true
}

const moveAsRead = (context: Context, goal: Goal, tasks: readonly Task[], move: [trigger: string, reason: string]) =>
  context.db.transaction(async (tx) => {
    await requireAsRead(tx, goal, tasks)
    mustSucceed(await moveGoal(tx, goal, ...move))
  })

/** A person is asked about a task that was given up, so the goal has not failed yet. */
const waitsForAnswer = async (context: Context, goal: Goal, tasks: readonly Task[]): Promise<boolean> => {
  if (!(await hasGivenUp(context, goal)) || !(await isAskedAbout(context, goal))) return false
  const reason = 'your answer about a task that was given up is needed'
  await moveAsRead(context, goal, tasks, ['only_questions_left', reason])
  return true
}

/** Read with the lock: the goal of the pass may be older than the last merge, and work must not be taken for none. */
const landsNothing = async (tx: Queryable, { id }: Goal): Promise<boolean> => {
  const goal = await getGoal(tx, id)
  return goal !== undefined && isWithoutWork(goal) && (await listMerges(tx, { goalId: id })).length === 0
}

/** Every task has ended: the goal becomes ready to land, or ends if tasks of it were cancelled. */
const endGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  // The merge queue rebases or verifies the goal first.
  if (goal.landing.outdated || needsVerification(goal, tasks)) return
  await dropUnusedRunRefs(context)
  const needed = tasks.filter(({ supersededBy }) => supersededBy === null)
  const cancelled = needed.filter(isLost).length
  if (cancelled > 0) {
    const { endedAs = null } = goal.landing
    if (endedAs === null && (await waitsForAnswer(context, goal, tasks))) return
    const detail =
      needed.length === 1
        ? 'its only task was cancelled'
        : `${cancelled} of ${needed.length} tasks ${cancelled === 1 ? 'was' : 'were'} cancelled`
    await context.db.transaction(async (tx) => {
      await requireAsRead(tx, goal, tasks)
      mustSucceed(await moveGoal(tx, goal, endedAs === 'cancelled' ? 'cancelled' : 'work_cancelled', detail))
      if (endedAs !== null) await progressGoal(tx, goal.id, { landing: { endedAs: null } })
    })
    return
  }
  if (await beginReplan(context, goal, tasks)) return
  const isDirect = goal.repoMode === 'direct'
  const inFolder = `the work is in the folder${isDirect ? await acceptedFailuresText(context, goal) : ''}`
  await context.db.transaction(async (tx) => {
    await requireAsRead(tx, goal, tasks)
    const isEmpty = await landsNothing(tx, goal)
    const detail = isEmpty ? 'no file differs, so nothing lands' : isDirect ? inFolder : landCommand(goal)
    const ready = mustSucceed(await moveGoal(tx, goal, 'all_done', detail))
    if (isDirect || isEmpty) mustSucceed(await moveGoal(tx, ready, 'landed', detail))
  })
  context.at('goal-ready')
}

/** True if every waiting task waits for a person, directly or behind a task that does: one that it depends on, or that corrects its work. */
const allWaitForPeople = (waiting: readonly Task[], tasks: readonly Task[]): boolean => {
  const blockedOn = new Set(waiting.filter((task) => task.status === 'blocked(awaiting_human)').map((task) => task.id))
  const waitsForPerson = (task: Task): boolean =>
    blockedOn.has(task.id) ||
    (task.status === 'queued' && task.dependsOn.some((id) => blockedOn.has(id))) ||
    (waitsForAutoFix(task) && blockedOn.has(correctorOf(task, tasks)?.id ?? ''))
  for (let before = -1; before !== blockedOn.size;) {
    before = blockedOn.size
    for (const task of waiting.filter(waitsForPerson)) blockedOn.add(task.id)
  }
  return waiting.every((task) => blockedOn.has(task.id))
}

const finishGoal = async (context: Context, goal: Goal, tasks: Task[]): Promise<void> => {
  // Only an active goal is rebased and verified, so it stays active until what is done has landed.
  if (goal.landing.part === true) return
  const waiting = tasks.filter((task) => task.status !== 'done' && task.status !== 'cancelled')
  if (waiting.length === 0) return endGoal(context, goal, tasks)
  if (!allWaitForPeople(waiting, tasks)) return
  await moveAsRead(context, goal, tasks, ['only_questions_left', 'every remaining task waits for your answer'])
}

/** The goal after its finished part has landed, or has been set to be rebased, on a person's order. */
const withoutPart = async (context: Context, goal: Goal, tipOf: ReadTip): Promise<Goal> => {
  if (goal.landing.part !== true || goal.state === 'ready') return goal
  await tryLandPart(context, goal, await listTasks(context.db, goal.id), tipOf)
  return (await getGoal(context.db, goal.id)) ?? goal
}

const advanceGoal = async (
  context: Context,
  found: Goal,
  given: { poll: TargetPoll; tipOf: ReadTip },
): Promise<void> => {
  const { poll, tipOf } = given
  // Until the branch is restored, nothing that is read from it can be trusted.
  if (found.landing.broken !== null) return
  const goal = await withoutPart(context, found, tipOf)
  if (goal.state === 'ready' && isPollDue(context, poll, goal)) await tryLand(context, goal, poll, tipOf)
  if (goal.state !== 'active') return
  const tasks = await listTasks(context.db, goal.id)
  await followTarget(context, goal, tasks, given)
  // A goal that had ended was asked about then.
  const isNew = (goal.landing.endedAs ?? null) === null
  if (isNew && tasks.some(isLost) && !(await isAskedAbout(context, goal)))
    await askAboutNext(context, goal.id, pathDecisions)
  if (await cancelDependents(context, goal, tasks)) return
  await finishGoal(context, goal, tasks)
  const after = await getGoal(context.db, goal.id)
  if (after?.state === 'ready') await tryLand(context, after, poll, tipOf)
}

/** Reports a failure once instead of in every pass. A ready goal shows the reason with its state. */
const reportFailure = async (
  context: Context,
  goalId: string,
  { poll, detail }: { poll: TargetPoll; detail: string },
): Promise<void> => {
  const goal = await getGoal(context.db, goalId)
  if (goal?.state === 'ready') await refuseLanding(context, goal, { reason: 'git-failed', detail, paths: [] })
  else if (poll.lastError !== detail) context.log.error({ goal: goalId, error: detail }, 'a pass over this goal failed')
  poll.lastError = detail
}

/** One pass over every live goal: takes the steps that belong to no run or merge. */
export const runCycle = async (
  context: Context,
  polls: TargetPolls,
  due: Pick<DueWork, 'limits' | 'tasks'>,
): Promise<void> => {
  if (due.limits) await context.db.transaction(dropEndedLimits)
  if (due.tasks) await requeueDue(context, pathDecisions)
  const tipOf = cachedTips(context)
  for (const goal of await listLiveGoals(context.db)) {
    const poll = targetPollOf(polls, goal)
    try {
      await advanceGoal(context, goal, { poll, tipOf })
      delete poll.lastError
    } catch (error) {
      if (endsPass(context, error)) throw error
      // Another writer changed the goal at the same moment; the next pass reads its new state.
      if (!(error instanceof StaleError)) await reportFailure(context, goal.id, { poll, detail: messageOf(error) })
    }
  }
}
