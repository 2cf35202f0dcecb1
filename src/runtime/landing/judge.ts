/**
 * The judge in mode `auto`: it decides by check results, never by what an agent wrote. A run is claimed for judgement
 * once, and the verdict is final for its commit. Fail-closed: work whose checks did not pass, or that weakened its own
 * checks without being asked to, or is larger than the owner's limits, is not merged.
 */
import { isEvidence, type Run } from '../../domain/run.ts'
import { mayStartWork } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation, type NewEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { enqueueMerge } from '../../store/merge.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { judgeRun, unjudgedRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { cancelChoice, hintChoice } from '../core/choices.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { Context } from '../core/context.ts'
import { heldQuestion, heldReason, heldWork, type Held } from '../core/held-work.ts'
import { endsPass } from '../core/pass.ts'

/** Why a run may not be merged; undefined = every gate passes. */
export const rejectionReason = (run: Run): string | undefined => {
  const { verdict } = run
  if (run.commit === null) return 'the run made no commit'
  if (verdict === null || verdict.outcome === 'not verified') return 'the run was not verified'
  const failed = verdict.checks.find(
    (check) =>
      check.excused === undefined && (check.exitCode !== 0 || check.timedOut || check.ranNothing !== undefined),
  )
  if (failed !== undefined) return `its check "${failed.command}" did not pass`
  if (verdict.outcome === 'verified' && verdict.checks.length === 0) return 'no check ran'
  if (verdict.outcome === 'verified' && !verdict.checks.some(isEvidence)) return 'no check passed'
  return undefined
}

const idsOf = ({ goalId, taskId, id: runId }: Run) => ({ goalId, taskId, runId })

type Review = { verdict: 'approve' | 'request_changes' | 'ask_person'; reason: string; held?: Held }

const reviewOf = (task: Task, run: Run): Review => {
  const rejection = rejectionReason(run)
  if (rejection !== undefined) return { verdict: 'request_changes', reason: rejection }
  const held = heldWork(task, run)
  return held === undefined
    ? { verdict: 'approve', reason: 'every gate passed' }
    : { verdict: 'ask_person', reason: heldReason(held), held }
}

const recordReview = (tx: Queryable, run: Run, { verdict, reason }: Review): Promise<void> =>
  appendEvent(tx, {
    type: 'judge.review',
    ...idsOf(run),
    payload: {
      ...{ mode: 'auto', verdict, reason },
      weakened: (run.verdict?.weakened ?? []).map(weakeningText),
    },
  })

const questionOf = (
  task: Task,
  run: Run,
  { reason, held, tried }: Review & { tried: string[] },
): Omit<NewEscalation, 'id'> => {
  if (held !== undefined) return heldQuestion(task, run, { ...held, tried })
  const happened = `Task ${task.number} "${task.title}" was not approved: ${reason}.`
  return {
    ...idsOf(run),
    kind: 'exhausted',
    ...{ question: questionWithTried(happened, tried), happened, tried },
    details: `The work is kept as commit ${run.commit ?? 'none'}: unstuck restore ${run.id} --into <folder>. Its output: unstuck logs ${run.id}`,
    choices: [hintChoice(task.id), cancelChoice(task.id)],
  }
}

const judgeOne = async (context: Context, run: Run): Promise<void> => {
  await context.db.transaction(async (tx) => {
    const goal = await getGoal(tx, run.goalId)
    if (goal === undefined || !mayStartWork(goal)) return undefined
    const judged = await judgeRun(tx, run.id)
    if (judged === undefined) return undefined
    const task = await getTask(tx, run.taskId)
    if (task === undefined) throw new Error(`task ${run.taskId} is gone from the store`)
    const review = reviewOf(task, judged)
    await recordReview(tx, judged, review)
    if (review.verdict === 'approve') return enqueueMerge(tx, context.newId('m'), judged)
    mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason: review.reason } }))
    const tried = triedLines(await recoveriesOf(tx, task.id))
    return openEscalation(tx, { id: context.newId('q'), ...questionOf(task, judged, { ...review, tried }) })
  })
  context.at('judged')
}

/** Judges every successful run that has no judgement yet. */
export const judgeRuns = async (context: Context): Promise<void> => {
  for (const run of await unjudgedRuns(context.db)) {
    try {
      await judgeOne(context, run)
    } catch (error) {
      if (endsPass(context, error)) throw error
      context.log.error(
        { run: run.id, error: messageOf(error) },
        'a run could not be judged; the next pass tries again',
      )
    }
  }
}
