/**
 * The harnesses by name: the one list of them. It imports nothing, so that the configuration can take its names from here
 * without loading the drivers. `drivers.ts` has exactly one driver for each name.
 */

/** Agent CLIs that need no configuration, because their program has a known name. The first one found is the default. */
export const knownHarnesses = ['claude', 'codex', 'gemini', 'opencode'] as const

/** `acp` and `command` run a program that only the configuration names. */
export const driverNames = [...knownHarnesses, 'acp', 'command'] as const

export type DriverName = (typeof driverNames)[number]

/** Whether this driver knows its program; the others need `harness.<name>.command`. */
export const isKnownHarness = (name: string): boolean => knownHarnesses.some((known) => known === name)
