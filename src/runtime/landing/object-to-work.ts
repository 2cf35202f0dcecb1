/**
 * What follows an objection to finished work. A new task corrects it, as often as the line of tasks may grow; the same objection once
 * more goes to another harness; then a person decides, with both sides in view. So writer and reviewer never argue without end.
 */
import type { Judgement, ReviewPoint } from '../../domain/judgement.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import {
  autoFixInstructions,
  autoFixTitle,
  isSameObjection,
  objectionKey,
  objectionText,
} from '../../recovery/review/objection.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { judgementsOf } from '../../store/judgement.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { moveTask } from '../../store/task.ts'
import { lastWords } from '../agent/resume-from.ts'
import { withoutSecrets } from '../core/without-secrets.ts'
import type { Context } from '../core/context.ts'
import type { ActionOf, ChosenRecovery, RecoveryDecision } from '../core/recovery-record.ts'
import { chooseStoredRecovery, recordIntent } from '../core/store-record.ts'
import { triedLines } from '../core/tried.ts'
import { freeHarnesses } from '../harness/accounts.ts'
import { harnessesHere } from '../harness/harness-choice.ts'
import { autoFixRefusal, lineOfTask, startAutoFix } from './auto-fix.ts'
import { disagreementQuestion, type BothSides } from './judge-questions.ts'
import { defined } from '../../domain/defined.ts'

/** In `priority`, as the tasks that correct work have it: nothing else of the goal helps to finish it. */
const priority = 80

export interface Objected {
  judgement: Pick<Judgement, 'id' | 'number'>
  task: Task
  run: Run
  /** Who objects: `the reviewer (codex)`, or a person. */
  by: string
  /** A person may say the same again: each time it is carried out. */
  isPerson?: boolean
  points: ReviewPoint[]
  summary: string
}

/** A task that names a model stays with its harness, because another harness does not know that model. */
const untriedInLine = async (context: Context, task: Task, line: readonly Task[]): Promise<string | undefined> => {
  const failover = context.config().harness.failover ?? []
  if (failover.length === 0 || task.model !== null) return undefined
  const tried = new Set(line.map(({ harness }) => harness))
  for (const { id } of line) for (const run of await listRuns(context.db, { taskId: id })) tried.add(run.harness)
  const here = harnessesHere(context)
  const untried = failover.filter((name) => here.includes(name) && !tried.has(name))
  return (await freeHarnesses(context, untried))[0]
}

export interface ChosenAnswer extends RecoveryDecision {
  /** For the question, where a person has to decide. */
  sides: BothSides
}

/** Reads the store outside of any transaction, and writes nothing. */
export const chooseForObjection = async (context: Context, objected: Objected): Promise<ChosenAnswer> => {
  const { task, run, by, points, summary, judgement, isPerson = false } = objected
  const line = await lineOfTask(context.db, task)
  const earlier = (
    await judgementsOf(
      context.db,
      line.map(({ id }) => id),
    )
  ).filter(({ id, verdict }) => verdict === 'request_changes' && id !== judgement.id)
  const again = !isPerson && earlier.some((before) => isSameObjection(points, before.points))
  const otherHarness = again ? await untriedInLine(context, task, line) : undefined
  const decision = await chooseStoredRecovery(context, run, {
    ...{ kind: 'objection', by, again, text: objectionText(points), key: objectionKey(points) },
    mayCorrect: (await autoFixRefusal(context, context.db, task)) === undefined,
    ...defined({ otherHarness }),
  })
  return { ...decision, sides: { by, points, summary, again, writer: lastWords(context, run) } }
}

const correct = async (
  context: Context,
  tx: Queryable,
  { judgement, task, run, by, points, summary }: Objected,
  chosen: ChosenRecovery<ActionOf<'answer_objection'>>,
): Promise<void> => {
  const { harness } = chosen.step.action
  const because = withoutSecrets(context, chosen.step.action.because)
  await recordIntent(context, tx, run, chosen)
  const title = withoutSecrets(context, autoFixTitle(judgement.number, task.title))
  const child = await startAutoFix(
    context,
    tx,
    { task, run },
    {
      ...{ kind: 'objection', title, because, priority },
      instructions: autoFixInstructions(task, { points, summary, by }),
      ...defined({ harness }),
      payload: { judgement: judgement.id },
    },
  )
  await appendEvent(tx, {
    type: 'judge.autofix_task_created',
    ...{ goalId: run.goalId, taskId: task.id, runId: run.id },
    payload: { child: child.number, childId: child.id, title, because, ...defined({ harness }) },
  })
}

/** Whether a new task corrects the work. */
export const isAutoFixStep = (
  decision: RecoveryDecision,
): decision is RecoveryDecision & ChosenRecovery<ActionOf<'answer_objection'>> =>
  decision.step.kind === 'recover' && decision.step.action.type === 'answer_objection'

/** In the transaction that stores the verdict. */
export const answerObjection = async (
  context: Context,
  tx: Queryable,
  objected: Objected,
  answer: ChosenAnswer,
): Promise<void> => {
  const { task, run } = objected
  if (isAutoFixStep(answer)) return correct(context, tx, objected, answer)
  const tried = triedLines(await recoveriesOf(tx, task.id))
  if (task.status === 'blocked(awaiting_judge)') {
    const payload = { reason: answer.diagnosis.evidence }
    mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload }))
  }
  await openEscalation(tx, {
    id: context.newId('q'),
    ...disagreementQuestion(task, run, { ...answer.sides, tried }),
  })
}
