/** Rung 7: finished work does not fit onto what landed meanwhile. */
import { playbook, type Playbook } from '../playbook.ts'

/**
 * Most conflicts end by doing the work again where the other work is already there, and several goals that touch one file
 * take turns in this way: each conflict is with another commit that landed first. More in a row are a sign that two people,
 * or two tasks, want different things of one place.
 */
const newerBaseRun = playbook({
  id: 'newer-base-run',
  rung: 7,
  scope: 'goal',
  title: 'Run the task again on the newer base, told of the conflict and with its earlier diff at hand',
  answers: ['git_conflict'],
  needs:
    'a finished commit that conflicts with what landed meanwhile, or whose checks fail on top of it while no probe sees the machine at fault',
  example: { conflicts: ['<path>'], onto: '<commit>' },
  // A check whose output speaks of conflicts is another matter: its work is not finished.
  plan: ({ facts, evidence }) =>
    'conflicts' in facts
      ? { type: 'run_again', name: 'RUN_ON_NEWER_BASE', onto: facts.onto, because: evidence }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 3,
  counted: true,
})

export const mergePlaybooks: readonly Playbook[] = [newerBaseRun]
