/**
 * Paths that tasks may change in addition to their own, and paths that commands generate. Both end when they are not used for
 * some time, so that an exception which no work needs any more does not stay for ever.
 */
import type { Role } from './task.ts'

export const grantScopes = ['run', 'task', 'area'] as const
export type GrantScope = (typeof grantScopes)[number]

/** Whom a grant applies to: one run, one task with the tasks that continue it, or every task that works in these areas. */
export interface GrantTarget {
  scope: GrantScope
  /** Only with scope `area`. */
  areas: string[]
  taskId: string | null
  runId: string | null
}

export interface PathGrant extends GrantTarget {
  id: string
  /** A literal path. Only a person may write a glob. */
  path: string
  /** The role of the task that needed the path; null = a person granted it for an area. */
  role: Role | null
  goalId: string | null
  /** The rule that allowed the path, `model`, or `person`. */
  rule: string
  why: string
  /** `rule`, `model`, or the name of a person. */
  grantedBy: string
  /** Title and commands of the task that needed the path. */
  sourceText: string
  grantedAt: Date
  lastUsedAt: Date
  revokedAt: Date | null
  revokedBy: string | null
}

/** A grant as people see it. */
export interface ListedGrant extends PathGrant {
  /** How many runs changed the path. */
  uses: number
  /** When it ends if no run uses it until then. */
  endsAt: Date
  /** Why it no longer counts; null = it does. */
  ended: string | null
}

/** Why a path counts as generated. */
export interface LearnedEvidence {
  /** The base commit of the run had no such file. */
  untrackedInBase: boolean
  /** The commands that made the file again in a clean clone. */
  madeBy: string[]
  /** The repository's own rules ignore it. */
  ignored?: boolean
  /** ISO time at which it was observed. */
  at: string
}

export interface LearnedPath {
  /** A file, or a folder with everything below it. */
  path: string
  evidence: LearnedEvidence
  taskId: string | null
  /** The run that saw the path last. */
  runId: string | null
  /** How many runs saw it. */
  seen: number
  learnedAt: Date
  lastSeenAt: Date
  undoneAt: Date | null
  /** A person, or why it ended by itself. */
  undoneBy: string | null
  /** It ended because it was not seen again, not because a person undid it. */
  expired: boolean
}

export interface ListedLearnedPath extends LearnedPath {
  endsAt: Date
  /** Why it no longer counts; null = it does. */
  ended: string | null
}

/** "tasks in src/parser", "task t-…": who may change the path. */
export const grantedTo = ({ scope, areas, taskId, runId }: GrantTarget): string => {
  if (scope === 'area') return `tasks in ${areas.join(', ')}`
  return scope === 'task' ? `task ${taskId ?? ''}` : `run ${runId ?? ''}`
}

/** "it was made by `npm test` and is not in the base commit". */
export const evidenceText = ({ madeBy, untrackedInBase, ignored }: LearnedEvidence): string => {
  const parts = [
    ...(madeBy.length === 0 ? [] : [`it was made by ${madeBy.map((command) => `\`${command}\``).join(', ')}`]),
    ...(untrackedInBase ? ['it is not in the base commit'] : []),
    ...(ignored === true ? ['the repository ignores it'] : []),
  ]
  return parts.join(' and ')
}

/**
 * What to learn from one generated file: the shortest folder above it that has the name of a folder of generated files and in which
 * git tracks nothing, else the file alone. A folder with any other name may get real work later, which would then be left out.
 */
export const learnedPatternFor = (
  path: string,
  { isGenerated, isTracked }: { isGenerated: (path: string) => boolean; isTracked: (folder: string) => boolean },
): string => {
  const segments = path.split('/').slice(0, -1)
  const folders = segments.map((_, index) => segments.slice(0, index + 1).join('/'))
  return folders.find((folder) => isGenerated(`${folder}/x`) && !isTracked(folder)) ?? path
}

/**
 * Whether a path that a person undid may be learned again: only from a command that the undone evidence did not name. The same
 * command makes the same file in every run, so without this rule the undo would last until the next run.
 */
export const isNewEvidence = (undone: LearnedEvidence, now: LearnedEvidence): boolean =>
  now.madeBy.some((command) => !undone.madeBy.includes(command))
