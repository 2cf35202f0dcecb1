/**
 * Decides what happens to finished work that cannot be merged: wait for an outage to end, redo the task on the newer
 * base, or ask a person. The same rules apply to a queue entry and to a merged commit that conflicts with its moved
 * target.
 */
import { taskName } from '../../domain/task-title.ts'
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import type { Unmergeable } from '../../recovery/diagnosis/direct-evidence.ts'
import type { Choice } from '../../domain/escalation.ts'
import type { Task } from '../../domain/task.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { progressGoal } from '../../store/goal.ts'
import { moveMerge } from '../../store/merge.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { cancelChoice, hintChoice, mergeAgainChoice, retryChoice } from '../core/choices.ts'
import { machineProblemText } from '../core/question.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { Context } from '../core/context.ts'
import type { ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { chooseStoredRecovery, failAttemptRecoveries, failOpenRecoveries, recordIntent } from '../core/store-record.ts'
import { autoFixRefusal } from './auto-fix.ts'
import { mergedFirst, requeueOnNewerBase, startConflictFix } from './conflict-auto-fix.ts'
import { dropUnusedRunRef, publishesRunRefs } from './run-refs.ts'
import { goalHead, type MergeAttempt } from './merge-attempt.ts'

const longestOutput = 3_000

/** The part of the machine that is at fault (disk, memory, …), if a probe measured it. */
export const machineFault = ({ facts }: { facts: AnyFacts }): string | undefined => facts.machine

const happenedText = ({ task }: MergeAttempt, diagnosis: Diagnosis): string => {
  const machine = machineFault(diagnosis)
  return machine === undefined
    ? `${taskName(task)} could not be merged: ${diagnosis.evidence}.`
    : machineProblemText(task, machine)
}

const detailsOf = ({ run }: MergeAttempt, diagnosis: Diagnosis): string =>
  [
    ...(machineFault(diagnosis) === undefined ? [] : [`It could not be merged: ${diagnosis.evidence}`]),
    `The work is kept: commit ${run.commit ?? '?'}, and in the snapshots of the run (unstuck restore ${run.id} --into <folder>).`,
  ].join('\n')

/** Where its lines and checks are not at fault, the same work may be merged later. What was merged already is taken off the goal branch. */
const mergeAgain = ({ task, run, entry }: MergeAttempt, { label }: Diagnosis): Choice[] =>
  label === 'git_conflict' || entry.state === 'merged' ? [] : [mergeAgainChoice(task.id, run)]

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
      ...mergeAgain(landing, diagnosis),
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
const runAgain = async (landing: MergeAttempt, chosen: ChosenRecovery, conflicts: readonly string[]): Promise<void> => {
  const { context, goal, task, run } = landing
  const { evidence } = chosen.diagnosis
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, `the work could not be merged: ${evidence}`)
    await recordIntent(context, tx, run, chosen)
    await takeOut(tx, landing, evidence)
    const current = (await getTask(tx, task.id)) ?? task
    await requeueOnNewerBase(tx, current, { runId: run.id, conflicts, evidence })
  })
  context.at('recovery-intended')
  if (publishesRunRefs(context, goal)) await dropUnusedRunRef(context, run.id)
}

/** Parks the task until a new one has solved the conflict. */
const leaveToAutoFix = async (
  landing: MergeAttempt,
  { diagnosis, step }: ChosenRecovery<ActionOf<'solve_conflict'>>,
  output: string | undefined,
): Promise<void> => {
  const { context, goal, task, run, entry } = landing
  const merged = await mergedFirst(context, run, step.action)
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, `the work could not be merged: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, { diagnosis, step })
    await takeOut(tx, landing, diagnosis.evidence)
    const current = (await getTask(tx, task.id)) ?? task
    await startConflictFix(context, tx, { goal, task: current, run, entry, action: step.action, output, merged })
  })
  context.at('recovery-intended')
}

/** A solution that conflicts again is solved again by its own task, so that no conflict makes a line of tasks. */
const waysOut = async (context: Context, task: Task): Promise<Pick<Unmergeable, 'autoFix' | 'solvesConflict'>> =>
  task.rework?.kind === 'conflict'
    ? { solvesConflict: true }
    : { autoFix: (await autoFixRefusal(context, context.db, task)) === undefined }

/**
 * The work conflicts with what landed meanwhile, in its lines or in its checks. A new task solves the conflict, or the task is done
 * again; a person is asked when neither is left. If the new task cannot be stored, the entry stays in the queue and is judged again.
 */
export const handleMergeConflict = async (
  landing: MergeAttempt,
  { output, ...found }: Pick<Unmergeable, 'conflicts' | 'onto' | 'failed'> & { output?: string },
): Promise<void> => {
  const { context, task, run } = landing
  const evidence: Evidence = { kind: 'merge', ...found, ...(await waysOut(context, task)) }
  const { diagnosis, step } = await chooseStoredRecovery(context, run, evidence)
  if (step.kind !== 'recover') return escalateUnmergeable(landing, diagnosis)
  const { action } = step
  if (action.type === 'solve_conflict') return leaveToAutoFix(landing, { diagnosis, step: { ...step, action } }, output)
  await runAgain(landing, { diagnosis, step }, found.conflicts)
}

/** The end of what the failed check printed, for the agent that corrects the work. */
export const checkOutput = (evidence: Evidence): { output?: string } =>
  evidence.kind === 'check'
    ? { output: `${evidence.check.stdout}\n${evidence.check.stderr}`.trim().slice(-longestOutput) }
    : {}

/**
 * Applies the same recovery as to a failed check in a run. An outage that a probe confirmed ends by itself: the entry
 * stays in the queue and only its checks run again, because the agent's work is done.
 */
export const handleFailedChecks = async (landing: MergeAttempt, evidence: Evidence): Promise<void> => {
  const { context, task, run, entry } = landing
  const { diagnosis, step } = await chooseStoredRecovery(context, run, evidence)
  if (step.kind !== 'recover' || step.action.type !== 'wait')
    return machineFault(diagnosis) === undefined
      ? handleMergeConflict(landing, {
          ...{ conflicts: [], onto: goalHead(landing.goal), failed: diagnosis.evidence },
          ...checkOutput(evidence),
        })
      : escalateUnmergeable(landing, diagnosis)
  await context.db.transaction(async (tx) => {
    await failAttemptRecoveries(tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, { diagnosis, step })
    mustSucceed(await moveMerge(tx, entry, 'interrupted', { detail: diagnosis.evidence }))
  })
  context.at('recovery-intended')
}
