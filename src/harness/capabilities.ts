/**
 * What each CLI can do, by the version on which it was measured. A version that was never measured is taken for the
 * nearest one that was, before or after it, and whoever shows the answer says so: `exact` is false then.
 */

export interface Capabilities {
  /** Goes on with a session of an earlier launch. */
  resume: boolean
  /** Directories outside the workspace are opened one by one. */
  directories: boolean
  /** Which commands an agent may run unattended: the task's alone, any inside a sandbox, any at all, or as the program likes. */
  commands: 'task' | 'sandbox' | 'any' | 'own'
  /** Single tool calls can be allowed by a rule for the next launch. */
  toolRules: boolean
  /** Tells of a tool call when it begins; without it a long call looks like silence. */
  callStarts: boolean
  tokens: boolean
  cost: boolean
  /** Where its own retries show before they end. */
  retries: 'events' | 'stderr' | 'none'
}

export interface Measured {
  version: string
  capabilities: Capabilities
}

/** The first version number in what a CLI prints for `--version`. */
export const versionIn = (text: string): string | undefined => /(?<![\w.])\d+\.\d+(?:\.\d+)?(?![\w.])/.exec(text)?.[0]

const partsOf = (version: string): number[] => {
  const parts = version.split('.').map(Number)
  return [0, 1, 2].map((at) => parts[at] ?? 0)
}

/** How far the first version is behind the second one, part by part. */
const differences = (a: string, b: string): number[] => {
  const other = partsOf(b)
  return partsOf(a).map((part, at) => part - (other[at] ?? 0))
}

/** The first part that differs decides. */
const signOf = (parts: readonly number[]): number => parts.find((part) => part !== 0) ?? 0

const compare = (a: string, b: string): number => signOf(differences(a, b))

/** Of the rows on both sides of a version the one with the smaller step to it; the newer one of two equal steps. */
const closer = (before: Measured, after: Measured, version: string): Measured => {
  const back = differences(version, before.version).map(Math.abs)
  const forth = differences(after.version, version).map(Math.abs)
  return signOf(back.map((step, at) => step - (forth[at] ?? 0))) < 0 ? before : after
}

export interface Known {
  /** The version that was measured. */
  measured: string
  exact: boolean
  capabilities: Capabilities
}

const rowFor = (sorted: readonly Measured[], version: string | undefined): Measured | undefined => {
  if (version === undefined) return sorted.at(-1)
  const before = sorted.findLast((row) => compare(row.version, version) <= 0)
  const after = sorted.find((row) => compare(row.version, version) >= 0)
  return before === undefined || after === undefined ? (before ?? after) : closer(before, after, version)
}

/** The row for a version; `undefined` = it could not be learnt, and the newest row is taken. */
export const nearest = (rows: readonly Measured[], version: string | undefined): Known => {
  const sorted = rows.toSorted((a, b) => compare(a.version, b.version))
  const row = rowFor(sorted, version)
  if (row === undefined) throw new Error('a driver without a measured version')
  return { measured: row.version, exact: version === row.version, capabilities: row.capabilities }
}

/** What a driver states about its versions. */
export interface Versioned {
  defaultProgram: string | null
  measured: readonly Measured[]
}

/** A program that only the configuration names has no versions of its own here, so its one row is exact. */
export const capabilitiesOf = ({ measured, defaultProgram }: Versioned, version: string | undefined): Known => {
  const known = nearest(measured, version)
  return defaultProgram === null ? { ...known, exact: true } : known
}
