/** How a task continues the work of another one. */

/**
 * `rework`: the parent was given up, and ended at once. `objection` and `conflict` are AutoFix tasks: they put right what a reviewer
 * objects to, or what conflicts with work that was merged first, and their parent waits for them as `blocked(needs_rework)`.
 */
export const reworkKinds = ['rework', 'objection', 'conflict'] as const
export type ReworkKind = (typeof reworkKinds)[number]

/** The task continues the work of another one. */
export interface Rework {
  /** The task that it replaces. */
  parent: string
  /** 1 for the first replacement of a task that a person or a plan made. */
  depth: number
  /** Why the parent did not pass. */
  because: string
  /** Absent = `rework`. */
  kind?: ReworkKind
}

export const isAutoFix = ({ rework }: { rework: Rework | null }): boolean =>
  rework !== null && rework.kind !== undefined && rework.kind !== 'rework'

/** The reason of `retry` when the AutoFix task that a task waited for has ended without a result. */
export const autoFixEnded = 'auto_fix_ended'

/** Whether the task waits for its AutoFix task. Every other wait for rework has a time. */
export const waitsForAutoFix = ({ status, retry }: { status: string; retry: object | null }): boolean =>
  status === 'blocked(needs_rework)' && retry === null
