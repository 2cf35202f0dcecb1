/** A person takes over a task, works on it in a folder, and gives it back; their work is then checked and merged like an agent's. */
import { goalEnded, type Goal } from '../../domain/goal.ts'
import { nextReviewLines, subjectText } from '../../domain/task-review.ts'
import { isGivenBack, type TakenOver, type Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { withdrawJudgement } from '../../store/judgement.ts'
import { recordTakeOver } from '../../store/take-over.ts'
import { moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { actorName } from '../core/person-text.ts'
import { goalNamed, reopenGoal, taskNamed } from './commands.ts'
import { commandTransaction, decidedAgain, movedOrThrow } from './lost-race.ts'
import { refuseWhileCorrected } from './refuse-command.ts'
import { takeOverFolder } from './take-over-folder.ts'

/** Name of the person. */
interface By {
  by?: string | undefined
}

const refusals: Partial<Record<Task['status'], (task: Task) => string>> = {
  running: ({ id, takenOver }) =>
    takenOver === null
      ? `an agent is working on task ${id}; wait until it has stopped ("unstuck status" shows it), or end it: unstuck cancel ${id}`
      : `your work on task ${id} is being checked; wait until that is over ("unstuck status" shows it)`,
  'blocked(awaiting_judge)': ({ id }) =>
    `the work of task ${id} is finished and waits to be merged; there is nothing left to do`,
  done: ({ id }) => `task ${id} is done; start new work with "unstuck run"`,
  cancelled: ({ id }) => `task ${id} is cancelled; "unstuck retry ${id}" restores it`,
}

const refuse = (task: Task, goal: Goal): void => {
  const text = refusals[task.status]?.(task)
  if (text !== undefined) throw new AppError('ILLEGAL', text)
  if (task.review !== null)
    throw new AppError(
      'ILLEGAL',
      [
        `task ${task.id} only reviews ${subjectText(task.review)}; correct the work there.`,
        ...nextReviewLines(task.review),
      ].join(' '),
    )
  if (goalEnded(goal.state) && goal.state !== 'failed')
    throw new AppError('ILLEGAL', `goal ${goal.id} is ${goal.state}; start a new one with "unstuck run"`)
}

const record = async (tx: Queryable, seen: Task, takenOver: TakenOver): Promise<Task> => {
  if (seen.status === 'blocked(awaiting_human)') return movedOrThrow(await recordTakeOver(tx, seen, takenOver))
  const { folder, by } = takenOver
  return movedOrThrow(await moveTask(tx, seen, 'taken_over', { takenOver, payload: { folder, by } }))
}

/** Makes the folder before it records the take-over, so that a taken-over task always has one. After a crash the next call finishes it. */
const takeOverNow = async (context: Context, id: string, { by }: By): Promise<Task> => {
  const task = await taskNamed(context.db, id)
  const goal = await goalNamed(context.db, task.goalId)
  refuse(task, goal)
  await refuseWhileCorrected(context.db, task, 'take-over')
  const takenOver = await takeOverFolder(context, goal, task, actorName(by))
  return context.db.transaction(async (tx) => {
    const recorded = await record(tx, task, takenOver)
    const pending = await pendingEscalationOf(tx, id)
    if (pending !== undefined) movedOrThrow(await answerEscalation(tx, pending, 'take_over'))
    await withdrawJudgement(tx, id, 'a person took the task over')
    return recorded
  })
}

export const takeOverTask = async (context: Context, id: string, by: By = {}): Promise<Task> => {
  const taken = await decidedAgain(() => takeOverNow(context, id, by))
  context.wake()
  return taken
}

const refuseGiving = ({ ports }: Context, task: Task): TakenOver => {
  const { id, status, takenOver } = task
  if (takenOver === null)
    throw new AppError('ILLEGAL', `task ${id} is ${status} and not with you; to work on it: unstuck take-over ${id}`)
  if (status !== 'blocked(awaiting_human)')
    throw new AppError('ILLEGAL', `your work on task ${id} was given back already; "unstuck status" shows its checks`)
  if (!ports.files.existsSync(takenOver.folder))
    throw new AppError(
      'ILLEGAL',
      `${takenOver.folder} is gone; "unstuck take-over ${id}" makes it again from what the last run left`,
    )
  return takenOver
}

/** Gives the task back. Its next run collects the files of the folder; see run/collect-given-back.ts. */
export const giveBackTask = async (context: Context, id: string, { by }: By = {}): Promise<Task> => {
  await commandTransaction(context, async (tx) => {
    const task = await taskNamed(tx, id)
    // Already given back, and its run has not started: the command was repeated.
    if (task.status === 'queued' && isGivenBack(task)) return
    const takenOver = refuseGiving(context, task)
    const payload = { by: actorName(by), folder: takenOver.folder }
    const given = { ...takenOver, givenBack: true }
    movedOrThrow(await moveTask(tx, task, 'given_back', { resetBudget: true, takenOver: given, payload }))
    const pending = await pendingEscalationOf(tx, id)
    if (pending !== undefined) movedOrThrow(await answerEscalation(tx, pending, 'retry'))
    await reopenGoal(tx, task.goalId)
  })
  context.wake()
  return taskNamed(context.db, id)
}
