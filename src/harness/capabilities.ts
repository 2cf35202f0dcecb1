/**
 * What a CLI can do, by version. Each driver lists the versions on which it was measured. For any other version the nearest measured
 * one is assumed, and `exact` is false, so that views can say so.
 */

export interface Capabilities {
  /** Resumes a session of an earlier launch. */
  resume: boolean
  /** Directories outside the workspace can be opened one by one. */
  directories: boolean
  /** Commands that an agent may run unattended: the task's only, any inside a sandbox, any at all, or whatever the program permits. */
  commands: 'task' | 'sandbox' | 'any' | 'own'
  /** Takes rules that allow single tool calls in the next launch. */
  toolRules: boolean
  /** Reports a tool call when it begins. Otherwise a long call looks like silence. */
  callStarts: boolean
  tokens: boolean
  cost: boolean
  /** Starts a server of tools (MCP) that only its launch names, and lets its tools be used unattended. Absent = not measured. */
  toolServer?: true
  /** Where it reports its own retries while they last. */
  retries: 'events' | 'stderr' | 'none'
}

export interface MeasuredVersion {
  version: string
  capabilities: Capabilities
}

/** The first version number in what a CLI prints for `--version`. */
export const cliVersionIn = (text: string): string | undefined =>
  /(?<![\w.])\d+\.\d+(?:\.\d+)?(?![\w.])/.exec(text)?.[0]

const partsOf = (version: string): number[] => {
  const parts = version.split('.').map(Number)
  return [0, 1, 2].map((at) => parts[at] ?? 0)
}

/** Difference of two versions, part by part. */
const differences = (a: string, b: string): number[] => {
  const other = partsOf(b)
  return partsOf(a).map((part, at) => part - (other[at] ?? 0))
}

/** Sign of the first part that differs. */
const signOf = (parts: readonly number[]): number => parts.find((part) => part !== 0) ?? 0

const compare = (a: string, b: string): number => signOf(differences(a, b))

/** The nearer of the rows before and after a version; the newer one if both are equally near. */
const closer = (before: MeasuredVersion, after: MeasuredVersion, version: string): MeasuredVersion => {
  const back = differences(version, before.version).map(Math.abs)
  const forth = differences(after.version, version).map(Math.abs)
  return signOf(back.map((step, at) => step - (forth[at] ?? 0))) < 0 ? before : after
}

export interface KnownCapabilities {
  /** The measured version that the capabilities are of. */
  measured: string
  exact: boolean
  capabilities: Capabilities
}

const rowFor = (sorted: readonly MeasuredVersion[], version: string | undefined): MeasuredVersion | undefined => {
  if (version === undefined) return sorted.at(-1)
  const before = sorted.findLast((row) => compare(row.version, version) <= 0)
  const after = sorted.find((row) => compare(row.version, version) >= 0)
  return before === undefined || after === undefined ? (before ?? after) : closer(before, after, version)
}

/** The row for a version; the newest row when the version is unknown. */
export const nearestVersion = (rows: readonly MeasuredVersion[], version: string | undefined): KnownCapabilities => {
  const sorted = rows.toSorted((a, b) => compare(a.version, b.version))
  const row = rowFor(sorted, version)
  if (row === undefined) throw new Error('a driver without a measured version')
  return { measured: row.version, exact: version === row.version, capabilities: row.capabilities }
}

/** What a driver states about its versions. */
export interface Versioned {
  defaultProgram: string | null
  measured: readonly MeasuredVersion[]
}

/** A program that only the configuration names has no versions of its own here, so its one row is exact. */
export const capabilitiesOf = (
  { measured, defaultProgram }: Versioned,
  version: string | undefined,
): KnownCapabilities => {
  const known = nearestVersion(measured, version)
  return defaultProgram === null ? { ...known, exact: true } : known
}
