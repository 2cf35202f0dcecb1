/** What becomes of an entry that cannot be merged: it waits for the end of an outage, or a person is asked. */
import type { AnyFacts, Diagnosis } from '../../recovery/types.ts'
import type { Evidence } from '../../recovery/evidence.ts'
import { must, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { moveMerge } from '../../store/merge.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { heldUpText } from '../core/question.ts'
import { decide, failOpen, recordIntent } from '../core/store-record.ts'
import { dropUnused, isHandedOver } from './hand-overs.ts'
import type { Landing } from './landing.ts'

/** What of the machine is at fault, where a probe saw it. */
const machineOf = ({ facts }: { facts: AnyFacts }): string | undefined => facts.machine

const questionOf = ({ task }: Landing, diagnosis: Diagnosis): string => {
  const machine = machineOf(diagnosis)
  return machine === undefined
    ? `Task ${task.number} "${task.title}" could not be merged: ${diagnosis.evidence}. Retry it on the newer base, or cancel it?`
    : heldUpText(task, machine)
}

const detailsOf = ({ run }: Landing, diagnosis: Diagnosis): string =>
  [
    ...(machineOf(diagnosis) === undefined ? [] : [`It could not be merged: ${diagnosis.evidence}`]),
    `The work is kept as commit ${run.commit ?? '?'} and in ${run.id}'s snapshots (unstuck restore ${run.id} --into <folder>).`,
  ].join('\n')

const ask = (tx: Queryable, landing: Landing, diagnosis: Diagnosis): Promise<unknown> =>
  openEscalation(tx, {
    id: landing.context.newId('q'),
    goalId: landing.goal.id,
    taskId: landing.task.id,
    runId: landing.run.id,
    kind: diagnosis.label === 'git_conflict' ? 'merge_conflict' : 'exhausted',
    question: questionOf(landing, diagnosis),
    details: detailsOf(landing, diagnosis),
    choices: ['retry', 'cancel'],
  })

/** The end of an entry: its task waits for a person's answer, and the work is kept. */
export const fail = async (landing: Landing, diagnosis: Diagnosis): Promise<void> => {
  const { context, goal, task, run, entry } = landing
  const { label, evidence } = diagnosis
  await context.db.transaction(async (tx) => {
    await failOpen(tx, task.id, `the work could not be merged: ${label}`)
    must(await moveMerge(tx, entry, 'failed', { detail: evidence }))
    const current = (await getTask(tx, task.id)) ?? task
    must(await moveTask(tx, current, 'escalated', { runId: run.id, payload: { label, evidence } }))
    await ask(tx, landing, diagnosis)
  })
  if (isHandedOver(context, goal)) await dropUnused(context, run.id)
}

/**
 * As the ladder says of the same failure in a run. An outage that a probe saw as well ends by itself: the entry stays in the
 * queue, and only its checks run again; the agent's work is done and is not made twice.
 */
export const failChecks = async (landing: Landing, evidence: Evidence): Promise<void> => {
  const { context, task, run, entry } = landing
  const { diagnosis, step } = await decide(context, run, evidence)
  if (step.kind !== 'recover' || step.action.type !== 'wait') return fail(landing, diagnosis)
  await context.db.transaction(async (tx) => {
    await failOpen(tx, task.id, `its checks failed again: ${diagnosis.evidence}`)
    await recordIntent(context, tx, run, { diagnosis, step })
    must(await moveMerge(tx, entry, 'interrupted', { detail: diagnosis.evidence }))
  })
  context.at('recovery-intended')
}
