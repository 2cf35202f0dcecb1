/**
 * Makes the AutoFix task that solves a conflict of finished work, `[AutoFix-Conflict] PR #n`. Its runs start in a workspace in which
 * both sides are merged (src/runtime/agent/conflict-workspace.ts); the branch of the goal and the user's repository stay as they are.
 */
import { taskName } from '../../domain/task-title.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Run } from '../../domain/run.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { visibleText } from '../../visible-text.ts'
import { setTargetArea } from '../../store/area-hold.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { moveTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import type { ActionOf } from '../core/recovery-record.ts'
import { startAutoFix } from './auto-fix.ts'

/** Of the commits that were merged first; more would not fit into a brief. */
const mostTitles = 8
const mostSearched = 50
const mostPaths = 20
const longestOutput = 3_000

const titleStart = '[AutoFix-Conflict] '

/** `n` is the number of the merge entry, because there is no pull request. */
export const conflictTitle = (entry: Pick<MergeEntry, 'number'>, task: Pick<Task, 'title'>): string =>
  `${titleStart}PR #${entry.number}: ${task.title}`

/** What one fix needs to know of the conflict. */
export interface Conflict {
  goal: Goal
  task: Task
  run: Run
  entry: MergeEntry
  action: ActionOf<'solve_conflict'>
  output: string | undefined
  /** Titles of the commits that were merged first and change the same files. */
  merged: readonly string[]
}

/** Titles of the commits between the base of the run and `onto` that change a conflicting file, newest first. */
export const mergedFirst = async (
  { ports, repository, shadow }: Context,
  run: Run,
  { conflicts, onto }: { conflicts: readonly string[]; onto: string },
): Promise<string[]> => {
  if (run.baseCommit === null) return []
  const found = await ports.git.commitsBetween(repository, { head: run.baseCommit, tip: onto }, mostSearched)
  const titles: string[] = []
  for (const { commit, parent, subject } of found) {
    if (titles.length === mostTitles) break
    const changed = parent === null ? [] : await ports.git.changesBetween(shadow, parent, commit)
    if (conflicts.length === 0 || changed.some(({ path }) => conflicts.includes(path))) titles.push(subject)
  }
  return titles
}

const listed = (lines: readonly string[]): string[] => lines.map((line) => `- ${line}`)

const pathLines = (paths: readonly string[]): string[] => [
  ...listed(paths.slice(0, mostPaths).map(visibleText)),
  ...(paths.length > mostPaths ? [`- and ${paths.length - mostPaths} more`] : []),
]

const sidesOf = ({ task, action, output }: Conflict): string[] =>
  action.failed === undefined
    ? [
        `Both sides changed the same lines of these files, and conflict markers are left in them. Between <<<<<<< and ======= is what is on the branch, between ======= and >>>>>>> is the work of task ${task.number}:`,
        ...pathLines(action.conflicts),
        'Solve each conflict so that the file does what both sides want, and remove every marker. Work in which a marker is left is not accepted.',
      ]
    : [
        `No lines conflict, but on top of the branch a check fails that passed before: ${action.failed}`,
        ...(output === undefined || output === '' ? [] : ['Its output:', output.slice(-longestOutput)]),
        'Correct the work so that the check passes, and keep what both sides want.',
      ]

const heading = '## Conflict'

/** The parent's own instructions, without the section of an earlier conflict. */
const ownInstructions = ({ task, goal }: Conflict): string => {
  const text = task.instructions === '' ? goal.requirement : task.instructions
  const at = text.lastIndexOf(`\n${heading}\n`)
  return at === -1 ? text : text.slice(0, at).trimEnd()
}

export const conflictInstructions = (conflict: Conflict): string => {
  const { task, merged } = conflict
  return [
    ownInstructions(conflict),
    '',
    heading,
    `${taskName(task)} has done this already, and its work passed its checks, but it cannot be merged as it is. The workspace is the branch as it is now, with that work merged in. Do not start over.`,
    ...sidesOf(conflict),
    ...(merged.length === 0 ? [] : ['What was merged first, and has to keep working:', ...listed(merged)]),
  ].join('\n')
}

/**
 * What a task that meets these conflicts has to have for itself while it works, or the next work that lands makes its result useless as
 * well. Null = as before: a task that names its areas keeps them.
 */
const conflictArea = (task: Task, conflicts: readonly string[]): string | null => {
  if (task.targetArea !== null || task.areas.length > 0) return task.targetArea
  const paths = conflicts.filter((path) => !path.includes(',')).slice(0, mostPaths)
  return paths.length === 0 ? null : paths.join(',')
}

/** Sends a task back to the queue, to be done again on the newer base: alone on the files that conflicted. */
export const requeueOnNewerBase = async (
  tx: Queryable,
  task: Task,
  { runId, conflicts, evidence }: { runId: string; conflicts: readonly string[]; evidence: string },
): Promise<void> => {
  const payload = { reason: 'conflict_requeue', evidence }
  const queued = mustSucceed(await moveTask(tx, task, 'conflicted', { runId, payload }))
  const area = conflictArea(queued, conflicts)
  if (area !== null && area !== queued.targetArea) await setTargetArea(tx, queued, area)
}

/** In the transaction that takes the work out of the queue, so that no crash leaves the parent without a next step. */
export const startConflictFix = async (context: Context, tx: Queryable, conflict: Conflict): Promise<void> => {
  const { task, run, entry, action } = conflict
  const { id, number } = await startAutoFix(
    context,
    tx,
    { task, run },
    {
      ...{ kind: 'conflict', title: conflictTitle(entry, task), instructions: conflictInstructions(conflict) },
      ...{
        because: action.because,
        priority: 90,
        lane: 'conflict_recovery',
        targetArea: conflictArea(task, action.conflicts),
      },
      payload: { entry: entry.number, onto: action.onto, conflicts: action.conflicts },
    },
  )
  await appendEvent(tx, {
    type: 'judge.conflict_autofix_task_created',
    ...{ goalId: task.goalId, taskId: task.id, runId: run.id },
    payload: { child: number, childId: id, entry: entry.number, conflicts: action.conflicts, evidence: action.because },
  })
}
