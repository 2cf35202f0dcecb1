/**
 * The set: sixty entries, fifty with one fault and ten with two. Whether an entry is recoverable was fixed by what the documents
 * promise (the families of recovery with their bounds, the modes of the path rules, requeueing and rework), before the code could
 * do all of it, and not by what the code does. An entry changes only when a document does, or where its scene does not produce
 * its fault.
 *
 * Each entry is deterministic by its seed, needs no network and uses a scripted agent; waits are shortened by configuration.
 */
import { checkEntries } from './checks.ts'
import type { SetEntry } from './entry.ts'
import { launchEntries } from './launches.ts'
import { pathEntries } from './paths.ts'
import { doubleEntries, mergeEntries } from './together.ts'

export const setEntries: readonly SetEntry[] = [
  ...launchEntries,
  ...checkEntries,
  ...pathEntries,
  ...mergeEntries,
  ...doubleEntries,
]
