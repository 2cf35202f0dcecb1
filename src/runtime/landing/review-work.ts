/**
 * Asks a reviewer about finished work, read-only, and stores the verdict. The reviewer can only answer: what is written, merged or asked is
 * decided here, and the gates were passed before. Without an answer that counts nothing is approved.
 */
import { reviewPurpose, type ReviewPoint, type Risk } from '../../domain/judgement.ts'
import { emptyVerdict, type Run } from '../../domain/run.ts'
import { isAutoFix } from '../../domain/rework.ts'
import { messageOf, type AppError } from '../../errors.ts'
import {
  readReviewAnswer,
  reviewAnswerSchema,
  riskRefusal,
  type ReviewAnswer,
} from '../../recovery/review/review-answer.ts'
import { reviewQuestion } from '../../recovery/review/review-question.ts'
import { mustSucceed, StaleError, type Queryable } from '../../store/db.ts'
import { countAnswers, type NewEscalation } from '../../store/escalation.ts'
import { storeNow } from '../../store/event.ts'
import { holdHatch } from '../../store/hatch.ts'
import { isReplaced } from '../../store/judged-run.ts'
import { getJudgement, moveJudgement, requireClaim } from '../../store/judgement.ts'
import { enqueueMerge } from '../../store/merge.ts'
import { grantsOfRun } from '../../store/path-grant.ts'
import { getTask } from '../../store/task.ts'
import { ask, type AskFailure, type AskResult } from '../agent/ask.ts'
import { roleSection } from '../agent/brief.ts'
import { bringFinishedWork } from '../agent/finished-work.ts'
import { taskInstructions } from '../agent/role-instructions.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { isOutage } from '../core/remote-link.ts'
import { accountLimitOf } from '../harness/accounts.ts'
import { decide, escalateWork, gateResult, modeOf, type Work } from './judge.ts'
import { decideQuestion, noBudgetQuestion, noReviewQuestion, outvotedQuestion } from './judge-questions.ts'
import { answerObjection, chooseForObjection } from './object-to-work.ts'
import { askContextOf, type ClaimedReview } from './review-claim.ts'
import { defined } from '../../domain/defined.ts'

const patchLimits = { mostBytesEach: 256 * 1024, mostBytes: 1024 * 1024, mostFiles: 500 }

interface Diff {
  text: string
  leftOut: string[]
  size: { files: number; lines: number }
}

const changedLine = /^[+-](?![+-]{2} )/

const diffOf = async (context: Context, { baseCommit, commit }: Run): Promise<Diff> => {
  const { git, processes } = context.ports
  const patch = await git.readPatch(context.shadow, { from: baseCommit ?? '', to: commit ?? '' }, patchLimits)
  const text = processes.redactText(patch.text, context.environment)
  const lines = text.split('\n').filter((line) => changedLine.test(line)).length
  return { text, leftOut: patch.leftOut, size: { files: patch.files.length, lines } }
}

/** `not_asked`: no reviewer could be started. `failed`: the review itself failed, and a reviewer may have been asked. */
interface NoAnswer {
  reason: AskFailure | 'not_asked' | 'failed'
  detail: string
}

const askReviewer = async (
  context: Context,
  claimed: ClaimedReview,
): Promise<{ answer: AskResult<ReviewAnswer> | ({ ok: false } & NoAnswer); diff?: Diff }> => {
  const { task, run, judgement } = claimed
  if (!(await bringFinishedWork(context, run)))
    return { answer: { ok: false, reason: 'not_asked', detail: `the commit ${run.commit ?? ''} is not on this host` } }
  const diff = await diffOf(context, run)
  const { timeoutSeconds, model } = context.config().judge
  const grants = await grantsOfRun(context.db, run)
  const prompt = reviewQuestion({
    roleText: roleSection(taskInstructions(context, 'judge')),
    ...{ task, verdict: run.verdict ?? emptyVerdict, grants, diff: diff.text, leftOut: diff.leftOut },
    ...(isAutoFix(task) ? { corrects: task.rework?.because ?? '' } : {}),
  })
  const orders = await countAnswers(context.db, run.id, 'ask_again')
  const answer = await ask(askContextOf(context, claimed), {
    ...{ purpose: reviewPurpose, prompt, schema: reviewAnswerSchema, timeoutMs: timeoutSeconds * 1000, attempts: 2 },
    // An answer that did not count is not read again, and each order of a person to ask again makes a new question.
    input: { judgement: judgement.id, commit: run.commit, failures: judgement.failures, orders },
    ...(judgement.harness === null ? {} : { harness: judgement.harness }),
    ...defined({ model }),
  })
  return { answer, diff }
}

interface Opinion {
  risk: Risk
  points: ReviewPoint[]
  summary: string
  reason: string
}

/** A person switched the judge off while the reviewer was at work. */
class JudgeOffError extends Error {}

const requireJudge = async (tx: Queryable): Promise<void> => {
  if ((await holdHatch(tx)).state === 'off') throw new JudgeOffError()
}

/** What the verdict is about, as it is now; throws `StaleError` if another judge or a person was faster. */
const currentWork = async (tx: Queryable, { judgement, goal, run }: ClaimedReview): Promise<Work> => {
  await requireClaim(tx, judgement)
  const task = await getTask(tx, run.taskId)
  if (task?.status !== 'blocked(awaiting_judge)')
    throw new StaleError(`task ${run.taskId} is not waiting for its judge`)
  if (await isReplaced(tx, run)) throw new StaleError(`a later run of task ${run.taskId} has succeeded`)
  return { goal, task, run }
}

interface HeldBack {
  reason: string
  question: (tried: string[]) => Omit<NewEscalation, 'id'>
}

/**
 * What outvotes an approval, by the settings as they are now: the owner may have made them stricter since the review began, and what
 * allows less counts at once. Undefined = nothing.
 */
const heldBack = (context: Context, work: Work, { risk, points, summary }: Opinion): HeldBack | undefined => {
  const { task, run } = work
  const tooRisky = riskRefusal(risk, context.config().judge.maxRisk)
  const gates = gateResult(context, work)
  const { reason, question } = decide(work, gates, modeOf(context, work))
  if (gates.kind === 'rejected' && question !== undefined) return { reason, question }
  const found = { points, summary }
  if (question !== undefined) {
    const held = gates.kind === 'held' ? gates.held : undefined
    return { reason, question: (tried) => decideQuestion(task, run, { held, why: tooRisky, found, tried }) }
  }
  if (tooRisky === undefined) return undefined
  return { reason: tooRisky, question: (tried) => outvotedQuestion(task, run, { reason: tooRisky, ...found, tried }) }
}

const approve = async (
  context: Context,
  claimed: ClaimedReview,
  opinion: Opinion,
  model: string | null,
): Promise<void> => {
  const { risk, points, summary } = opinion
  await context.db.transaction(async (tx) => {
    await requireJudge(tx)
    const work = await currentWork(tx, claimed)
    const held = heldBack(context, work, opinion)
    const judgement = (await getJudgement(tx, claimed.judgement.id)) ?? claimed.judgement
    const change = { risk, points, summary, model, reason: held?.reason ?? opinion.reason }
    if (held === undefined) {
      mustSucceed(await moveJudgement(tx, judgement, 'reviewed', { ...change, verdict: 'approve' }))
      return enqueueMerge(tx, context.newId('m'), work.run)
    }
    mustSucceed(await moveJudgement(tx, judgement, 'escalated', { ...change, payload: { verdict: 'ask_person' } }))
    return escalateWork(context, tx, work, held)
  })
}

const object = async (
  context: Context,
  claimed: ClaimedReview,
  opinion: Opinion,
  model: string | null,
): Promise<void> => {
  const { risk, points, summary, reason } = opinion
  const by = `the reviewer (${claimed.judgement.harness ?? claimed.run.harness})`
  const objected = { judgement: claimed.judgement, task: claimed.task, run: claimed.run, by, points, summary }
  const answer = await chooseForObjection(context, objected)
  await context.db.transaction(async (tx) => {
    await requireJudge(tx)
    const { task } = await currentWork(tx, claimed)
    const judgement = (await getJudgement(tx, claimed.judgement.id)) ?? claimed.judgement
    const change = { risk, points, summary, model, reason, verdict: 'request_changes' as const }
    mustSucceed(await moveJudgement(tx, judgement, 'reviewed', change))
    await answerObjection(context, tx, { ...objected, task }, answer)
  })
  context.at('recovery-intended')
}

interface Wait {
  reason: string
  failures: number
  until?: Date
  /** Where `judge.retrySeconds` would be shorter. */
  leastMs?: number
}

/** The reviewer is asked again later. A wait for a limit or the remote counts as no failure: the reviewer did nothing wrong. */
const waitForReviewer = async (
  context: Context,
  claimed: ClaimedReview,
  { reason, until, failures, leastMs = 0 }: Wait,
): Promise<void> => {
  await context.db.transaction(async (tx) => {
    await currentWork(tx, claimed)
    const waitMs = Math.max(context.config().judge.retrySeconds * 1000, leastMs)
    const retryAt = until ?? new Date((await storeNow(tx)).getTime() + waitMs)
    const judgement = (await getJudgement(tx, claimed.judgement.id)) ?? claimed.judgement
    mustSucceed(await moveJudgement(tx, judgement, 'unanswered', { retryAt, failures, reason }))
  })
}

const reasonOf = (harness: string | null, { reason, detail }: NoAnswer): string => {
  const why = detail.replaceAll(/\s+/g, ' ').slice(0, 300)
  if (reason === 'failed') return `the review failed: ${why}`
  if (reason === 'budget') return `it was not reviewed, because ${why}`
  const isAsked = reason !== 'not_asked' && reason !== 'no_harness'
  return `the reviewer (${harness ?? 'no harness'}) ${isAsked ? 'gave no valid answer' : 'could not be asked'}: ${why}`
}

const askAboutNoReview = async (context: Context, claimed: ClaimedReview, none: NoAnswer): Promise<void> => {
  const { judgement } = claimed
  const tries = judgement.failures + 1
  const times = tries === 1 ? '' : ` The review was tried ${tries} times.`
  const reason = reasonOf(judgement.harness, none)
  await context.db.transaction(async (tx) => {
    const work = await currentWork(tx, claimed)
    const now = (await getJudgement(tx, judgement.id)) ?? judgement
    const change = { reason, failures: tries, payload: { verdict: 'ask_person' } }
    mustSucceed(await moveJudgement(tx, now, 'escalated', change))
    const question = (tried: string[]) =>
      none.reason === 'budget'
        ? noBudgetQuestion(work.task, work.run, { limit: none.detail, tried })
        : noReviewQuestion(work.task, work.run, { reason: `${reason}.${times}`.replace(/\.$/, ''), tried })
    await escalateWork(context, tx, work, { reason, question })
  })
}

const unanswered = async (context: Context, claimed: ClaimedReview, none: NoAnswer): Promise<void> => {
  const { reason, detail } = none
  const { judgement } = claimed
  const { failures, harness } = judgement
  // The engine ends, the goal was paused, or the claim is lost: the next holder of the claim asks again.
  if (reason === 'stopped') return
  if (reason === 'account_limit') {
    const limit = await accountLimitOf(context, context.db, harness ?? claimed.run.harness)
    return waitForReviewer(context, claimed, {
      ...{ reason: `the limit of ${harness ?? claimed.run.harness} is reached: ${detail.slice(0, 300)}`, failures },
      ...(limit === undefined ? {} : { until: limit.until }),
    })
  }
  if (reason === 'budget' || failures >= context.config().judge.retries) return askAboutNoReview(context, claimed, none)
  return waitForReviewer(context, claimed, { reason: reasonOf(harness, none), failures: failures + 1 })
}

/** Waiting costs nothing, and no person has to act. */
const waitForRemote = (context: Context, claimed: ClaimedReview, { message }: AppError): Promise<void> =>
  waitForReviewer(context, claimed, {
    reason: `the git remote does not respond: ${message.slice(0, 300)}`,
    failures: claimed.judgement.failures,
    leastMs: context.remote?.waitMs() ?? 0,
  })

const review = async (context: Context, claimed: ClaimedReview): Promise<void> => {
  const { answer, diff } = await askReviewer(context, claimed)
  if (!answer.ok) return unanswered(context, claimed, answer)
  const changedPaths = claimed.run.verdict?.changedPaths ?? []
  const size = diff?.size ?? { files: changedPaths.length, lines: 0 }
  const read = readReviewAnswer(answer.value, { changedPaths, size, limits: context.config().change })
  if (read.kind === 'unusable') return unanswered(context, claimed, { reason: 'invalid_answer', detail: read.problem })
  return (read.verdict === 'approve' ? approve : object)(context, claimed, read, answer.model)
}

/** An answer that comes after the judge was switched off is kept (src/runtime/agent/ask.ts), and counts when the judge works again. */
const giveVerdict = async (context: Context, claimed: ClaimedReview): Promise<void> => {
  try {
    await review(context, claimed)
  } catch (error) {
    if (!(error instanceof JudgeOffError)) throw error
    const { failures } = claimed.judgement
    await waitForReviewer(context, claimed, {
      ...{ reason: 'the judge was switched off', until: await storeNow(context.db), failures },
    })
  }
}

/** Asks the reviewer of a claimed judgement, and stores what follows from the answer. */
export const reviewWork = async (context: Context, claimed: ClaimedReview): Promise<void> => {
  const { run } = claimed
  try {
    await giveVerdict(context, claimed)
    context.at('judged')
  } catch (error) {
    // Another judge or a person was faster, and what they decided counts.
    if (error instanceof StaleError)
      return context.log.info({ run: run.id, reason: error.message }, 'a review came too late, and was not stored')
    if (endsPass(context, error)) throw error
    if (isOutage(error)) return waitForRemote(context, claimed, error)
    // Counted like an answer that is none: otherwise the same error would come back for ever.
    context.log.error({ run: run.id, error: messageOf(error) }, 'a review failed')
    await unanswered(context, claimed, { reason: 'failed', detail: messageOf(error) })
  }
}
