/**
 * What checks and reviews of an open pull request say is answered: by running a check again, by a task that corrects the work, or by a
 * person. Only members of the repository, and whom the owner listed, can send an agent.
 */
import { isWork, type Task } from '../../domain/task.ts'
import type { Forge, ForgeCheck, ForgeReview, PullRequest } from '../../forge/forge.ts'
import {
  answerFeedback,
  checkKey,
  correctionInstructions,
  feedbackText,
  type Objection,
  type ObjectionStep,
  type RedCheck,
} from '../../recovery/review/pull-request-feedback.ts'
import { autoFixTitle } from '../../recovery/review/objection.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { feedbackOfGoal, insertFeedback, takeUnanswered } from '../../store/forge-feedback.ts'
import { moveGoal } from '../../store/goal.ts'
import { nextNumber } from '../../store/requeue.ts'
import { insertTasks, listTasks } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { maxTitle } from '../core/task-fields.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import type { Ready } from './land-goal.ts'
import { refuseLanding } from './refused-landing.ts'

/** The reason of a refusal. */
const objected = 'pull-request-feedback'

/** As the tasks that correct work have it: nothing else of the goal helps to finish it. */
const priority = 80

interface Place {
  forge: Forge
  pull: PullRequest
  /** Throws where a person, or the goal itself, was faster. */
  requireUnchanged: (tx: Queryable) => Promise<void>
}

const mayObject = ({ config }: Context, { isByMember, author }: ForgeReview): boolean =>
  isByMember || config().forge.authors.some((known) => known.toLowerCase() === author.toLowerCase())

const redCheck = async (forge: Forge, { name, text, job }: ForgeCheck): Promise<RedCheck> => {
  // A log that is gone is no reason to say nothing.
  const log = job === null ? '' : await forge.checkLog(job).catch(() => '')
  return { name, job, text: log === '' ? text : log }
}

interface Said {
  red: RedCheck[]
  /** Red on the branch that gets the work as well. */
  redBefore: string[]
  reviews: ForgeReview[]
}

/** Undefined = checks are still at work. */
const readSaid = async (context: Context, { forge, pull }: Place, goal: Ready): Promise<Said | undefined> => {
  const checks = await forge.checks(goal.headCommit)
  if (checks.some(({ state }) => state === 'pending')) return undefined
  const failed = checks.filter(({ state }) => state === 'failed')
  const before = failed.length === 0 ? [] : await forge.checks(goal.targetBranch)
  const wasRed = new Set(before.filter(({ state }) => state === 'failed').map(({ name }) => name))
  const red: RedCheck[] = []
  for (const check of failed) if (!wasRed.has(check.name)) red.push(await redCheck(forge, check))
  const reviews = (await forge.reviews(pull.number)).filter((review) => mayObject(context, review))
  return { red, reviews, redBefore: failed.map(({ name }) => name).filter((name) => wasRed.has(name)) }
}

const runAgain = async (
  context: Context,
  { forge }: Place,
  goal: Ready,
  checks: readonly RedCheck[],
): Promise<void> => {
  for (const { name, job } of checks) {
    const row = { key: checkKey(name), head: goal.headCommit, action: 'run_again' as const }
    await context.db.transaction(async (tx) => {
      await insertFeedback(tx, goal.id, { ...row, taskId: null, points: [], comments: [] })
      const payload = { name, reason: 'it failed for a fault of its machine' }
      await appendEvent(tx, { type: 'goal.pull_request_check', goalId: goal.id, payload })
    })
    if (job !== null) await forge.runCheckAgain(job)
  }
}

const union = (lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())]

/** It may change what the tasks of the goal might, and passes all of their checks. */
const correctionOf = (tasks: readonly Task[], last: Task) => {
  const { goalId, commandSource, targetArea, harness, model, judge } = last
  return {
    ...{ goalId, role: 'worker' as const, commandSource, targetArea, harness, model, judge, dependsOn: [] },
    allowedPaths: union(tasks.map((task) => task.allowedPaths)),
    deniedPaths: union(tasks.map((task) => task.deniedPaths)),
    commands: union(tasks.map((task) => task.originalCommands)),
    priority: last.priority + priority,
  }
}

const commentsOf = ({ key }: Objection, reviews: readonly ForgeReview[]): number[] =>
  reviews.filter(({ id }) => key === `review:${id}`).flatMap(({ comments }) => comments.map(({ id }) => id))

const correct = async (
  context: Context,
  { pull, requireUnchanged }: Place,
  goal: Ready,
  given: { feedback: Objection[]; reviews: readonly ForgeReview[] },
): Promise<void> => {
  const { feedback, reviews } = given
  const tasks = (await listTasks(context.db, goal.id)).filter((task) => isWork(task) && task.status === 'done')
  const last = tasks.at(-1)
  if (last === undefined) return
  const reason = `pull request #${pull.number}: ${feedbackText(feedback)}`
  await context.db.transaction(async (tx) => {
    await requireUnchanged(tx)
    const [id, number] = [context.newId('t'), await nextNumber(tx, goal.id)]
    mustSucceed(await moveGoal(tx, goal, 'corrected', withoutSecrets(context, reason)))
    const title = autoFixTitle(pull.number, feedbackText(feedback)).slice(0, maxTitle)
    const instructions = correctionInstructions(pull.number, goal.requirement, feedback)
    await insertTasks(tx, [
      {
        ...{ id, number, title: withoutSecrets(context, title), ...correctionOf(tasks, last) },
        instructions: withoutSecrets(context, instructions),
      },
    ])
    for (const said of feedback) {
      const row = { key: said.key, head: goal.headCommit, action: 'task' as const, taskId: id }
      await insertFeedback(tx, goal.id, { ...row, points: said.points, comments: commentsOf(said, reviews) })
    }
  })
  context.wake()
}

/**
 * Each review gets an answer, and each of its comments, once its task has landed on the branch of the pull request. One review is taken at a
 * time, so that a forge that stops to answer costs the answer to one, and the next poll goes on with the others.
 */
export const replyToReviews = async (context: Context, forge: Forge, goal: Ready, number: number): Promise<void> => {
  const text = `Addressed in ${goal.headCommit.slice(0, 12)}.`
  for (let review; (review = await takeUnanswered(context.db, goal.id)) !== undefined;)
    for (const comment of review.comments.length === 0 ? [null] : review.comments)
      await forge.reply(number, comment, text)
}

const stepFor = async (context: Context, goal: Ready, { red, reviews }: Said): Promise<ObjectionStep> => {
  const answered = await feedbackOfGoal(context.db, goal.id)
  const corrections = new Set(answered.flatMap(({ taskId }) => taskId ?? [])).size
  return answerFeedback({ head: goal.headCommit, red, reviews, answered, corrections })
}

const redBeforeText = (names: readonly string[], branch: string): string =>
  names.length === 0 ? '' : `; red on ${branch} as well: ${names.join(', ')}`

/** What else is to be said while the pull request waits; undefined = the goal does not only wait. */
export const answerPullRequest = async (context: Context, place: Place, goal: Ready): Promise<string | undefined> => {
  const said = await readSaid(context, place, goal)
  // While checks run, it is not known whether the objection is over.
  if (said === undefined) return goal.landing.refused?.reason === objected ? undefined : ''
  const step = await stepFor(context, goal, said)
  if (step.kind === 'none') return redBeforeText(said.redBefore, goal.targetBranch)
  if (step.kind === 'run_again') await runAgain(context, place, goal, step.checks)
  else if (step.kind === 'correct') await correct(context, place, goal, { ...step, reviews: said.reviews })
  else {
    const detail = `pull request #${place.pull.number}: ${feedbackText(step.feedback)}; ${step.why}`
    await refuseLanding(context, goal, { reason: objected, detail, paths: [] })
  }
  return undefined
}
