/** Kinds of tasks that do not fit together are refused before anything is started or stored. */
import { expect, test } from 'vitest'
import { checkKinds } from './check-kinds.ts'
import type { GoalInput } from './goal-input.ts'

const goal = (task: Partial<GoalInput['tasks'][number]>): GoalInput => ({
  ...{ title: 'x', requirement: 'x', allowedDirs: [], warnings: [] },
  tasks: [
    {
      ...{ id: '1', title: 'a', instructions: 'b', allowedPaths: ['**'], deniedPaths: [], commands: [], after: [] },
      ...{ priority: 0, role: 'worker', ...task },
    },
  ],
})
const review = { branch: 'main' }

test.each([
  [
    'a role without a subject',
    goal({ role: 'judge' }),
    'local',
    /^task 1: role is "judge", and nothing is named to review/,
  ],
  [
    'a subject without the role',
    goal({ review }),
    'local',
    /^task 1: review belongs to a task of role "judge", and the role is "worker"/,
  ],
  [
    'a review in turns',
    goal({ role: 'judge', review, kind: 'loop' }),
    'local',
    /^task 1: kind is "loop", but a review launches no agent/,
  ],
  ['a review in place', goal({ role: 'judge', review }), 'direct', /^task 1: a review needs a goal branch/],
  ['turns in place', goal({ kind: 'loop' }), 'direct', /^task 1 is of kind "loop".*without --direct/],
] as const)('refuses %s', (_, input, repoMode, problem) => {
  expect(() => checkKinds(input, { repoMode })).toThrow(problem)
})

test('accepts a review of a branch', () => {
  checkKinds(goal({ role: 'judge', review }), { repoMode: 'local' })
})
