/** Rung 7: finished work conflicts with what was merged in the meantime. */
import { playbook, type Playbook } from '../playbook.ts'

/**
 * Most conflicts are resolved by redoing the task on top of the other work. Several goals that change one file take turns in
 * this way: each conflict is with another commit that was merged first. More conflicts in a row suggest that two tasks want
 * different contents of the same file, which a person has to decide.
 */
const newerBaseRun = playbook({
  id: 'newer-base-run',
  rung: 7,
  scope: 'goal',
  title: 'Run the task again on the newer base, with the conflict and its earlier diff in the instructions',
  labels: ['git_conflict'],
  neededEvidence:
    'a finished commit that conflicts with what was merged in the meantime, or whose checks fail on top of it while no probe finds the machine at fault',
  example: { conflicts: ['<path>'], onto: '<commit>' },
  // A check that reports a conflict has this label too, but its work is not finished.
  plan: ({ facts, evidence }) =>
    'conflicts' in facts
      ? { type: 'run_again', name: 'RUN_ON_NEWER_BASE', onto: facts.onto, because: evidence }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 3,
  counted: true,
})

export const mergePlaybooks: readonly Playbook[] = [newerBaseRun]
