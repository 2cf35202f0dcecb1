/**
 * What the engine refuses about a goal that can be told without the store. The command line checks the same before it starts an engine
 * or shows a plan, so that a plan is shown only of what would be accepted.
 */
import type { Goal } from '../../domain/goal.ts'
import type { PlanMode } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { whyNotAllowed } from '../../config/wide-folder.ts'
import { readContract } from '../checks/verify-contract.ts'
import type { Files } from '../core/files.ts'
import { checkKinds } from './check-kinds.ts'
import type { GoalInput } from './goal-input.ts'

interface Checked {
  input: GoalInput
  options: { allowedDirs: string[]; repoMode: Goal['repoMode']; strategy?: 'tasks' | 'loop'; plan?: PlanMode }
}

/** Returns the folders outside of the repository that its agents may use. */
export const checkGoal = (files: Files, root: string, { input, options }: Checked): string[] => {
  // An unreadable contract is reported now instead of when the first task is verified.
  readContract(files, root)
  checkKinds(input, options)
  const dirs = [...new Set([...options.allowedDirs, ...input.allowedDirs])]
  const refused = dirs.map((dir) => whyNotAllowed(files, dir)).find((words) => words !== undefined)
  if (refused !== undefined) throw new AppError('INPUT_INVALID', `allowedDirs: ${refused}`)
  return dirs
}
