/**
 * Decides what happens to finished work that cannot be merged: wait for an outage to end, redo the task on the newer
 * base, or ask a person. The same rules apply to a queue entry and to a merged commit that conflicts with its moved
 * target.
 */
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { progressGoal } from '../../store/goal.ts'
import { moveMerge } from '../../store/merge.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { cancelChoice, hintChoice, retryChoice } from '../core/choices.ts'
import { machineProblemText } from '../core/question.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { ChosenRecovery } from '../core/recovery-record.ts'
import { chooseStoredRecovery, failAttemptRecoveries, failOpenRecoveries, recordIntent } from '../core/store-record.ts'
import { dropUnusedRunRef, publishesRunRefs } from './run-refs.ts'
import { goalHead, type MergeAttempt } from './merge-attempt.ts'

/** The part of the machine that is at fault (disk, memory, …), if a probe measured it. */
export const machineFault = ({ facts }: { facts: AnyFacts }): string | undefined => facts.machine

const happenedText = ({ task }: MergeAttempt, diagnosis: Diagnosis): string => {
  const machine = machineFault(diagnosis)
  return machine === undefined
    ? `Task ${task.number} "${task.title}" could not be merged: ${diagnosis.evidence}.`
    : machineProblemText(task, machine)
}

const detailsOf = ({ run }: MergeAttempt, diagnosis: Diagnosis): string =>
  [
    ...(machineFault(diagnosis) === undefined ? [] : [`It could not be merged: ${diagnosis.evidence}`]),
    `The work is kept: commit ${run.commit ?? '?'}, and in the snapshots of the run (unstuck restore ${run.id} --into <folder>).`,
  ].join('\n')

const askPerson = async (tx: Queryable, landing: MergeAttempt, diagnosis: Diagnosis): Promise<void> => {
  const happened = happenedText(landing, diagnosis)
  const tried = triedLines(await recoveriesOf(tx, landing.task.id), diagnosis.evidence)
  await openEscalation(tx, {
    id: landing.context.newId('q'),
    goalId: landing.goal.id,
    taskId: landing.task.id,
    runId: landing.run.id,
    kind: diagnosis.label === 'git_conflict' ? 'merge_conflict' : 'exhausted',
    ...{ question: questionWithTried(happened, tried), happened, tried },
    details: detailsOf(landing, diagnosis),
    choices: [
      retryChoice(landing.task.id),
      ...(machineFault(diagnosis) === undefined ? [hintChoice(landing.task.id)] : []),
      cancelChoice(landing.task.id),
    ],
  })
}

/**
 * Takes the work out of the queue, or off the goal branch: the branch is then rebuilt without it before anything else
 * starts.
 */
const takeOut = async (tx: Queryable, { goal, entry }: MergeAttempt, detail: string): Promise<void> => {
  if (entry.state === 'merged')
    await progressGoal(tx, goal.id, { landing: { outdated: true, sentBack: true, tries: 0 } })
  else mustSucceed(await moveMerge(tx, entry, 'failed', { detail }))
}

/** Blocks the task with a question to a person; the work is kept. */
export const escalateUnmergeable = async (landing: MergeAttempt, diagnosis: Diagnosis): Promise<void> => {
  const { context, goal, task, run } = landing
  const { label, evidence } = diagnosis
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, `the work could not be merged: ${label}`)
    await takeOut(tx, landing, evidence)
    const current = (await getTask(tx, task.id)) ?? task
    mustSucceed(await moveTask(tx, current, 'escalated', { runId: run.id, payload: { label, evidence } }))
    await askPerson(tx, landing, diagnosis)
  })
  if (publishesRunRefs(context, goal)) await dropUnusedRunRef(context, run.id)
}

/** Requeues the task: the next run begins on the newer base, with the old diff as context. */
const runAgain = async (landing: MergeAttempt, chosen: ChosenRecovery): Promise<void> => {
  const { context, goal, task, run } = landing
  const { evidence } = chosen.diagnosis
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, `the work could not be merged: ${evidence}`)
    await recordIntent(context, tx, run, chosen)
    await takeOut(tx, landing, evidence)
    const current = (await getTask(tx, task.id)) ?? task
    const payload = { reason: 'conflict_requeue', evidence }
    mustSucceed(await moveTask(tx, current, 'conflicted', { runId: run.id, payload }))
  })
  context.at('recovery-intended')
  if (publishesRunRefs(context, goal)) await dropUnusedRunRef(context, run.id)
}

/**
 * The work conflicts with what landed meanwhile, in its lines or in its checks. Redoes the task where the retry budget
 * allows it, else asks a person.
 */
export const handleMergeConflict = async (
  landing: MergeAttempt,
  found: { conflicts: string[]; onto: string; failed?: string },
): Promise<void> => {
  const { diagnosis, step } = await chooseStoredRecovery(landing.context, landing.run, { kind: 'merge', ...found })
  if (step.kind === 'recover') await runAgain(landing, { diagnosis, step })
  else await escalateUnmergeable(landing, diagnosis)
}

/**
 * Applies the same recovery as to a failed check in a run. An outage that a probe confirmed ends by itself: the entry
 * stays in the queue and only its checks run again, because the agent's work is done.
 */
export const handleFailedChecks = async (landing: MergeAttempt, evidence: Evidence): Promise<void> => {
  const { context, task, run, entry } = landing
  const { diagnosis, step } = await chooseStoredRecovery(context, run, evidence)
  if (step.kind !== 'recover' || step.action.type !== 'wait')
    return machineFault(diagnosis) === undefined
      ? handleMergeConflict(landing, { conflicts: [], onto: goalHead(landing.goal), failed: diagnosis.evidence })
      : escalateUnmergeable(landing, diagnosis)
  await context.db.transaction(async (tx) => {
    await failAttemptRecoveries(tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, { diagnosis, step })
    mustSucceed(await moveMerge(tx, entry, 'interrupted', { detail: diagnosis.evidence }))
  })
  context.at('recovery-intended')
}
