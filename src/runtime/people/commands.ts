/**
 * The commands of a person: pause, resume, retry, cancel. Every change goes through the flow tables, so a command that comes
 * too late is an error and changes nothing.
 */
import { isAboutGoal, offersChoice, type ChoiceKind } from '../../domain/escalation.ts'
import { goalEnded, waitsForBranch, type BrokenBranch, type Goal } from '../../domain/goal.ts'
import { waitsForAutoFix } from '../../domain/rework.ts'
import { taskEnded, type Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { liftLimits } from '../../store/account.ts'
import { liftForeignLimits } from '../harness/accounts.ts'
import { stale, type Queryable } from '../../store/db.ts'
import { answerEscalation, listEscalations, pendingEscalationOf } from '../../store/escalation.ts'
import {
  getGoal,
  halfCancelledGoals,
  listLiveGoals,
  lockGoal,
  moveGoal,
  progressGoal,
  resetGoalSpend,
} from '../../store/goal.ts'
import { withdrawJudgement } from '../../store/judgement.ts'
import { listMerges, moveMerge } from '../../store/merge.ts'
import { closeProposals, resetExecutionCount } from '../../store/recovery-proposal.ts'
import { cancelledDependents } from '../../store/requeue.ts'
import { getTask, keepHint, listTasks, moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { actorName, hintText } from '../core/person-text.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { alreadyCancelledText, continuedText } from './ended-task.ts'
import { commandTransaction, decidedAgain, LostRaceError, movedOrThrow } from './lost-race.ts'
import { correctorIn, refuseCancel, refuseWhileCorrected } from './refuse-command.ts'
import { keepPersonsWork } from './take-over-folder.ts'

/** Cancels a task that an executor holds, and resolves when its run has ended. */
export type CancelRunning = (taskId: string) => Promise<void>

export const goalNamed = async (db: Queryable, id: string): Promise<Goal> => {
  const goal = await getGoal(db, id)
  if (goal === undefined) throw new AppError('NOT_FOUND', `there is no goal ${id}; "unstuck status" lists them`)
  return goal
}

export const taskNamed = async (db: Queryable, id: string): Promise<Task> => {
  const task = await getTask(db, id)
  if (task === undefined) throw new AppError('NOT_FOUND', `there is no task ${id}; "unstuck tasks" lists them`)
  return task
}

/** Answers the question of a task, and with it what is undecided about commands; what a person approved is for the retry. */
const answer = async (tx: Queryable, taskId: string, choice: ChoiceKind): Promise<void> => {
  const pending = await pendingEscalationOf(tx, taskId)
  if (pending !== undefined) movedOrThrow(await answerEscalation(tx, pending, choice))
  await withdrawJudgement(
    tx,
    taskId,
    choice === 'cancel' ? 'a person cancelled the task' : 'a person had it done again',
  )
  await closeProposals(tx, taskId, choice, choice === 'cancel' ? ['asked', 'open', 'approved'] : ['asked', 'open'])
}

/** Answers the questions about the goal as a whole. `resume` answers only those that offer it: not the one about cancelled tasks. */
const answerGoal = async (tx: Queryable, goalId: string, choice: ChoiceKind): Promise<void> => {
  const pending = (await listEscalations(tx, { goalId, pendingOnly: true })).filter(
    (entry) =>
      isAboutGoal(entry) || (choice === 'cancel' && entry.kind !== 'checkout_changed' && entry.taskId === null),
  )
  for (const entry of pending.filter((entry) => choice !== 'resume' || offersChoice(entry, choice))) {
    movedOrThrow(await answerEscalation(tx, entry, choice))
    // The person has removed the obstacle, so landing is tried again from the first attempt.
    if (entry.kind === 'blocker') await progressGoal(tx, goalId, { landing: { tries: 0, refused: null } })
  }
}

/** Continues a goal that waited for a person or had failed, after one of its tasks was answered. A paused goal stays paused. */
export const reopenGoal = async (tx: Queryable, goalId: string): Promise<void> => {
  const goal = await goalNamed(tx, goalId)
  if (goal.state === 'awaiting_human') movedOrThrow(await moveGoal(tx, goal, 'answered', 'a question was answered'))
  if (goal.state === 'failed') movedOrThrow(await moveGoal(tx, goal, 'retried', 'a task was retried'))
}

/** The options of a retry. */
export interface RetryOptions {
  /** Every later attempt reads it, until a newer hint replaces it; '' removes it. */
  hint?: string | undefined
  /** Name of the person. */
  by?: string | undefined
  /** The choice of the question that the retry answers. */
  choice?: ChoiceKind
  /** Runs in the same transaction before the task is queued; returns the changed task. */
  before?: (tx: Queryable, task: Task) => Promise<Task>
  /** Runs in the same transaction after the task is queued. */
  after?: (tx: Queryable) => Promise<void>
  /** The last step of the transaction, for an effect outside the store: nothing can refuse the retry after it. */
  last?: (tx: Queryable) => Promise<void>
}

interface Retried {
  choice: ChoiceKind
  said?: Pick<Task, 'hint'> & { by: string }
}

const retryOne = async (tx: Queryable, task: Task, { choice, said }: Retried): Promise<void> => {
  // The person may have raised the limit of the account, so its old reset time no longer counts.
  if (task.status === 'blocked(quota_wait)') await liftLimits(tx, task.harness)
  const hint = said === undefined ? {} : { hint: said.hint }
  const payload = { reason: 'manual_requeue', ...said }
  movedOrThrow(await moveTask(tx, task, 'retried', { resetBudget: true, takenOver: null, ...hint, payload }))
  await answer(tx, task.id, choice)
}

/** Brings back what was cancelled only because it depends on the task that a person retries, directly or through others. */
const restoreDependents = async (tx: Queryable, task: Task): Promise<void> => {
  const cancelled = (await cancelledDependents(tx, task.goalId)).filter(({ supersededBy }) => supersededBy === null)
  const back = new Set([task.id])
  for (let found = true; found;) {
    const next = cancelled.filter(({ id, dependsOn }) => !back.has(id) && dependsOn.some((each) => back.has(each)))
    for (const dependent of next) {
      back.add(dependent.id)
      await retryOne(tx, dependent, { choice: 'retry' })
    }
    found = next.length > 0
  }
}

const givenToAgents = 'before a retry: your own changes'
const beforeCancel = 'before a cancel: your own changes'

export const retryTask = async (context: Context, id: string, options: RetryOptions = {}): Promise<Task> => {
  const { hint, by, choice = 'retry', before, after, last } = options
  const said = hint === undefined ? {} : { said: { hint: hintText(context, hint), by: actorName(by) } }
  const seen = await taskNamed(context.db, id)
  await keepPersonsWork(context, seen, givenToAgents)
  await commandTransaction(context, async (tx) => {
    const task = await taskNamed(tx, id)
    const goal = await goalNamed(tx, task.goalId)
    if (goal.state === 'cancelled' || goal.state === 'done' || goal.state === 'ready') {
      throw new AppError('ILLEGAL', `goal ${goal.id} is ${goal.state}; start a new one with "unstuck run"`)
    }
    if (task.supersededBy !== null) throw new AppError('ILLEGAL', await continuedText(tx, task, 'retry'))
    await refuseWhileCorrected(tx, task, 'retry')
    // The hint is what the person wants to give; the attempt comes without a retry. An answer has a question that must still be open.
    if (said.said !== undefined && before === undefined && (task.status === 'queued' || task.status === 'running'))
      return void movedOrThrow(await keepHint(tx, task, said.said))
    await retryOne(tx, (await before?.(tx, task)) ?? task, { choice, ...said })
    if (task.status === 'cancelled') await restoreDependents(tx, task)
    await after?.(tx)
    // The question about cancelled tasks no longer applies when none is left.
    if (
      !(await listTasks(tx, goal.id)).some(
        ({ status, supersededBy }) => status === 'cancelled' && supersededBy === null,
      )
    )
      await answerGoal(tx, goal.id, 'retry')
    await reopenGoal(tx, task.goalId)
    await last?.(tx)
  })
  await liftForeignLimits(context, [seen])
  context.wake()
  return taskNamed(context.db, id)
}

const retriablePlaces: readonly Task['status'][] = [
  'blocked(awaiting_human)',
  'blocked(quota_wait)',
  'blocked(needs_rework)',
  'failed',
  'cancelled',
]

/** A task that a person has taken over is retried only by its own id, and a task that another one continues or corrects not at all. */
const retriable = (task: Task): boolean =>
  retriablePlaces.includes(task.status) &&
  task.takenOver === null &&
  task.supersededBy === null &&
  !waitsForAutoFix(task)

/** Gives up the commits of a lost goal branch: the merge queue starts the goal again, and no task of it starts before. */
const giveUpBranch = async (tx: Queryable, id: string, broken: BrokenBranch | null): Promise<void> => {
  if (broken === null) return
  await progressGoal(tx, id, { landing: { outdated: true, broken: { ...broken, again: true, question: null } } })
}

/** Retries every task of a goal that failed, waits for a person or was cancelled; recoveries and spend are counted from zero. */
export const retryGoal = async (context: Context, id: string): Promise<Goal> => {
  const seen = await listTasks(context.db, id)
  await commandTransaction(context, async (tx) => {
    const goal = await goalNamed(tx, id)
    const tasks = (await listTasks(tx, id)).filter(retriable)
    const broken = waitsForBranch(goal) ? goal.landing.broken : null
    if ((tasks.length === 0 && broken === null) || goal.state === 'cancelled') {
      throw new AppError(
        'ILLEGAL',
        `goal ${id} is ${goal.state} and has no task to retry; "unstuck tasks" shows what each of them waits for`,
      )
    }
    for (const task of tasks) await retryOne(tx, task, { choice: 'retry' })
    await answerGoal(tx, id, 'retry')
    await giveUpBranch(tx, id, broken)
    await resetGoalSpend(tx, id)
    await resetExecutionCount(tx, id)
    if (goal.state === 'paused') movedOrThrow(await moveGoal(tx, goal, 'resumed', 'retried by a person'))
    else await reopenGoal(tx, id)
  })
  await liftForeignLimits(context, seen)
  context.wake()
  return goalNamed(context.db, id)
}

const dropMerge = async (tx: Queryable, taskId: string, goalId: string): Promise<void> => {
  const entries = await listMerges(tx, { goalId })
  for (const entry of entries.filter((candidate) => candidate.taskId === taskId && candidate.state === 'pending')) {
    movedOrThrow(await moveMerge(tx, entry, 'cancelled'))
  }
}

/**
 * Stops the run of the task and cancels it. A task that waits for another one to correct it ends with that one. `check`: runs in the
 * same transaction and may throw to refuse.
 */
export const cancelTask = async (
  context: Context,
  id: string,
  cancelRunning: CancelRunning,
  check?: (tx: Queryable) => Promise<void>,
): Promise<Task> => {
  const before = await taskNamed(context.db, id)
  await decidedAgain(async () => {
    const seen = await taskNamed(context.db, id)
    const corrector = await correctorIn(context.db, seen)
    if (corrector !== undefined) await cancelTask(context, corrector.id, cancelRunning)
    if (seen.status === 'running') await cancelRunning(id)
    await keepPersonsWork(context, seen, beforeCancel)
    await context.db.transaction(async (tx) => {
      const task = await taskNamed(tx, id)
      if (task.status === 'running' && seen.status !== 'running') throw new LostRaceError(stale(`task ${id}`).message)
      await check?.(tx)
      await refuseCancel(tx, task)
      if (task.status !== 'cancelled') {
        movedOrThrow(await moveTask(tx, task, 'cancelled', { payload: { by: 'person' } }))
        await failOpenRecoveries(tx, id, cancelledByPerson)
      } else if (before.status === 'cancelled') throw new AppError('ILLEGAL', await alreadyCancelledText(tx, task))
      await dropMerge(tx, id, task.goalId)
      await answer(tx, id, 'cancel')
      const goal = await goalNamed(tx, task.goalId)
      if (goal.state === 'awaiting_human') await reopenGoal(tx, task.goalId)
    })
  })
  context.wake()
  return taskNamed(context.db, id)
}

/** Open recoveries of a cancelled task fail with this detail, because their post-condition can no longer be observed. */
const cancelledByPerson = 'the task was cancelled by a person'

/** Cancels the tasks of a goal that no executor runs. */
const cancelRest = async (context: Context, tx: Queryable, goalId: string): Promise<void> => {
  const rest = (await listTasks(tx, goalId)).filter((task) => !taskEnded(task.status) && task.status !== 'running')
  for (const task of rest) {
    movedOrThrow(await moveTask(tx, task, 'cancelled', { payload: { by: 'person', with: 'goal' } }))
    await failOpenRecoveries(tx, task.id, cancelledByPerson)
    await dropMerge(tx, task.id, goalId)
    await answer(tx, task.id, 'cancel')
  }
  await answerGoal(tx, goalId, 'cancel')
}

/** Longer than a cancel waits for its agents to end, so that a cancel in progress is left alone. */
export const cancelGraceSeconds = 90

/**
 * Finishes cancels that a crash or an outage interrupted: the goal was cancelled, and some of its tasks were not. Running tasks are
 * cancelled by their executors.
 */
export const finishCancels = async (context: Context, afterSeconds: number): Promise<void> => {
  for (const goalId of await halfCancelledGoals(context.db, afterSeconds))
    await commandTransaction(context, (tx) => cancelRest(context, tx, goalId))
}

export const cancelGoal = async (
  context: Context,
  id: string,
  cancelRunning: CancelRunning,
  reason = 'cancelled by a person',
): Promise<Goal> => {
  // The goal first, so that no task starts while the running ones are stopped. Locked, because what its runs spend changes it all the time.
  await commandTransaction(context, async (tx) => {
    await lockGoal(tx, id)
    movedOrThrow(await moveGoal(tx, await goalNamed(tx, id), 'cancelled', reason))
    // An order to land what is done ends with the goal; it can be given again.
    await progressGoal(tx, id, { landing: { part: false } })
  })
  const tasks = (await listTasks(context.db, id)).filter((task) => !taskEnded(task.status))
  await Promise.all(tasks.filter((task) => task.status === 'running').map((task) => cancelRunning(task.id)))
  for (const task of tasks) await keepPersonsWork(context, task, beforeCancel)
  await commandTransaction(context, (tx) => cancelRest(context, tx, id))
  context.wake()
  return goalNamed(context.db, id)
}

export const pauseGoal = async (context: Context, id: string): Promise<Goal> => {
  await commandTransaction(context, async (tx) => {
    await lockGoal(tx, id)
    movedOrThrow(await moveGoal(tx, await goalNamed(tx, id), 'paused', 'paused by a person'))
  })
  context.wake()
  return goalNamed(context.db, id)
}

/** After a resume: a replaced repository counts as the same one, and a branch that could not be restored is tried again. */
const trustBranch = (broken: BrokenBranch | null): BrokenBranch | null =>
  broken === null || broken.reason === 'replaced' ? null : { ...broken, tries: 0 }

const resumeOne = async (context: Context, { id }: Goal): Promise<void> => {
  await commandTransaction(context, async (tx) => {
    const goal = await goalNamed(tx, id)
    movedOrThrow(await moveGoal(tx, goal, 'resumed', 'resumed by a person'))
    if (waitsForBranch(goal)) await progressGoal(tx, id, { landing: { broken: trustBranch(goal.landing.broken) } })
    await answerGoal(tx, goal.id, 'resume')
    for (const task of (await listTasks(tx, goal.id)).filter(
      ({ status, takenOver }) => status === 'blocked(awaiting_human)' && takenOver === null,
    )) {
      const pending = await pendingEscalationOf(tx, task.id)
      if (pending?.kind === 'blocker') await retryOne(tx, task, { choice: 'resume' })
    }
  })
}

/** Resumes one goal (`id`) or every paused goal (null). Tasks that stopped for a permission problem are retried. */
export const resumeGoals = async (context: Context, id: string | null): Promise<Goal[]> => {
  const paused =
    id === null
      ? (await listLiveGoals(context.db)).filter((goal) => goal.state === 'paused')
      : [await goalNamed(context.db, id)]
  if (paused.length === 0) throw new AppError('ILLEGAL', 'no goal is paused; "unstuck status" shows what waits for you')
  for (const goal of paused) {
    if (goal.state === 'awaiting_human')
      throw new AppError(
        'ILLEGAL',
        `goal ${goal.id} is not paused but waits for answers: use "unstuck retry" or "unstuck cancel" on its tasks`,
      )
    if (goalEnded(goal.state))
      throw new AppError('ILLEGAL', `goal ${goal.id} is ${goal.state}; there is nothing to resume`)
    await resumeOne(context, goal)
  }
  context.wake()
  return Promise.all(paused.map((goal) => goalNamed(context.db, goal.id)))
}
