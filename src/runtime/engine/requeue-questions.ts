/** The questions about a task that cannot continue by itself, from what the store knows of its last run. */
import { taskName } from '../../domain/task-title.ts'
import { unconnected } from '../../recovery/policy/auto-allow.ts'
import { isAboutGoal, type Choice } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { ErrorMeta, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { visibleText } from '../../visible-text.ts'
import type { Queryable } from '../../store/db.ts'
import { listEscalations, openEscalation } from '../../store/escalation.ts'
import { getGoal } from '../../store/goal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import type { Context } from '../core/context.ts'
import {
  cancelChoice,
  editChoice,
  hintChoice,
  leaveOutChoice,
  retryChoice,
  takeOverChoice,
  widenChoice,
} from '../core/choices.ts'
import { splitGrantable, type RefusedPath } from '../core/grantable-paths.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { DecidedPath } from '../run/policy-options.ts'
import { requeuedLines } from '../run/requeued-lines.ts'

/** A task whose wait is over, and the run that failed before it. */
export interface Due {
  context: Context
  task: Task
  run: Run
  errorMeta: ErrorMeta
  /** What the path policy decides now about the paths that the run changed outside its rules. */
  decisions: readonly DecidedPath[]
}

/** Paths that a sentence names. */
const mostNamed = 3

const triedOf = async ({ task, errorMeta }: Due, tx: Queryable): Promise<string[]> => [
  ...triedLines(await recoveriesOf(tx, task.id), errorMeta.evidence),
  ...(await requeuedLines(tx, task)),
]

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const tasksText = (count: number): string => (count === 1 ? 'one task had' : `${count} tasks had`)

const listed = (paths: readonly string[]): string => {
  const named = paths.slice(0, mostNamed).map(visibleText).join(', ')
  return paths.length > mostNamed ? `${named} and ${paths.length - mostNamed} more` : named
}

const whatFailed = ({ errorMeta }: Due): string => {
  const violations = errorMeta.policyViolations ?? []
  const paths = violations.map(({ path }) => path)
  const isOutside = violations.some(({ kind }) => kind === 'outside')
  if (paths.length === 0) return errorMeta.evidence
  return `it changed ${listed(paths)}, which ${isOutside ? 'its allowed paths do not cover' : 'may not be part of the work'}`
}

const evidenceLines = ({ task, run, errorMeta }: Due): string[] => [
  `Evidence: ${errorMeta.evidence}`,
  `The decisions: unstuck explain ${task.id}`,
  `The work of the agent is kept: unstuck restore ${run.id} --into <folder>. Its output: unstuck logs ${run.id}`,
]

/** A task that a person is asked about although it waited for its next start. */
export const askAboutTask = async (due: Due, tx: Queryable): Promise<void> => {
  const { context, task, run } = due
  const happened = sentence(`${taskName(task)} stopped: ${whatFailed(due)}`)
  const tried = await triedOf(due, tx)
  const takeOver = run.launches.length === 0 ? [] : [takeOverChoice(task.id, run.id)]
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: task.id, runId: run.id, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried) },
    details: evidenceLines(due).join('\n'),
    choices: [hintChoice(task.id), ...takeOver, retryChoice(task.id), cancelChoice(task.id)],
  })
}

/** Kinds of violations whose files can simply stay out of the work; a snapshot keeps them. */
const removable: readonly string[] = ['outside', 'denied', 'secret', 'nested_repository', 'symlink_out']

/** Why the rules did not allow the paths, and what would have to change first where a person cannot allow them either. */
const whyRefused = (
  decisions: readonly Pick<DecidedPath, 'path' | 'because'>[],
  refused: readonly RefusedPath[],
): string[] => {
  const open = decisions.filter(({ path }) => !refused.some((each) => each.path === path))
  // The question has said already that the allowed paths do not cover these.
  const plain = open.filter(({ path, because }) => because === unconnected(path))
  return [
    ...refused.map(({ path, reason }) => `${visibleText(path)} cannot be allowed: ${reason}.`),
    ...(plain.length === 0 ? [] : [`No rule connects ${plain.length === 1 ? 'it' : 'them'} with the task.`]),
    ...open.filter((decision) => !plain.includes(decision)).map(({ because }) => because),
  ]
}

/** The choices about changed paths, and the reasons in which the person reads why no rule decided. */
const pathHelp = ({ context, task, errorMeta, decisions }: Due, goal: Goal): { choices: Choice[]; why: string[] } => {
  const violations = errorMeta.failureCode === 'policy_violation' ? (errorMeta.policyViolations ?? []) : []
  const pathsOf = (kinds: readonly string[]): string[] =>
    violations.flatMap(({ path, kind }) => (kinds.includes(kind) ? [path] : []))
  const { grantable } = splitGrantable(pathsOf(['outside']), context, task.deniedPaths)
  const { refused } = splitGrantable(pathsOf(removable), context, task.deniedPaths)
  // In the user's own folder nothing is left out: a file there is the user's.
  const removed = goal.repoMode === 'direct' ? [] : pathsOf(removable)
  const ofGoal = { goal: goal.id, leavesOut: removed.length > 1 }
  return {
    choices: [
      ...(grantable.length === 0 ? [] : [widenChoice(task.id, grantable, ofGoal)]),
      ...(removed.length === 0 ? [] : [leaveOutChoice(task.id, removed, ofGoal)]),
    ],
    why: whyRefused(decisions, refused),
  }
}

/** One question per goal about tasks that were given up: the goal waits for the answer. */
export const askAboutGivenUp = async (due: Due, tx: Queryable, reason: string): Promise<void> => {
  const { context, task } = due
  const pending = await listEscalations(tx, { goalId: task.goalId, pendingOnly: true })
  const goal = await getGoal(tx, task.goalId)
  if (goal === undefined || pending.some(isAboutGoal)) return
  const because =
    reason === 'rework_chain_max_depth_reached'
      ? `after ${tasksText(task.rework?.depth ?? 0)} continued the same work: ${whatFailed(due)}`
      : `because ${whatFailed(due)}`
  const { choices, why } = pathHelp(due, goal)
  const happened = [sentence(`${taskName(task)} was given up ${because}`), ...why.slice(0, mostNamed)].join(' ')
  const tried = await triedOf(due, tx)
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: task.goalId, taskId: null, runId: null, kind: 'exhausted' },
    ...{ happened, tried, question: questionWithTried(happened, tried) },
    details: [...why, ...evidenceLines(due)].join('\n'),
    choices: [
      ...choices,
      hintChoice(task.id, { goal: goal.id }),
      editChoice(task.id),
      retryChoice(task.goalId),
      cancelChoice(task.goalId),
    ],
  })
}
