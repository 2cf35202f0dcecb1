/** Rung 7: finished work conflicts with what was merged in the meantime, after a rebase has not helped. */
import { playbook, type Playbook } from '../playbook.ts'
import { defined } from '../../domain/defined.ts'

const example = { conflicts: ['<path>'], onto: '<commit>', autoFix: true, solvesConflict: false }

/**
 * Before the task is redone, because both sides exist: an agent that sees them in one file has less to do than one that does the task
 * again. Once, because the new task follows a branch that keeps moving by itself (`conflict-again`).
 */
const conflictAutoFix = playbook({
  id: 'conflict-auto-fix',
  rung: 7,
  scope: 'goal',
  title:
    'Let a new task solve the conflict, in a workspace that has both sides merged and conflict markers in the files',
  labels: ['git_conflict'],
  neededEvidence:
    'a finished commit that conflicts with what was merged in the meantime, or whose checks fail on top of it while no probe finds the machine at fault; the task has no living child, does not solve a conflict itself, and `requeue.reworkDepth` allows a new task',
  example,
  plan: ({ facts, evidence }) =>
    'conflicts' in facts && facts.autoFix
      ? {
          ...{ type: 'solve_conflict', name: 'AUTO_FIX_CONFLICT', onto: facts.onto, conflicts: facts.conflicts },
          ...defined({ failed: facts.failed }),
          because: evidence,
        }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 1,
  counted: true,
})

/**
 * Several goals that change one file take turns in this way: each conflict is with another commit that was merged first. More conflicts
 * in a row suggest that two tasks want different contents of the same file, which a person has to decide.
 */
const newerBaseRun = playbook({
  id: 'newer-base-run',
  rung: 7,
  scope: 'goal',
  title:
    'Run the task again on the newer base, alone on the files that conflicted, with the conflict and its earlier diff in the instructions',
  labels: ['git_conflict'],
  neededEvidence:
    'the same as for `conflict-auto-fix`, and no new task can solve the conflict, or the one that was made ended without a result',
  example,
  // A check that reports a conflict has this label too, but its work is not finished.
  plan: ({ facts, evidence }) =>
    'conflicts' in facts && !facts.solvesConflict
      ? { type: 'run_again', name: 'RUN_ON_NEWER_BASE', onto: facts.onto, because: evidence }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 3,
  counted: true,
})

/**
 * A solution that conflicts again was outrun by work that landed while it was made. Each of these runs means that other work has landed,
 * so the goals take turns, and the budget is larger.
 */
const conflictAgain = playbook({
  id: 'conflict-again',
  rung: 7,
  scope: 'goal',
  title: 'Let the task that solves the conflict solve it again, with its own solution merged into the newer base',
  labels: ['git_conflict'],
  neededEvidence: 'the finished solution of a conflict that conflicts with what was merged in the meantime',
  example: { ...example, solvesConflict: true },
  plan: ({ facts, evidence }) =>
    'conflicts' in facts && facts.solvesConflict
      ? { type: 'run_again', name: 'RUN_ON_NEWER_BASE', onto: facts.onto, because: evidence }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 8,
  counted: true,
})

export const mergePlaybooks: readonly Playbook[] = [conflictAutoFix, conflictAgain, newerBaseRun]
