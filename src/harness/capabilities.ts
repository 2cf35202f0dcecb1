/**
 * What each CLI can do, by the version on which it was measured. A version that was never measured is taken for the
 * nearest one that was, before or after it, and whoever shows the answer says so: `exact` is false then.
 */

/** The CLIs and the protocols for which there is a driver. */
export type DriverName = 'claude' | 'codex' | 'gemini' | 'opencode' | 'acp' | 'command'

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

const measured: Record<DriverName, readonly Measured[]> = {
  claude: [
    {
      version: '2.1.197',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: true, cost: true, retries: 'events' },
      },
    },
  ],
  codex: [
    // Of the older ones the flags alone were looked at; their events were others.
    {
      version: '0.34.0',
      capabilities: {
        ...{ resume: false, directories: false, commands: 'sandbox', toolRules: false, callStarts: false },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
    {
      version: '0.42.0',
      capabilities: {
        ...{ resume: true, directories: false, commands: 'sandbox', toolRules: false, callStarts: false },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
    {
      version: '0.80.0',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'sandbox', toolRules: false, callStarts: true },
        ...{ tokens: true, cost: false, retries: 'events' },
      },
    },
    {
      version: '0.169.0',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'sandbox', toolRules: false, callStarts: true },
        ...{ tokens: true, cost: false, retries: 'events' },
      },
    },
  ],
  gemini: [
    {
      version: '0.61.0',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: true, cost: false, retries: 'stderr' },
      },
    },
  ],
  opencode: [
    {
      version: '1.18.33',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'any', toolRules: false, callStarts: false },
        ...{ tokens: true, cost: true, retries: 'none' },
      },
    },
  ],
  // The protocol's version and not the agent's; what an agent leaves out of it shows when it runs.
  acp: [
    {
      version: '1',
      capabilities: {
        ...{ resume: true, directories: true, commands: 'task', toolRules: true, callStarts: true },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
  ],
  command: [
    {
      version: '',
      capabilities: {
        ...{ resume: false, directories: false, commands: 'own', toolRules: false, callStarts: false },
        ...{ tokens: false, cost: false, retries: 'none' },
      },
    },
  ],
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

/** ACP agents and plain commands have no versions of their own here. */
export const capabilitiesOf = (driver: DriverName, version: string | undefined): Known => {
  const known = nearest(measured[driver], version)
  return driver === 'acp' || driver === 'command' ? { ...known, exact: true } : known
}
