/** The question about work whose checks prove nothing because it changed them: what was changed, where, and what the person can do. */
import { taskName } from '../../domain/task-title.ts'
import { withEdit, type Task } from '../../domain/task.ts'
import type { Run } from '../../domain/run.ts'
import { objectionsTo } from '../../recovery/proof/what-holds.ts'
import { approveChoice, commandToApprove, cancelChoice, hintChoice, rejectChoice } from './choices.ts'
import { questionWithTried } from './tried.ts'
import type { NewEscalation } from '../../store/escalation.ts'

const mostListed = 20

/**
 * What only a person may approve about the checks of finished work, as lines. An edit that waits for the next attempt counts as part of
 * the task, because a person made it.
 */
export const unapprovedObjections = (task: Task, { verdict }: Run): string[] =>
  verdict === null ? [] : objectionsTo(withEdit(task), verdict)

export const objectionReason = (held: readonly string[]): string =>
  `the work weakened its own checks: ${held.join('; ').slice(0, 500)}`

const happenedText = ({ number, title }: Task, held: readonly string[]): string => {
  const [first] = held
  const more = held.length > 1 ? ` and ${held.length - 1} more` : ''
  const what = first === undefined ? '' : `: ${first}${more}`
  return `${taskName({ number, title })} passes its checks, but the work weakened them${what}.`
}

/** `tried`: the recoveries before, as lines. */
export const weakenedQuestion = (
  task: Task,
  run: Run,
  { held, tried }: { held: readonly string[]; tried: string[] },
): Omit<NewEscalation, 'id'> => ({
  ...{ goalId: run.goalId, taskId: task.id, runId: run.id, kind: 'exhausted' },
  question: questionWithTried(happenedText(task, held), tried),
  details: [
    'Weakened, and not named by the task:',
    ...held.slice(0, mostListed).map((entry) => `- ${entry}`),
    ...(held.length > mostListed ? [`- and ${held.length - mostListed} more`] : []),
    'The agent was asked to restore this and did not.',
    `To look at the work: unstuck restore ${run.id} --into <folder>. To read what the agent wrote: unstuck logs ${run.id}`,
    `To merge exactly this work: ${commandToApprove(task.id, run)}. To have it done differently: unstuck retry ${task.id} --hint "…".`,
  ].join('\n'),
  happened: happenedText(task, held),
  tried,
  choices: [approveChoice(task.id, run), rejectChoice(task.id, run), hintChoice(task.id), cancelChoice(task.id)],
})
