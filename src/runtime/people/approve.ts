/** A person decides about finished work: it lands as it is, is corrected by a note, or goes to the reviewer again. */
import { taskNameInside } from '../../domain/task-title.ts'
import { offersChoice, type ChoiceKind, type Escalation } from '../../domain/escalation.ts'
import { goalEnded, type Goal } from '../../domain/goal.ts'
import type { Judgement, ReviewPoint } from '../../domain/judgement.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { Queryable } from '../../store/db.ts'
import { answerEscalation, pendingEscalationOf } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { resetGoalSpend } from '../../store/goal.ts'
import { judgementOfHead, judgementOfRun, moveJudgement, type JudgementChange } from '../../store/judgement.ts'
import { enqueueAgain, enqueueMerge } from '../../store/merge.ts'
import { getRun } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import { actorName, hintText } from '../core/person-text.ts'
import type { Context } from '../core/context.ts'
import { answerObjection, chooseForObjection, isAutoFixStep } from '../landing/object-to-work.ts'
import { goalNamed, reopenGoal, retryTask, taskNamed } from './commands.ts'
import { commandTransaction, decidedAgain, LostRaceError, movedOrThrow } from './lost-race.ts'

interface Decided {
  goal: Goal
  task: Task
  run: Run
  question: Escalation
  /** Of this run, else of its head commit. Absent for work in place, and for runs of an older version. */
  judgement: Judgement | undefined
}

/** What the person had in view; each part that is given must still be what the task waits with. */
interface Seen {
  /** The beginning of the commit. */
  commit?: string | undefined
  /** Id of the question. */
  question?: string | undefined
}

const shortest = 7

/** The work may change between the look at it and the answer. What a review task brings also has the name of the commit that it reviews. */
const refuseOtherWork = ({ task, run, question }: Pick<Decided, 'task' | 'run' | 'question'>, seen: Seen): void => {
  const name = taskNameInside(task)
  if (seen.question !== undefined && seen.question !== question.id)
    throw new AppError(
      'STALE',
      `question ${seen.question} about ${name} was replaced by another one; to see it: unstuck answer ${task.id}`,
    )
  if (seen.commit === undefined) return
  const wanted = seen.commit.toLowerCase()
  if (!/^[0-9a-f]+$/.test(wanted) || wanted.length < shortest)
    throw new AppError(
      'INPUT_INVALID',
      `commit: ${JSON.stringify(seen.commit.slice(0, 80))} is not the beginning of a commit id; give at least ${shortest} of its hexadecimal digits`,
    )
  if (run.commit === null)
    throw new AppError('INPUT_INVALID', `commit: ${name} worked in your folder and has no commit; leave it out`)
  if (run.commit.startsWith(wanted) || run.reviewed?.startsWith(wanted) === true) return
  throw new AppError(
    'STALE',
    `${name} waits for your decision about commit ${run.commit.slice(0, 12)}, not ${wanted.slice(0, 12)}; look at it first: unstuck diff ${run.id}`,
  )
}

interface Wanted extends Seen {
  kind: ChoiceKind
  /** What the person gives. */
  what: string
}

/** The finished work that the open question of the task is about. Throws if the question does not offer this choice. */
const decidedWork = async (tx: Queryable, id: string, { kind, what, ...seen }: Wanted): Promise<Decided> => {
  const task = await taskNamed(tx, id)
  const goal = await goalNamed(tx, task.goalId)
  const question = await pendingEscalationOf(tx, id)
  const run = question?.runId == null ? undefined : await getRun(tx, question.runId)
  if (question === undefined || run === undefined || !offersChoice(question, kind))
    throw new AppError(
      'ILLEGAL',
      `${taskNameInside(task)} is ${task.status}, and has no finished work that waits for ${what}; "unstuck status" shows what waits for you`,
    )
  refuseOtherWork({ task, run, question }, seen)
  if (goalEnded(goal.state))
    throw new AppError('ILLEGAL', `goal ${goal.id} is ${goal.state}, so no work of it can land`)
  const judgement = (await judgementOfRun(tx, run.id)) ?? (await judgementOfHead(tx, run))
  return { goal, task, run, question, judgement }
}

/** The verdict on this head commit from now on, whatever it was before: a person who is asked again knows more. */
const storeVerdict = async (
  tx: Queryable,
  { judgement }: Decided,
  change: Pick<JudgementChange, 'verdict' | 'points' | 'reason'> & { decidedBy: string },
): Promise<void> => {
  if (judgement !== undefined) movedOrThrow(await moveJudgement(tx, judgement, 'answered', change))
}

interface Decision extends Seen {
  /** Name of the person. */
  by?: string | undefined
}

/** Exactly that commit is merged. */
export const approveTask = async (context: Context, id: string, { by, ...seen }: Decision = {}): Promise<Task> => {
  await commandTransaction(context, async (tx) => {
    const wanted: Wanted = { kind: 'approve', what: 'an approval', ...seen }
    const work = await decidedWork(tx, id, wanted)
    const { goal, task, run, question } = work
    movedOrThrow(await answerEscalation(tx, question, 'approve'))
    const decidedBy = actorName(by)
    await storeVerdict(tx, work, { verdict: 'approve', decidedBy, reason: `${decidedBy} approved it` })
    const trigger = goal.repoMode === 'direct' ? 'approved_in_place' : 'approved'
    movedOrThrow(await moveTask(tx, task, trigger, { runId: run.id, payload: { commit: run.commit } }))
    if (goal.repoMode !== 'direct' && !(await enqueueAgain(tx, run))) await enqueueMerge(tx, context.newId('m'), run)
    await reopenGoal(tx, goal.id)
  })
  context.wake()
  return taskNamed(context.db, id)
}

const rejection = { kind: 'reject', what: 'a rejection' } as const

interface Note {
  note: string
  by: string
}

const pointOf = (note: string): ReviewPoint => ({ path: null, severity: 'error', what: note, why: '' })

/** The task itself continues with the note: its work is in place, or no further task may correct it. */
const continueByNote = async (context: Context, { task, question }: Decided, { note, by }: Note): Promise<void> => {
  await retryTask(context, task.id, {
    ...{ hint: note, by, choice: 'reject' },
    before: async (tx) => {
      const now = await decidedWork(tx, task.id, { ...rejection, question: question.id })
      const change = { verdict: 'request_changes' as const, points: [pointOf(note)] }
      await storeVerdict(tx, now, { ...change, decidedBy: by, reason: `${by} rejected it` })
      return now.task
    },
  })
}

/** The note is an objection like a reviewer's: a new task corrects the work by it, and its work is judged again. */
const correctByNote = async (context: Context, seen: Decided, given: Note): Promise<void> => {
  const { task, run, judgement } = seen
  const { note, by } = given
  const points = [pointOf(note)]
  const judged = judgement ?? { id: '', number: task.number }
  const objected = { judgement: judged, task, run, by, isPerson: true, points, summary: '' }
  const answer = await chooseForObjection(context, objected)
  // A review has no agent that could be given the note: a person is asked what to do instead.
  if (!isAutoFixStep(answer) && task.review === null) return continueByNote(context, seen, given)
  await context.db.transaction(async (tx) => {
    const now = await decidedWork(tx, task.id, rejection)
    if (now.task.version !== task.version || now.question.id !== seen.question.id)
      throw new LostRaceError(`task ${task.id} was changed in the meantime; "unstuck status" shows what waits for you`)
    movedOrThrow(await answerEscalation(tx, now.question, 'reject'))
    await storeVerdict(tx, now, { verdict: 'request_changes', decidedBy: by, points, reason: `${by} rejected it` })
    await answerObjection(context, tx, { ...objected, task: now.task }, answer)
    await reopenGoal(tx, task.goalId)
  })
}

/** Rejects finished work with a note that says what to correct. */
export const rejectTask = async (
  context: Context,
  id: string,
  { note, by, ...seen }: Decision & { note: string },
): Promise<Task> => {
  const text = hintText(context, note)
  if (text === null) throw new AppError('INPUT_INVALID', 'note: it is empty; say what has to be corrected')
  const given = { note: text, by: actorName(by) }
  await decidedAgain(async () => {
    const work = await decidedWork(context.db, id, { ...rejection, ...seen })
    // Work in place has no commit that a new task could begin with.
    await (work.goal.repoMode === 'direct' ? continueByNote : correctByNote)(context, work, given)
  })
  context.wake()
  return taskNamed(context.db, id)
}

/** Has the reviewer asked about the same work once more. */
export const askReviewerAgain = async (context: Context, id: string, seen: Seen = {}): Promise<Task> => {
  await commandTransaction(context, async (tx) => {
    const { goal, task, run, question, judgement } = await decidedWork(tx, id, {
      ...{ kind: 'ask_again', what: 'another review' },
      ...seen,
    })
    if (judgement === undefined) throw new AppError('ILLEGAL', `the work of task ${id} was never reviewed`)
    movedOrThrow(await answerEscalation(tx, question, 'ask_again'))
    // The limit applies to the whole goal, and would be reached again at once.
    if (question.kind === 'budget') await resetGoalSpend(tx, goal.id)
    const change = { retryAt: await storeNow(tx), failures: 0, reason: 'a person had the reviewer asked again' }
    movedOrThrow(await moveJudgement(tx, judgement, 'asked_again', change))
    movedOrThrow(await moveTask(tx, task, 'asked_again', { runId: run.id, payload: {} }))
    await reopenGoal(tx, goal.id)
  })
  context.wake()
  return taskNamed(context.db, id)
}
