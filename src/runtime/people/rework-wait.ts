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
