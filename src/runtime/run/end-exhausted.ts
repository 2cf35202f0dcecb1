/**
 * The end of a run for which no recovery is left. The task waits and is started again with what can be adjusted, or a person is
 * asked at once. One transaction, as every ending.
 */
import type { Goal } from '../../domain/goal.ts'
import { mayStartWork } from '../../domain/goal.ts'
import type { ErrorMeta } from '../../domain/run.ts'
import { isGivenBack, type Retry } from '../../domain/task.ts'
import type { OwnQuestion } from '../../recovery/own/own-playbook.ts'
import type { WhenExhausted } from '../../recovery/playbook.ts'
import { chooseRequeue, type RequeueDecision, type RequeueFacts } from '../../recovery/requeue.ts'
import { plannedAdjustment } from '../../recovery/requeue/adjustment.ts'
import { chooseReviewMove } from '../../recovery/review-requeue.ts'
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, moveGoal } from '../../store/goal.ts'
import { verdictOn } from '../../store/judged-run.ts'
import { recoveriesOf, type Recovery } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import { leftWork } from '../agent/collected.ts'
import { blockerEventText, questionOf, type PersonQuestion } from '../core/question.ts'
import type { RecordedRecovery, RecoveryDecision } from '../core/recovery-record.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { questionWithTried } from '../core/tried.ts'
import type { RunContext } from '../core/run-context.ts'
import { closeRun, freshTask } from './endings.ts'
import { failureOf, readRequeueFacts } from './requeue-facts.ts'
import { readReviewFacts } from './review-facts.ts'
import { requeuedLines } from './requeued-lines.ts'
import { defined } from '../../domain/defined.ts'

interface Exhausted {
  diagnosis: Diagnosis
  /** `question`: of the owner's playbook, which is asked at once. */
  step: { reason: string; then: WhenExhausted; question?: OwnQuestion }
  errorMeta: ErrorMeta
}

const pauseGoal = async (
  tx: Queryable,
  runContext: RunContext,
  { question, text }: { question: PersonQuestion; text: string },
): Promise<void> => {
  const goal = (await getGoal(tx, runContext.goal.id)) as Goal
  if (mayStartWork(goal)) mustSucceed(await moveGoal(tx, goal, 'blocked', question.happened))
  await appendEvent(tx, {
    type: 'blocker',
    goalId: goal.id,
    taskId: runContext.task.id,
    runId: runContext.run.id,
    payload: { text, details: question.details },
  })
}

/** Adds what the decision about the next start needs later, when only the store knows of this failure. */
const withFacts = (
  { context, task }: RunContext,
  { diagnosis, errorMeta }: Exhausted,
  history: readonly Recovery[],
): ErrorMeta => {
  const { failure, feedback }: AnyFacts = diagnosis.facts
  const tests = failure?.tests ?? []
  const failing =
    tests.length > 0
      ? { items: tests, areTests: true }
      : feedback === undefined
        ? undefined
        : { items: feedback.failing, areTests: false }
  const past = history as unknown as RecordedRecovery[]
  const adjustment = plannedAdjustment(diagnosis, past, context.policy(), task.id)
  return {
    ...errorMeta,
    ...defined({ failing, adjustment }),
  }
}

/** Why a person is asked about reviewed work that does not pass. */
const reviewFailed = 'review_failed'

/** Families whose failures another attempt may not meet: progress, verification and policy. */
const requeuedRungs: readonly number[] = [3, 4, 5]

/** Whether another start could help: not a person's own work, a problem of this machine, or one that every task would meet. */
const mayStartAgain = ({ task }: RunContext, { diagnosis, step }: Exhausted): boolean => {
  const { machine, filters }: AnyFacts = diagnosis.facts
  const isSetup = diagnosis.label === 'workspace_setup_failed'
  return (
    step.question === undefined &&
    step.then !== 'pause_goal' &&
    !isGivenBack(task) &&
    machine === undefined &&
    filters === undefined &&
    (isSetup || requeuedRungs.includes(diagnosis.rung))
  )
}

interface NextStart {
  status: RequeueFacts['status']
  decision: RequeueDecision
  /** Nothing can change the decision while the task waits. */
  isFinal?: boolean
}

/** A review starts once more as it is; nothing of it can be adjusted, because the work is not Unstuck's. */
const nextReview = async (tx: Queryable, runContext: RunContext): Promise<NextStart> => {
  const status = 'blocked(needs_rework)'
  const { facts } = await readReviewFacts(runContext.context, tx, await freshTask(tx, runContext), status)
  const move = chooseReviewMove(facts)
  if (move?.kind !== 'requeue') return { status, decision: { kind: 'ask', reason: reviewFailed } }
  const { reason, count, limit } = move
  return { status, decision: { kind: 'requeue', cause: 'in_place', reason, count, limit } }
}

/** How the task would continue now; a failed task for which no start in place is left waits for its rework at once. */
const nextStart = async (tx: Queryable, runContext: RunContext, given: Exhausted): Promise<NextStart> => {
  const { context, task } = runContext
  const { diagnosis, errorMeta } = given
  if (task.review !== null) return nextReview(tx, runContext)
  const isAboutWork = diagnosis.rung === 4 || diagnosis.rung === 5
  const facts = await readRequeueFacts(context, tx, await freshTask(tx, runContext), {
    ...{ status: isAboutWork ? 'blocked(needs_rework)' : 'failed', allowable: [] },
    failure: failureOf(errorMeta, diagnosis),
  })
  const decision = chooseRequeue(facts)
  const isFinal = decision.kind === 'cancel' && facts.failure.never.length > 0
  if (decision.kind !== 'park') return { status: facts.status, decision, isFinal }
  const parked: RequeueFacts = { ...facts, status: 'blocked(needs_rework)' }
  return { status: parked.status, decision: chooseRequeue(parked) }
}

/** The task waits as long as the configuration says; the next step is chosen again then, from the facts of that time. */
const waitForStart = async (
  tx: Queryable,
  runContext: RunContext,
  { diagnosis, next: { status, decision, isFinal = false } }: { diagnosis: Diagnosis; next: NextStart },
): Promise<void> => {
  const { failedSeconds, blockedSeconds } = runContext.context.config().requeue
  const isFailed = status === 'failed'
  const seconds = isFailed ? failedSeconds : blockedSeconds
  const at = new Date((await storeNow(tx)).getTime() + (isFinal ? 0 : seconds * 1000))
  const { count, limit } = 'count' in decision ? decision : { count: 1, limit: 1 }
  const retry: Retry = { reason: isFailed ? diagnosis.label : decision.reason, at, count, limit }
  const { label, failureCode, evidence } = diagnosis
  mustSucceed(
    await moveTask(tx, await freshTask(tx, runContext), isFailed ? 'run_failed' : 'rework_needed', {
      ...{ runId: runContext.run.id, retry },
      payload: {
        ...{ label, failureCode, evidence, next: decision.reason, count, limit },
        retryAt: at.toISOString(),
      },
    }),
  )
}

/** A permission failure also pauses the goal, because every other task of it would meet the same refusal. */
const askPerson = async (
  tx: Queryable,
  runContext: RunContext,
  { diagnosis, step, errorMeta, reason }: Exhausted & { reason: string },
): Promise<void> => {
  const { context, goal, task, run } = runContext
  const verdict = run.reviewed === null ? undefined : (await verdictOn(tx, task, run.reviewed))?.verdict
  const plain = questionOf(runContext, diagnosis, {
    ...{ ...step, recoveries: await recoveriesOf(tx, task.id), wasRejected: verdict === 'request_changes' },
    ...defined({ fault: errorMeta.machine }),
  })
  const tried = [...plain.tried, ...(isGivenBack(task) ? [] : await requeuedLines(tx, task))]
  const question: PersonQuestion = { ...plain, tried, question: questionWithTried(plain.happened, tried) }
  mustSucceed(
    await moveTask(tx, await freshTask(tx, runContext), 'escalated', {
      runId: run.id,
      payload: { label: diagnosis.label, reason: step.reason },
    }),
  )
  const about = { goalId: goal.id, taskId: task.id, runId: run.id }
  await openEscalation(tx, { id: context.newId('q'), ...about, ...question })
  await appendEvent(tx, {
    type: 'task.recovery_escalated',
    ...about,
    payload: { reason, label: diagnosis.label, evidence: diagnosis.evidence },
  })
  if (step.then === 'pause_goal')
    await pauseGoal(tx, runContext, { question, text: blockerEventText(runContext, diagnosis) })
}

/** Whether the agent of this run, or of the runs whose work it continued, changed nothing. In doubt it did. */
const leftNothing = async (runContext: RunContext, { facts }: Diagnosis): Promise<boolean> => {
  const { changed }: AnyFacts = facts
  const changes = changed ?? (await leftWork(runContext))?.changes
  if (changes !== undefined) return changes.length === 0
  // Its workspace is gone or broken, so only snapshots may hold work, also those of the attempts that it continued.
  const { context, task } = runContext
  if (task.rework !== null) return false
  for (const { id } of await listRuns(context.db, { taskId: task.id }))
    if ((await context.ports.git.listSnapshots(context.shadow, id)).length > 0) return false
  return true
}

export const endExhausted = async (
  runContext: RunContext,
  { diagnosis, step }: RecoveryDecision,
  errorMeta: ErrorMeta,
): Promise<void> => {
  if (step.kind !== 'exhausted') throw new Error('endExhausted needs an exhausted step')
  const { context, task } = runContext
  const isEmpty = errorMeta.source === 'execution' && (await leftNothing(runContext, diagnosis))
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, `the run failed with: ${diagnosis.evidence}`)
    const plain = { diagnosis, step, errorMeta: isEmpty ? { ...errorMeta, withoutWork: true as const } : errorMeta }
    const given = { ...plain, errorMeta: withFacts(runContext, plain, await recoveriesOf(tx, task.id)) }
    await closeRun(tx, runContext, 'failed', given.errorMeta)
    if (!mayStartAgain(runContext, given)) return askPerson(tx, runContext, { ...given, reason: diagnosis.failureCode })
    const next = await nextStart(tx, runContext, given)
    return next.decision.kind === 'ask'
      ? askPerson(tx, runContext, { ...given, reason: next.decision.reason })
      : waitForStart(tx, runContext, { diagnosis, next })
  })
}
