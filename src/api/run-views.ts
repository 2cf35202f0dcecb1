/** What the API says of one run besides its row. */

export interface LogView {
  launch: number
  lines: { stream: 'stdout' | 'stderr'; kind: string; text: string }[]
  next: { launch: number; stdout: number; stderr: number }
  ended: boolean
}

/** What a run does at this moment. */
export interface ActivityView {
  /** So far, without cached input. */
  tokens: number
  /** The agent's last line. */
  last: string | null
  /** The command of a check that runs now. */
  check: string | null
}

/** What a run changed, without secrets. */
export interface DiffView {
  run: string
  /** Where the change was read: `workspace` = as it is now, `none` = there is no change that could be read. */
  source: 'commit' | 'workspace' | 'collected' | 'snapshot' | 'none'
  /** At most 1,000 of them. */
  files: { path: string; kind: 'added' | 'modified' | 'deleted' | 'mode' | 'type' }[]
  /** How many files changed. */
  fileCount: number
  /** A patch of at most 1 MiB. */
  diff: string
  /** Files that are too large or too many for the patch. */
  leftOut: string[]
  /** The patch is longer than what is given here. */
  cut: boolean
}

/** The checks that a run started last. */
export type ChecksView = {
  number: number
  command: string
  startedAt: string | null
  /** Null while it runs. */
  endedAt: string | null
  /** "exit 1", "timed out", "running". */
  outcome: string
  lines: { stream: 'stdout' | 'stderr'; text: string }[]
}[]
