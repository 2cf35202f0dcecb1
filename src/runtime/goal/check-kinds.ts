/** Which kinds of tasks fit together and fit how the goal works. The command line checks it before an engine is started. */
import type { Goal } from '../../domain/goal.ts'
import type { Config } from '../../config/config.ts'
import type { PlanMode, TaskKind } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { GoalInput } from './goal-input.ts'

interface KindOptions {
  repoMode: Goal['repoMode']
  strategy?: 'tasks' | 'loop'
  plan?: PlanMode
}

export const kindOf = ({ kind }: GoalInput['tasks'][number], { strategy }: Pick<KindOptions, 'strategy'>): TaskKind =>
  kind ?? (strategy === 'loop' ? 'loop' : 'code')

/** What a role may not change is restored after its turn, which must not happen in a folder where a person works as well. */
const checkLoops = (input: GoalInput, options: KindOptions): void => {
  if (options.repoMode !== 'direct') return
  const index = input.tasks.findIndex((task) => kindOf(task, options) === 'loop')
  if (index === -1) return
  throw new AppError(
    'INPUT_INVALID',
    `task ${index + 1} is of kind "loop", which needs a workspace of its own; run it without --direct (repoMode "local")`,
  )
}

/** Names the task and what to write instead. */
const checkReview = (
  { role, review, kind }: GoalInput['tasks'][number],
  { number, repoMode }: { number: number; repoMode: Goal['repoMode'] },
): void => {
  const refuse = (problem: string): never => {
    throw new AppError('INPUT_INVALID', `task ${number}: ${problem}`)
  }
  if (review === undefined && role === 'judge')
    refuse(
      'role is "judge", and nothing is named to review; add "review": {"branch": "<name>"} or {"mergeEntry": <number>}',
    )
  if (review === undefined) return
  if (role !== 'judge')
    refuse(`review belongs to a task of role "judge", and the role is "${role}"; remove one of the two`)
  if (kind === 'loop') refuse('kind is "loop", but a review launches no agent; remove "kind" or "review"')
  if (repoMode === 'direct') refuse('a review needs a goal branch to merge into; run it without --direct')
}

/** A planner divides one task into several. A list of tasks, a review, turns and documentation alone are divided by their author. */
const isDivisible = ({ tasks }: GoalInput, { strategy }: KindOptions): boolean => {
  const [task] = tasks
  return task?.review === undefined && task?.role === 'worker' && task.kind !== 'loop' && strategy !== 'loop'
}

/** What follows the division of a new goal, as its author and the owner want it. Throws INPUT_INVALID. */
export const plannedAs = (
  mode: Config['planner']['mode'],
  input: GoalInput,
  options: KindOptions,
): PlanMode | undefined => {
  const { plan } = options
  if (mode === 'never' && (plan === 'run' || plan === 'review'))
    throw new AppError(
      'INPUT_INVALID',
      'plan: planner.mode is "never" in .unstuck/config.json; leave out the plan, or set it to "auto"',
    )
  const isWanted = mode === 'always' && input.tasks.length === 1 && isDivisible(input, options)
  return plan ?? (isWanted ? 'run' : undefined)
}

const checkPlan = (input: GoalInput, options: KindOptions): void => {
  const { tasks } = input
  if (options.plan === undefined) return
  if (tasks.length > 1)
    throw new AppError(
      'INPUT_INVALID',
      `plan: the goal has ${tasks.length} tasks already; leave out the plan, or write the goal as a sentence`,
    )
  if (!isDivisible(input, options))
    throw new AppError(
      'INPUT_INVALID',
      'plan: only a task of role "worker" that is no loop can be planned; leave out the plan',
    )
}

/** Throws INPUT_INVALID, which names the task and what to write instead. */
export const checkKinds = (input: GoalInput, options: KindOptions): void => {
  checkPlan(input, options)
  checkLoops(input, options)
  for (const [index, task] of input.tasks.entries())
    checkReview(task, { number: index + 1, repoMode: options.repoMode })
}
