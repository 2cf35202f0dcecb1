/** What a person is asked about work that weakened its checks: what was weakened, where, and what they can do. */
import { withEdit, type Task } from '../../domain/task.ts'
import type { Run, Weakening } from '../../domain/run.ts'
import { unnamed } from '../../recovery/named-by-task.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import { approve, cancel, hint } from './choices.ts'
import type { NewEscalation } from '../../store/escalation.ts'

/** What no gate may approve: an edit that waits counts, since a person made it. */
export const heldOf = (task: Task, { verdict }: Run): Weakening[] => unnamed(withEdit(task), verdict?.weakened ?? [])

export const heldReason = (held: readonly Weakening[]): string =>
  `the work weakened what checks it: ${held.map(weakeningText).join('; ').slice(0, 500)}`

export const weakenedQuestion = (task: Task, run: Run, held: readonly Weakening[]): Omit<NewEscalation, 'id'> => ({
  ...{ goalId: run.goalId, taskId: task.id, runId: run.id, kind: 'exhausted' },
  question: `Task ${task.number} "${task.title}" passes its checks, but the work weakened them. Approve it as it is, or retry it with a hint?`,
  details: [
    'Weakened, and not named by the task:',
    ...held.slice(0, 20).map((entry) => `- ${weakeningText(entry)}`),
    ...(held.length > 20 ? [`- and ${held.length - 20} more`] : []),
    'The agent was told and left it so.',
    `To look at it: unstuck restore ${run.id} --into <folder>; what the agent said: unstuck logs ${run.id}`,
    `To let exactly this work land: unstuck approve ${task.id}. To have it done another way: unstuck retry ${task.id} --hint "…".`,
  ].join('\n'),
  happened: `Task ${task.number} "${task.title}" passes its checks, but the work weakened them.`,
  tried: [],
  choices: [approve(task.id), hint(task.id), cancel(task.id)],
})
