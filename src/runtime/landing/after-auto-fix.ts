/**
 * A task whose AutoFix task has ended without a result. Work that conflicted is done again on the newer base, with the old work as a
 * diff; where nothing is left that a machine would try, a person is asked, and the work is kept.
 */
import { taskName } from '../../domain/task-title.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Action } from '../../recovery/playbook.ts'
import { objectionText, pointLines } from '../../recovery/review/objection.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { judgementOfRun } from '../../store/judgement.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import { approveChoice, commandToApprove, cancelChoice, hintChoice, retryChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'
import { chooseStoredRecovery, failOpenRecoveries, recordIntent } from '../core/store-record.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import { requeueOnNewerBase } from './conflict-auto-fix.ts'
import { againChoices } from './judge-questions.ts'
import { goalHead } from './merge-attempt.ts'
import { defined } from '../../domain/defined.ts'

const happenedText = ({ number, title }: Task): string =>
  `${taskName({ number, title })} has finished work that could not land, and the task that was to correct it ended without a result.`

const keptText = (run: Run | undefined): string =>
  run?.commit == null
    ? ''
    : `The work is kept: commit ${run.commit}, and in the snapshots of the run (unstuck restore ${run.id} --into <folder>).`

/** What the newest AutoFix task was made for. */
const lastFixOf = async (tx: Queryable, task: Task): Promise<Action | undefined> =>
  (await recoveriesOf(tx, task.id))
    .map(({ action }) => action as Action)
    .findLast(({ type }) => type === 'solve_conflict' || type === 'answer_objection')

/** Does the task again on the newer base, if the ladder has an attempt left. */
const recreate = async (context: Context, tx: Queryable, task: Task, run: Run): Promise<boolean> => {
  const fix = await lastFixOf(tx, task)
  const goal = await getGoal(tx, task.goalId)
  if (fix?.type !== 'solve_conflict' || goal === undefined) return false
  const { conflicts, failed } = fix
  const evidence = { conflicts, onto: goalHead(goal), ...defined({ failed }) }
  const from = { policy: context.policy, db: tx }
  const { diagnosis, step } = await chooseStoredRecovery(from, run, { kind: 'merge', ...evidence })
  if (step.kind !== 'recover') return false
  await recordIntent(context, tx, run, { diagnosis, step })
  await requeueOnNewerBase(tx, task, { runId: run.id, conflicts, evidence: diagnosis.evidence })
  await appendEvent(tx, {
    type: 'judge.mainline_recreate_task_created',
    ...{ goalId: task.goalId, taskId: task.id, runId: run.id },
    payload: { onto: goalHead(goal), evidence: diagnosis.evidence },
  })
  return true
}

interface Told {
  happened: string
  details: string
}

/** Who objects and to what, for a person who may let the work land all the same. */
const objectionTold = async (tx: Queryable, task: Task, run: Run): Promise<Told> => {
  const judgement = await judgementOfRun(tx, run.id)
  const { points = [], summary = '', decidedBy = null, harness = null } = judgement ?? {}
  const by = decidedBy ?? (harness === null ? 'the reviewer' : `the reviewer (${harness})`)
  return {
    happened: `${happenedText(task)} ${by} objected: ${objectionText(points)}.`,
    details: [
      ...pointLines(points),
      ...(summary === '' ? [] : [summary]),
      `To look at the work: unstuck diff ${run.id}. To merge exactly this work: ${commandToApprove(task.id, run)}.`,
      keptText(run),
    ].join('\n'),
  }
}

export const continueAfterAutoFix = async (context: Context, tx: Queryable, task: Task): Promise<void> => {
  const run = (await listRuns(tx, { taskId: task.id, state: 'success' })).at(-1)
  await failOpenRecoveries(tx, task.id, 'the task that was to correct it ended without a result')
  if (run !== undefined && (await recreate(context, tx, task, run))) return
  const objected = run !== undefined && (await lastFixOf(tx, task))?.type === 'answer_objection'
  const { happened, details } = objected
    ? await objectionTold(tx, task, run)
    : { happened: happenedText(task), details: keptText(run) }
  const tried = triedLines(await recoveriesOf(tx, task.id))
  mustSucceed(await moveTask(tx, task, 'escalated', { payload: { reason: 'auto_fix_ended' } }))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: task.id, runId: run?.id ?? null, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried), details },
    choices: [
      ...(objected
        ? [approveChoice(task.id, run), ...againChoices(task)]
        : [hintChoice(task.id), retryChoice(task.id)]),
      cancelChoice(task.id),
    ],
  })
}
