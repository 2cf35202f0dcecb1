/**
 * Continues the tasks whose persisted wait is over: a failed task, one parked for a quota, and one whose work did not pass. Every
 * step is one transaction over the task, its requeue row, what depends on it and the question, so a crash between two steps leaves
 * a task that still waits.
 */
import { autoFixEnded } from '../../domain/rework.ts'
import type { Retry, Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { chooseRequeue, type RequeueDecision } from '../../recovery/requeue.ts'
import { reworkInstructions, reworkTitle } from '../../recovery/requeue/rework.ts'
import { refreshAreas } from '../../store/area-hold.ts'
import { mustSucceed, StaleError, type Queryable } from '../../store/db.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { getGoal, lockGoal, moveDependents } from '../../store/goal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { givenUp, givenUpTasks, insertRequeue, nextNumber, requeuesOf } from '../../store/requeue.ts'
import { dueTasks } from '../../store/due-tasks.ts'
import { editedReason, getTask, insertTasks, moveTask, postponeTask } from '../../store/task.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import type { Context } from '../core/context.ts'
import { continuingTask } from '../core/continuing-task.ts'
import { recordGrant } from '../core/granted-paths.ts'
import { endsPass } from '../core/pass.ts'
import { triedLines } from '../core/tried.ts'
import { untriedHarness } from '../harness/accounts.ts'
import { continueAfterAutoFix } from '../landing/after-auto-fix.ts'
import type { DecidedPath } from '../run/policy-options.ts'
import { coveredNow, failureOf, lastFailedRun, readRequeueFacts } from '../run/requeue-facts.ts'
import { continueReview } from './review-moves.ts'
import { askAboutGivenUp, askAboutTask, type Due } from './requeue-questions.ts'
import { taskName } from '../../domain/task-title.ts'
import { linkReason } from '../../domain/task-review.ts'
import { openEscalation } from '../../store/escalation.ts'
import { cancelChoice, retryChoice } from '../core/choices.ts'
import { defined } from '../../domain/defined.ts'

/** A task that waited too long for its link: its owner did not resolve it, so a person is asked. Nothing else ends this wait. */
const askAboutLink = async (context: Context, tx: Queryable, task: Task): Promise<void> => {
  const seconds = context.config().requeue.linkSeconds
  const waitsFor = task.link?.waitsFor ?? 'a link'
  const happened = `${taskName(task)} has waited ${seconds} s for ${waitsFor}, and nothing was linked.`
  const id = context.newId('q')
  const link = { waitsFor, issue: null, question: id }
  mustSucceed(await moveTask(tx, task, 'escalated', { link, payload: { reason: linkReason } }))
  await openEscalation(tx, {
    ...{ id, goalId: task.goalId, taskId: task.id, runId: null, kind: 'exhausted' },
    ...{ happened, tried: [], question: happened },
    details: `To link it: unstuck link ${task.id} <issue>. A retry starts the task without a link.`,
    choices: [retryChoice(task.id), cancelChoice(task.id)],
  })
  await appendEvent(tx, {
    type: 'task.recovery_escalated',
    ...{ goalId: task.goalId, taskId: task.id },
    payload: { reason: linkReason, label: linkReason, evidence: happened },
  })
}

/** What the path policy decides now about changed paths of a task. */
export type PathDecisions = (
  context: Context,
  task: Task,
  outside: readonly string[],
) => Promise<readonly DecidedPath[]>

const record = (
  { context, task, run, errorMeta }: Due,
  tx: Queryable,
  { reason, cause, payload = {} }: { reason: string; cause: string; payload?: object },
): Promise<void> =>
  insertRequeue(tx, {
    ...{ id: context.newId('rq').replace('-', '_'), goalId: task.goalId, taskId: task.id, runId: run.id },
    ...{ epoch: run.epoch, reason, cause, signature: errorMeta.signature, payload },
  })

const retryOf = async (
  { context }: Due,
  tx: Queryable,
  { reason, count, limit }: Pick<Retry, 'reason' | 'count' | 'limit'>,
): Promise<Retry> => {
  const { blockedSeconds } = context.config().requeue
  return { reason, count, limit, at: new Date((await storeNow(tx)).getTime() + blockedSeconds * 1000) }
}

type DecisionOf<K extends RequeueDecision['kind']> = Extract<RequeueDecision, { kind: K }>

/** Grants what the policy allows now, so that a person can list and revoke it; the task's own paths stay what a person wrote. */
const grantAllowed = async (due: Due, tx: Queryable, paths: readonly string[]): Promise<Task> => {
  const { context, task, run, decisions } = due
  const covered = await coveredNow(tx, context, task, paths)
  for (const decision of decisions) {
    if (!decision.allowed || !paths.includes(decision.path) || covered.includes(decision.path)) continue
    const { path, rule, because } = decision
    await recordGrant(tx, { context, run, task }, { path, rule, why: because, scope: 'task', by: 'rule' })
  }
  return (await refreshAreas(tx, task.id)) ?? task
}

const startAgain = async (due: Due, tx: Queryable, decision: DecisionOf<'requeue'>): Promise<void> => {
  const { task, run, errorMeta } = due
  const { reason, cause, count, limit, commands, paths } = decision
  const changes = { ...defined({ commands, paths }) }
  await record(due, tx, { reason, cause, payload: changes })
  const widened = paths === undefined ? task : await grantAllowed(due, tx, paths)
  mustSucceed(
    await moveTask(tx, widened, 'retry_due', {
      ...{ runId: run.id, ...defined({ commands }) },
      payload: { reason, after: task.retry?.reason, count, limit, evidence: errorMeta.evidence, ...changes },
    }),
  )
}

/** An event as the seed names it: recovery by itself has come to an end, or waits for a path that no rule allows. */
const reportEscalated = ({ task, run, errorMeta }: Due, tx: Queryable, reason: string): Promise<void> =>
  appendEvent(tx, {
    type: 'task.recovery_escalated',
    ...{ goalId: task.goalId, taskId: task.id, runId: run.id },
    payload: { reason, label: errorMeta.failureCode, evidence: errorMeta.evidence },
  })

const waitAgain = async (due: Due, tx: Queryable, decision: DecisionOf<'wait'>): Promise<void> => {
  await record(due, tx, decision)
  mustSucceed(await postponeTask(tx, due.task, await retryOf(due, tx, decision)))
  await reportEscalated(due, tx, decision.reason)
}

const park = async (due: Due, tx: Queryable, { reason }: DecisionOf<'park'>): Promise<void> => {
  const { task, run, errorMeta } = due
  const retry = await retryOf(due, tx, { reason: 'needs_rework', count: 1, limit: 1 })
  const { failureCode, evidence } = errorMeta
  const payload = { label: failureCode, failureCode, evidence, next: reason, retryAt: retry.at.toISOString() }
  mustSucceed(await moveTask(tx, task, 'rework_needed', { runId: run.id, retry, payload }))
}

/** The parent ends, and what depends on it follows its child, in the same transaction. */
const split = async (due: Due, tx: Queryable, harness: string | undefined): Promise<void> => {
  const { context, task, run, errorMeta } = due
  const clean = (text: string): string => withoutSecrets(context, text)
  const id = context.newId('t')
  const goal = await getGoal(tx, task.goalId)
  const tried = triedLines(await recoveriesOf(tx, task.id), errorMeta.evidence)
  const { requirement = '' } = goal ?? {}
  const number = await nextNumber(tx, task.goalId)
  await insertTasks(tx, [
    continuingTask(task, {
      ...{ id, number, title: clean(reworkTitle(task.title)), kind: 'rework', harness, priority: 5 },
      instructions: clean(reworkInstructions(task, { requirement, because: clean(errorMeta.message), tried })),
      because: clean(errorMeta.evidence),
    }),
  ])
  const payload = { reason: 'superseded_by_rework', child: number, childId: id }
  mustSucceed(await moveTask(tx, task, 'superseded', { supersededBy: id, runId: run.id, payload }))
  await moveDependents(tx, task.goalId, { from: task.id, to: id })
  await appendEvent(tx, {
    type: 'task.split',
    ...{ goalId: task.goalId, taskId: task.id, runId: run.id },
    payload: { reason: 'needs_rework', child: number, childId: id, because: clean(errorMeta.evidence) },
  })
}

const cancel = async (due: Due, tx: Queryable, { reason }: DecisionOf<'cancel'>): Promise<void> => {
  const { task, run } = due
  await record(due, tx, { reason, cause: givenUp })
  mustSucceed(await moveTask(tx, task, 'given_up', { runId: run.id, payload: { reason } }))
  await reportEscalated(due, tx, reason)
  // Another task does the work already, or does it again, so nothing is missing.
  const isContinued = (await getTask(tx, task.id))?.supersededBy !== null
  if (reason !== 'rework_child_already_exists' && !isContinued) await askAboutGivenUp(due, tx, reason)
}

const ask = async (due: Due, tx: Queryable, { reason }: DecisionOf<'ask'>): Promise<void> => {
  const { task, run, errorMeta } = due
  const payload = { label: errorMeta.failureCode, reason }
  mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload }))
  await askAboutTask(due, tx)
  await reportEscalated(due, tx, reason)
}

const carryOut = (
  due: Due,
  tx: Queryable,
  { decision, harness }: { decision: RequeueDecision; harness: string | undefined },
): Promise<void> => {
  switch (decision.kind) {
    case 'requeue':
      return startAgain(due, tx, decision)
    case 'wait':
      return waitAgain(due, tx, decision)
    case 'park':
      return park(due, tx, decision)
    case 'split':
      return split(due, tx, harness)
    case 'cancel':
      return cancel(due, tx, decision)
    case 'ask':
      return ask(due, tx, decision)
  }
}

/** By what the task waited for, where no failed run decides. */
const waitReasons: Partial<Record<Task['status'], string>> = {
  failed: 'cooldown_retry',
  'blocked(needs_rework)': 'needs_rework_in_place_retry',
}

/** The wait of the ladder itself, for a quota or a disturbance: its end is the recovery. So is that of a task that a person changed. */
const endWait = async (tx: Queryable, task: Task): Promise<void> => {
  const reason = task.retry?.reason === editedReason ? editedReason : (waitReasons[task.status] ?? 'quota_wait_retry')
  mustSucceed(
    await moveTask(tx, task, 'retry_due', {
      payload: { reason, after: task.retry?.reason, count: task.retry?.count },
    }),
  )
}

const isLadderWait = async (tx: Queryable, task: Task): Promise<boolean> =>
  task.status === 'blocked(quota_wait)' ||
  (await recoveriesOf(tx, task.id)).some(({ status, action }) => status === 'acting' && action.type === 'wait')

/** Read before the transaction, because these read the store through a connection of their own. */
const outsideFacts = async (
  context: Context,
  task: Task,
  decide: PathDecisions,
): Promise<{ due: Due; harness: string | undefined } | undefined> => {
  const run = await lastFailedRun(context.db, task)
  if (run === undefined) return undefined
  const { errorMeta } = run
  const decisions = await decide(context, task, failureOf(errorMeta).outside)
  return { due: { context, task, run, errorMeta, decisions }, harness: await untriedHarness(context, task, run) }
}

const continueTask = async (context: Context, seen: Task, decide: PathDecisions): Promise<void> => {
  const outside = await outsideFacts(context, seen, decide)
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, seen.goalId)
    const task = await getTask(tx, seen.id)
    // Another writer was first; the next pass reads what it left.
    if (task === undefined || task.version !== seen.version) return
    if (task.retry?.reason === autoFixEnded) return continueAfterAutoFix(context, tx, task)
    if (task.status === 'blocked(issue_linking)') return askAboutLink(context, tx, task)
    if (await continueReview(context, tx, task)) return undefined
    if (outside === undefined || (await isLadderWait(tx, task))) return endWait(tx, task)
    const { due, harness } = outside
    const facts = await readRequeueFacts(context, tx, task, {
      status: task.status === 'failed' ? 'failed' : 'blocked(needs_rework)',
      failure: failureOf(due.errorMeta),
      allowable: due.decisions.flatMap(({ path, allowed }) => (allowed ? [path] : [])),
    })
    await carryOut({ ...due, task }, tx, { decision: chooseRequeue(facts), harness })
  })
}

/** Asks about the next task that was given up, where an answer about another one left it without a question. */
export const askAboutNext = async (context: Context, goalId: string, decide: PathDecisions): Promise<void> => {
  const [task] = await givenUpTasks(context.db, goalId)
  const outside = task === undefined ? undefined : await outsideFacts(context, task, decide)
  if (task === undefined || outside === undefined) return
  const { due } = outside
  await context.db.transaction(async (tx) => {
    await lockGoal(tx, goalId)
    const now = await getTask(tx, task.id)
    const entry = (await requeuesOf(tx, task.id)).findLast(({ cause }) => cause === givenUp)
    if (now?.version === task.version && entry !== undefined) await askAboutGivenUp(due, tx, entry.reason)
  })
}

/** Only work that is due costs anything: one query on two indexes finds it. */
export const requeueDue = async (context: Context, decide: PathDecisions): Promise<void> => {
  for (const task of await dueTasks(context.db, context.config().requeue.blockedSeconds)) {
    try {
      await continueTask(context, task, decide)
    } catch (error) {
      if (endsPass(context, error)) throw error
      if (!(error instanceof StaleError))
        context.log.error({ task: task.id, error: messageOf(error) }, 'a task could not be continued')
    }
  }
}
