/** One merge of a queue entry in progress, with the records it belongs to. */
import type { Goal } from '../../domain/goal.ts'
import type { MergeEntry } from '../../domain/merge.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Context } from '../core/context.ts'

export interface MergeAttempt {
  context: Context
  goal: Goal
  task: Task
  run: Run
  entry: MergeEntry
  /** How often the entry was claimed so far, not counting claims that ended in a wait for something its checks need. */
  tries: number
}

/** The commit of the goal branch as the store knows it. Throws for a goal without a branch (direct mode). */
export const goalHead = (goal: Goal): string => {
  const head = goal.headCommit ?? goal.baseCommit
  if (head === null) throw new Error(`goal ${goal.id} has no head`)
  return head
}
