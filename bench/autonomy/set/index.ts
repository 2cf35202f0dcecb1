/**
 * The set: eighty-three entries, seventy with one fault and thirteen with two. Whether an entry is recoverable was fixed by what the documents
 * promise (the families of recovery with their bounds, the modes of the path rules, requeueing and rework), before the code could
 * do all of it, and not by what the code does. An entry changes only when a document does, or where its scene does not produce
 * its fault.
 *
 * Labels without an entry: `git_diverged` and `git_state` (a remote is needed, or an agent cannot cause it in a clone),
 * `permission_denied` and `resource_limit` (they need a user without rights, or change the machine), `timeout` (minutes of waiting),
 * `dependency_version_conflict` (needs a registry), `permission_prompt` (only without a driver). `policy_violation` is `path_outside`.
 *
 * Each entry is deterministic by its seed, needs no network and uses a scripted agent; waits are shortened by configuration.
 */
import { checkEntries } from './checks.ts'
import { dayEntries } from './day.ts'
import type { SetEntry } from './entry.ts'
import { labelEntries } from './labels.ts'
import { launchEntries } from './launches.ts'
import { pathEntries } from './paths.ts'
import { doubleEntries, mergeEntries } from './together.ts'

export const setEntries: readonly SetEntry[] = [
  ...launchEntries,
  ...checkEntries,
  ...labelEntries,
  ...dayEntries,
  ...pathEntries,
  ...mergeEntries,
  ...doubleEntries,
]
