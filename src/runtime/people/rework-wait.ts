import type { ReworkKind } from '../../domain/rework.ts'
import type { Task } from '../../domain/task.ts'

/** How a task continues after work that did not pass, in words for a person. */
const continuations: Readonly<Record<string, string>> = {
  needs_rework_in_place_retry: 'it starts again on its own work',
  edited_by_person: 'it starts again with what you changed',
  needs_rework: 'a new task continues its work',
  conflict_autofix_needs_rework_suppressed: 'the task whose work conflicts is done again instead',
  auto_fix_ended: 'the task that was to correct it ended without a result',
  setup_or_bootstrap_retry_from_blocked: 'its set-up is tried again',
  policy_allowed_paths_adjusted_from_blocked: 'it starts again, and the changed paths are allowed',
}

/** By the stored reason of the wait. */
export const continuationOf = (reason: string): string =>
  continuations[reason] ??
  (reason.includes('_adjusted') ? 'it starts again with corrected checks' : 'you are asked if nothing else is left')

/** Why finished work does not land yet. `because`: shortened. `corrector`: names the task that corrects it. */
export const correctionText = (kind: ReworkKind, because: string, corrector: string): string => {
  const at = because.indexOf(' objects: ')
  if (kind === 'objection' && at !== -1)
    return `${because.slice(0, at)} asked: "${because.slice(at + ' objects: '.length)}"; ${corrector} does it`
  return `its work could not land yet${because === '' ? '' : ` (${because})`}; ${corrector} corrects it`
}

/** How a cancelled task ended: another task continues its work, or a task that it needs was cancelled. */
export const endText = (task: Pick<Task, 'supersededBy' | 'dependsOn'>, tasks: readonly Task[]): string => {
  const next = tasks.find(({ id }) => id === task.supersededBy)
  if (next !== undefined)
    return next.plan == null ? `task ${next.number} continues its work` : 'another plan replaces it'
  const [needed] = tasks.filter(({ id, status }) => status === 'cancelled' && task.dependsOn.includes(id))
  return needed === undefined
    ? 'ended'
    : `cancelled because it needs task ${needed.number}; to redo both: unstuck retry ${needed.id}`
}
