/** What probes ask of the machine and of the project, what they read there, and the form of a probe. */
import type { Label } from '../diagnosis/labels.ts'
import type { Ecosystem } from '../install.ts'

export interface Place {
  name: string
  path: string
  freeMb: number
  totalMb: number
  freeInodes: number
  /** 0 where the file system makes them as it needs them. */
  inodes: number
}

/** What a project asks of a tool, and what is there: null = the tool is not on the PATH of the checks. */
export interface Requirement {
  tool: string
  wanted: string
  file: string
  found: string | null
}

/** Whose packages lie in the project's own folder: `node_modules`, `.venv`, `vendor`. */
export type TreeEcosystem = Extract<Ecosystem, 'node' | 'python' | 'go'>

/** One folder of installed packages beside its manifest and lockfile. */
export interface InstalledTree {
  ecosystem: TreeEcosystem
  /** Relative to the workspace, '' = top. */
  folder: string
  /** The file of the package manager that says what should be there. */
  lockfile: string | null
  state: 'absent' | 'same' | 'differs' | 'unknown'
  /** What the lockfile has otherwise than the tree, and what of the tree is broken; the first few of them. */
  differences: string[]
  damage: string[]
}

/** What is asked, with what was read out of the failure. */
export type Question =
  | { probe: 'disk' }
  | { probe: 'memory' }
  | { probe: 'port'; port: number }
  | { probe: 'network'; hosts: string[] }
  /** `of`: whose packages the failure is about, where that can be told; `name`: a package of Node or a module of Python. */
  | { probe: 'packages'; of?: TreeEcosystem; name?: string }
  | { probe: 'runtime' }
  | { probe: 'files' }

export type Reading =
  | { probe: 'disk'; places: Place[] }
  /** `killed`: processes that the kernel ended for want of memory while the check ran. */
  | { probe: 'memory'; killed: number; freeMb: number | undefined }
  /** `owner`: null = no process listens. `of`: the run of ours that started it. */
  | { probe: 'port'; port: number; owner: { pid?: number; program?: string; of?: string } | null }
  /** `trouble` undefined = it answers. */
  | { probe: 'network'; targets: { host: string; port: number; from: string; trouble: string | undefined }[] }
  /** `declared`: whether any manifest or lockfile of the project names the package; undefined = it cannot be told. */
  | { probe: 'packages'; trees: InstalledTree[]; asked: { name: string; declared: boolean | undefined } | undefined }
  | { probe: 'runtime'; requirements: Requirement[] }
  | { probe: 'files'; soft: number; hard: number }

export interface ProbeFinding {
  probe: Reading['probe']
  points: 'environment' | 'work' | 'neither'
  text: string
}

/** What of a failure a probe may look at. */
export interface Failure {
  label: Label
  evidence: string
  command: string
  exitCode: number | null
  signal: string | null
  /** Everything that was printed, in lines, bounded. */
  lines: readonly string[]
}

export interface Probe<Name extends Reading['probe']> {
  id: Name
  /** For docs/recovery.md. */
  looksAt: string
  concludes: string
  asksFor: readonly Label[]
  /** What it asks, or undefined where the failure lacks what it would have to know. */
  ask(failure: Failure): Extract<Question, { probe: Name }> | undefined
  conclude(reading: Extract<Reading, { probe: Name }>, label: Label): Omit<ProbeFinding, 'probe'> | undefined
}
