/** The questions about a task that cannot continue by itself, from what the store knows of its last run. */
import type { ErrorMeta, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Queryable } from '../../store/db.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import type { Context } from '../core/context.ts'
import { cancelChoice, hintChoice, retryChoice, takeOverChoice } from '../core/choices.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import { requeuedLines } from '../run/requeued-lines.ts'

/** A task whose wait is over, and the run that failed before it. */
export interface Due {
  context: Context
  task: Task
  run: Run
  errorMeta: ErrorMeta
}

const triedOf = async ({ task, errorMeta }: Due, tx: Queryable): Promise<string[]> => [
  ...triedLines(await recoveriesOf(tx, task.id), errorMeta.evidence),
  ...(await requeuedLines(tx, task)),
]

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const nameOf = ({ number, title }: Task): string => `Task ${number} "${title}"`

const tasksText = (count: number): string => (count === 1 ? 'one task had' : `${count} tasks had`)

const whatFailed = ({ errorMeta }: Due): string => {
  const paths = (errorMeta.policyViolations ?? []).map(({ path }) => path)
  return paths.length === 0
    ? errorMeta.evidence
    : `it changed ${paths.join(', ')}, which its allowed paths do not cover`
}

const evidenceLines = ({ task, run, errorMeta }: Due): string[] => [
  `Evidence: ${errorMeta.evidence}`,
  `The decisions: unstuck explain ${task.id}`,
  `The work of the agent is kept: unstuck restore ${run.id} --into <folder>. Its output: unstuck logs ${run.id}`,
]

/** A task that a person is asked about although it waited for its next start. */
export const askAboutTask = async (due: Due, tx: Queryable): Promise<void> => {
  const { context, task, run } = due
  const happened = sentence(`${nameOf(task)} stopped: ${whatFailed(due)}`)
  const tried = await triedOf(due, tx)
  const takeOver = run.launches.length === 0 ? [] : [takeOverChoice(task.id, run.id)]
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: task.id, runId: run.id, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried) },
    details: evidenceLines(due).join('\n'),
    choices: [hintChoice(task.id), ...takeOver, retryChoice(task.id), cancelChoice(task.id)],
  })
}

/** One question per goal about tasks that were given up: the goal waits for the answer. */
export const askAboutGivenUp = async (due: Due, tx: Queryable, reason: string): Promise<void> => {
  const { context, task } = due
  const pending = await listEscalations(tx, { goalId: task.goalId, pendingOnly: true })
  if (pending.some(({ taskId }) => taskId === null)) return
  const why =
    reason === 'rework_chain_max_depth_reached'
      ? `after ${tasksText(task.rework?.depth ?? 0)} continued the same work: ${whatFailed(due)}`
      : `because ${whatFailed(due)}`
  const happened = sentence(`${nameOf(task)} was given up ${why}`)
  const tried = await triedOf(due, tx)
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: null, runId: null, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried) },
    details: [`To retry only this task with advice: unstuck retry ${task.id} --hint "…"`, ...evidenceLines(due)].join(
      '\n',
    ),
    choices: [retryChoice(task.goalId), cancelChoice(task.goalId)],
  })
}
