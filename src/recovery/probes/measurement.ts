/** The requests to the runtime for a measurement, the measurements, and the form of a probe. */
import type { Label } from '../diagnosis/labels.ts'
import type { Ecosystem } from '../install.ts'
import type { AbsentFile } from './absent-files.ts'

export interface FileSystemSpace {
  name: string
  path: string
  freeMb: number
  totalMb: number
  freeInodes: number
  /** 0 where the file system allocates inodes on demand. */
  inodes: number
}

/** The version of a tool that a project requires, and the one found; null = the tool is not on the PATH of the checks. */
export interface ToolRequirement {
  tool: string
  wanted: string
  file: string
  found: string | null
}

/** Ecosystems that install packages inside the project: `node_modules`, `.venv`, `vendor`. */
export type TreeEcosystem = Extract<Ecosystem, 'node' | 'python' | 'go'>

/** One folder of installed packages, compared with its manifest and lockfile. */
export interface InstalledTree {
  ecosystem: TreeEcosystem
  /** Relative to the workspace, '' = top. */
  folder: string
  /** The package manager's file that lists what should be installed. */
  lockfile: string | null
  state: 'absent' | 'same' | 'differs' | 'unknown'
  /** The first differences between lockfile and tree, and the first broken packages of the tree. */
  differences: string[]
  damage: string[]
}

/** What to measure, with parameters taken from the failure. */
export type MeasurementRequest =
  | { probe: 'disk' }
  | { probe: 'memory' }
  | { probe: 'port'; port: number }
  | { probe: 'network'; hosts: string[] }
  /** `of`: the ecosystem that the failure is about, where known; `name`: a package of Node or a module of Python. */
  | { probe: 'packages'; of?: TreeEcosystem; name?: string }
  | { probe: 'runtime' }
  | { probe: 'files' }
  /** `lines`: the output that may name the files. */
  | { probe: 'checkout'; lines: readonly string[] }

export type Measurement =
  | { probe: 'disk'; places: FileSystemSpace[] }
  /** `killed`: the number of processes that the kernel's OOM killer ended while the check ran. */
  | { probe: 'memory'; killed: number; freeMb: number | undefined }
  /** `owner`: null = no process listens on the port. `of`: the run of Unstuck that started it. */
  | { probe: 'port'; port: number; owner: { pid?: number; program?: string; of?: string } | null }
  /** `trouble`: why the target cannot be reached; undefined = it responds. */
  | { probe: 'network'; targets: { host: string; port: number; from: string; trouble: string | undefined }[] }
  /** `declared`: whether any manifest or lockfile of the project names the package; undefined = unknown. */
  | { probe: 'packages'; trees: InstalledTree[]; asked: { name: string; declared: boolean | undefined } | undefined }
  | { probe: 'runtime'; requirements: ToolRequirement[] }
  | { probe: 'files'; soft: number; hard: number }
  /** `absent`: what the output names, the checkout has and git ignores, and the clone lacks. */
  | { probe: 'checkout'; absent: AbsentFile[] }

export interface ProbeFinding {
  probe: Measurement['probe']
  points: 'environment' | 'work' | 'neither'
  text: string
}

/** The parts of a failure that a probe may read. */
export interface ProbedFailure {
  label: Label
  evidence: string
  command: string
  exitCode: number | null
  signal: string | null
  /** The output in lines, bounded. */
  lines: readonly string[]
}

export interface Probe<Name extends Measurement['probe']> {
  id: Name
  /** For docs/recovery.md. */
  inspects: string
  concludes: string
  labels: readonly Label[]
  /** The measurement to take; undefined where the failure lacks the parameters for it. */
  requestFor(failure: ProbedFailure): Extract<MeasurementRequest, { probe: Name }> | undefined
  conclude(reading: Extract<Measurement, { probe: Name }>, label: Label): Omit<ProbeFinding, 'probe'> | undefined
}
