/**
 * The judge in mode `auto`: it looks at gates only, never at words. A run is claimed for judgement once; the verdict is
 * final for its commit. Fail-closed: what is not proven green is not enqueued.
 */
import { proves, type Run } from '../../domain/run.ts'
import { mayStartWork } from '../../domain/goal.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import { must, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { enqueueMerge } from '../../store/merge.ts'
import { judgeRun, unjudgedRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'

/** Why a run may not be merged; undefined = every gate holds. */
export const rejectionOf = (run: Run): string | undefined => {
  const { verdict } = run
  if (run.commit === null) return 'the run left no commit'
  if (verdict === null || verdict.outcome === 'not verified') return 'the run was not verified'
  const failed = verdict.checks.find(
    (check) =>
      check.excused === undefined && (check.exitCode !== 0 || check.timedOut || check.ranNothing !== undefined),
  )
  if (failed !== undefined) return `${failed.command} did not pass`
  if (verdict.outcome === 'verified' && verdict.checks.length === 0) return 'no check ran'
  if (verdict.outcome === 'verified' && !verdict.checks.some(proves)) return 'no check passed'
  return undefined
}

const placeOf = ({ goalId, taskId, id: runId }: Run) => ({ goalId, taskId, runId })

const tellReview = (tx: Queryable, run: Run, rejection: string | undefined): Promise<void> =>
  appendEvent(tx, {
    type: 'judge.review',
    ...placeOf(run),
    payload: {
      mode: 'auto',
      verdict: rejection === undefined ? 'approve' : 'request_changes',
      reason: rejection ?? 'every gate holds',
      weakened: (run.verdict?.weakened ?? []).map(weakeningText),
    },
  })

/** The task waits for a person's answer. */
const reject = async (context: Context, tx: Queryable, run: Run, reason: string): Promise<void> => {
  const task = await getTask(tx, run.taskId)
  if (task === undefined) return
  must(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason } }))
  await openEscalation(tx, {
    id: context.newId('q'),
    ...placeOf(run),
    kind: 'exhausted',
    question: `Task ${task.number} "${task.title}" was not approved: ${reason}. Retry it, or cancel it?`,
    details: `Run ${run.id}, commit ${run.commit ?? 'none'}`,
    choices: ['retry', 'cancel'],
  })
}

const judgeOne = async (context: Context, run: Run): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, run.goalId)
    if (goal === undefined || !mayStartWork(goal)) return
    const judged = await judgeRun(tx, run.id)
    if (judged === undefined) return
    const rejection = rejectionOf(judged)
    await tellReview(tx, judged, rejection)
    if (rejection === undefined) await enqueueMerge(tx, context.newId('m'), judged)
    else await reject(context, tx, judged, rejection)
  })
  context.at('judged')
}

/** Judges every successful run that has no judgement yet. */
export const judgeAll = async (context: Context): Promise<void> => {
  for (const run of await unjudgedRuns(context.db)) await judgeOne(context, run)
}
