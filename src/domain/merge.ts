/** A merge entry: the commit of a successful run, queued for the goal branch. One processor per goal merges them in order. */
import type { Flow } from './flow.ts'

export const mergeStates = ['pending', 'processing', 'merged', 'failed', 'cancelled'] as const
export type MergeState = (typeof mergeStates)[number]

export interface MergeEntry {
  id: string
  number: number
  goalId: string
  taskId: string
  runId: string
  commit: string
  state: MergeState
  attempts: number
  /** How often the merge ended with an error that says nothing about the work itself. */
  failures: number
  /** The commit on the goal branch; null before the merge. */
  landedCommit: string | null
  /** The commit on the user's branch with which a person reverted it; null = none. */
  revertedCommit: string | null
  detail: string
  version: number
  createdAt: Date
  changedAt: Date
}

export const mergeFlow = {
  entity: 'merge entry',
  states: mergeStates,
  terminal: ['merged', 'failed', 'cancelled'],
  rows: [
    { from: '', to: 'pending', trigger: 'enqueued', owner: 'judge', event: 'merge.enqueued' },
    { from: 'pending', to: 'processing', trigger: 'claimed', owner: 'merge queue', event: 'merge.processing' },
    { from: 'processing', to: 'pending', trigger: 'interrupted', owner: 'engine', event: 'merge.retried' },
    { from: 'processing', to: 'pending', trigger: 'outrun', owner: 'merge queue', event: 'merge.retried' },
    { from: 'processing', to: 'pending', trigger: 'threw', owner: 'merge queue', event: 'merge.retried' },
    { from: 'pending', to: 'pending', trigger: 'threw', owner: 'merge queue', event: 'merge.retried' },
    { from: 'pending', to: 'failed', trigger: 'failed', owner: 'merge queue', event: 'merge.failed' },
    { from: 'processing', to: 'merged', trigger: 'merged', owner: 'merge queue', event: 'merge.merged' },
    { from: 'processing', to: 'failed', trigger: 'failed', owner: 'merge queue', event: 'merge.failed' },
    { from: 'failed', to: 'pending', trigger: 'approved', owner: 'person', event: 'merge.enqueued' },
    { from: 'pending', to: 'cancelled', trigger: 'cancelled', owner: 'person', event: 'merge.cancelled' },
    { from: 'processing', to: 'cancelled', trigger: 'cancelled', owner: 'person', event: 'merge.cancelled' },
  ],
} as const satisfies Flow<MergeState>
