/**
 * Probes: looks at the machine and at what is installed after a check failed, before the agent is blamed. A probe is one
 * record: the labels it is asked for, what it looks at, and what it concludes from the reading. Pure; the runtime does the
 * looking. A finding says whether the environment or the work is at fault; a failure of the code stays one whatever is found.
 */
import { classify, type Classification } from './diagnosis/classify.ts'
import { labels, type Label } from './diagnosis/labels.ts'
import type { ObservedCheck } from './evidence.ts'
import type { Ecosystem } from './install.ts'
import { disk, files, memory, network, port } from './probes/machine.ts'
import { packages, runtime } from './probes/project.ts'

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
  /** `owner`: null = nobody listens. `of`: the run of ours that started it. */
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
export interface Failure extends Pick<Classification, 'label' | 'evidence'> {
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

/** In the order in which they are asked. */
export const probes = [disk, memory, port, network, packages, runtime, files] as const

const maxText = 200_000

const linesOf = (text: string): string[] => text.slice(-maxText).split(/\r\n|\n|\r/)

const failureOf = ({ command, exitCode, signal, stdout, stderr, spawnError }: ObservedCheck): Failure => {
  const { label, evidence } =
    spawnError === undefined
      ? classify({ command, exitCode, signal, stdout, stderr })
      : { label: 'command_not_found' as const, evidence: spawnError }
  return { label, evidence, command, exitCode, signal, lines: [...linesOf(stderr), ...linesOf(stdout)] }
}

/** Facts of the command line: the machine has no part in them. */
const isSettled = (check: ObservedCheck): boolean =>
  check.unsupported !== undefined || check.script?.exists === false || check.ranNothing !== undefined || check.timedOut

/** The questions that a failed check raises. Most failures raise none. */
export const questionsOf = (check: ObservedCheck): Question[] => {
  if (isSettled(check)) return []
  const failure = failureOf(check)
  return probes.flatMap((probe) => (probe.asksFor.includes(failure.label) ? (probe.ask(failure) ?? []) : []))
}

const concludeOne = (reading: Reading, label: Label): Omit<ProbeFinding, 'probe'> | undefined => {
  switch (reading.probe) {
    case 'disk':
      return disk.conclude(reading, label)
    case 'memory':
      return memory.conclude(reading, label)
    case 'port':
      return port.conclude(reading, label)
    case 'network':
      return network.conclude(reading, label)
    case 'packages':
      return packages.conclude(reading, label)
    case 'runtime':
      return runtime.conclude(reading, label)
    case 'files':
      return files.conclude(reading, label)
  }
}

export const findingsOf = (readings: readonly Reading[], label: Label): ProbeFinding[] =>
  readings.flatMap((reading) => {
    const found = concludeOne(reading, label)
    return found === undefined ? [] : [{ probe: reading.probe, ...found }]
  })

/** What was found about this check. */
export const probed = (check: ObservedCheck): ProbeFinding[] => {
  const { readings = [] } = check
  return readings.length === 0 ? [] : findingsOf(readings, failureOf(check).label)
}

/** Who is at fault, where the label alone would blame the environment; undefined = what the label says. */
export const faultOf = (label: Label, findings: readonly ProbeFinding[]): ProbeFinding | undefined => {
  // Whatever the machine lacks: a test that judged, a compiler that objected have found a fault of the code.
  if (!labels[label].infra) return undefined
  return findings.find(({ points }) => points === 'environment') ?? findings.find(({ points }) => points === 'work')
}
