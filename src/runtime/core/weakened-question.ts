/** The question about work that weakened its own checks: what was weakened, where, and what the person can do. */
import { withEdit, type Task } from '../../domain/task.ts'
import type { Run, Weakening } from '../../domain/run.ts'
import { unnamedWeakenings } from '../../recovery/named-by-task.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import { approveChoice, commandToApprove, cancelChoice, hintChoice, rejectChoice } from './choices.ts'
import { questionWithTried } from './tried.ts'
import type { NewEscalation } from '../../store/escalation.ts'

const mostListed = 20

/**
 * The weakened checks that only a person may approve: those that the task does not name. An edit that waits for the next attempt
 * counts as part of the task, because a person made it.
 */
export const unapprovedWeakenings = (task: Task, { verdict }: Run): Weakening[] =>
  unnamedWeakenings(withEdit(task), verdict?.weakened ?? [])

export const weakeningReason = (held: readonly Weakening[]): string =>
  `the work weakened its own checks: ${held.map(weakeningText).join('; ').slice(0, 500)}`

const happenedText = ({ number, title }: Task, held: readonly Weakening[]): string => {
  const [first] = held
  const more = held.length > 1 ? ` and ${held.length - 1} more` : ''
  const what = first === undefined ? '' : `: ${weakeningText(first)}${more}`
  return `Task ${number} "${title}" passes its checks, but the work weakened them${what}.`
}

/** `tried`: the recoveries before, as lines. */
export const weakenedQuestion = (
  task: Task,
  run: Run,
  { held, tried }: { held: readonly Weakening[]; tried: string[] },
): Omit<NewEscalation, 'id'> => ({
  ...{ goalId: run.goalId, taskId: task.id, runId: run.id, kind: 'exhausted' },
  question: questionWithTried(happenedText(task, held), tried),
  details: [
    'Weakened, and not named by the task:',
    ...held.slice(0, mostListed).map((entry) => `- ${weakeningText(entry)}`),
    ...(held.length > mostListed ? [`- and ${held.length - mostListed} more`] : []),
    'The agent was asked to restore this and did not.',
    `To look at the work: unstuck restore ${run.id} --into <folder>. To read what the agent wrote: unstuck logs ${run.id}`,
    `To merge exactly this work: ${commandToApprove(task.id, run)}. To have it done differently: unstuck retry ${task.id} --hint "…".`,
  ].join('\n'),
  happened: happenedText(task, held),
  tried,
  choices: [approveChoice(task.id, run), rejectChoice(task.id, run), hintChoice(task.id), cancelChoice(task.id)],
})
