/** One entry of the merge queue while it is worked on, with everything that it belongs to. */
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Context } from '../core/context.ts'

export interface Landing {
  context: Context
  goal: Goal
  task: Task
  run: Run
  entry: MergeEntry
  /** Claims of the entry so far, without those that ended in a wait for something that its checks need. */
  tries: number
}

/** Where the goal branch stands by the store. */
export const headOf = (goal: Goal): string => {
  const head = goal.headCommit ?? goal.baseCommit
  if (head === null) throw new Error(`goal ${goal.id} has no head`)
  return head
}
