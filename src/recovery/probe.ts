/**
 * Probes inspect the machine and the installed packages after a check failed, before the agent is blamed. A probe is one
 * record: the labels it applies to, what it inspects, and what it concludes from the measurement. Pure; the runtime takes the
 * measurement. A finding says whether the environment or the work is at fault. A failure of the code stays one regardless.
 */
import type { MachineFault } from '../domain/machine-fault.ts'
import { isFaultForAll } from './diagnosis/alike-on-base.ts'
import { classify } from './diagnosis/classify.ts'
import { labels, type Label } from './diagnosis/labels.ts'
import type { ObservedCheck } from './evidence.ts'
import { disk, files, memory, network, port } from './probes/machine-probes.ts'
import { checkout, packages, runtime } from './probes/project.ts'
import type { AbsentFile } from './probes/absent-files.ts'
import type { ProbedFailure, ProbeFinding, MeasurementRequest, Measurement } from './probes/measurement.ts'

/** In the order in which they run. */
export const probes = [disk, memory, port, network, packages, runtime, files, checkout] as const

const maxText = 200_000

const linesOf = (text: string): string[] => text.slice(-maxText).split(/\r\n|\n|\r/)

const failureOf = ({ command, exitCode, signal, stdout, stderr, spawnError }: ObservedCheck): ProbedFailure => {
  const { label, evidence } =
    spawnError === undefined
      ? classify({ command, exitCode, signal, stdout, stderr })
      : { label: 'command_not_found' as const, evidence: spawnError }
  return { label, evidence, command, exitCode, signal, lines: [...linesOf(stderr), ...linesOf(stdout)] }
}

/** The cause is a fact of the command line, so the machine is not at fault. */
const isSettled = (check: ObservedCheck): boolean =>
  check.unsupported !== undefined || check.script?.exists === false || check.ranNothing !== undefined || check.timedOut

/** The measurements that a failed check calls for. Most failures need none. */
export const measurementsFor = (check: ObservedCheck): MeasurementRequest[] => {
  if (isSettled(check)) return []
  const failure = failureOf(check)
  return probes.flatMap((probe) => (probe.labels.includes(failure.label) ? (probe.requestFor(failure) ?? []) : []))
}

const concludeOne = (reading: Measurement, label: Label): Omit<ProbeFinding, 'probe'> | undefined => {
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
    case 'checkout':
      return checkout.conclude(reading, label)
  }
}

export const findingsOf = (readings: readonly Measurement[], label: Label): ProbeFinding[] =>
  readings.flatMap((reading) => {
    const found = concludeOne(reading, label)
    return found === undefined ? [] : [{ probe: reading.probe, ...found }]
  })

/** Files that the check misses and that only the owner's checkout has. */
export const absentIn = ({ measurements = [] }: ObservedCheck): AbsentFile[] =>
  measurements.flatMap((reading) => (reading.probe === 'checkout' ? reading.absent : []))

/** What the probes found about this check. */
export const probeFindings = (check: ObservedCheck): ProbeFinding[] => {
  const { measurements = [] } = check
  return measurements.length === 0 ? [] : findingsOf(measurements, failureOf(check).label)
}

/** The finding that decides what is at fault, where the label alone would blame the environment; undefined = the label decides. */
export const faultOf = (label: Label, findings: readonly ProbeFinding[]): ProbeFinding | undefined => {
  // A failed assertion or a compiler error is a fault of the code, whatever the machine lacks.
  if (!labels[label].infra) return undefined
  return findings.find(({ points }) => points === 'environment') ?? findings.find(({ points }) => points === 'work')
}

/** What is at fault on this machine, as a fact: a probe found it, the base commit fails alike, or the system has no such program. Undefined = nothing is known. */
export const faultOfMachine = (check: ObservedCheck): MachineFault | undefined => {
  const failure = failureOf(check)
  const { label } = failure
  const findings = probeFindings(check)
  const fault = faultOf(label, findings)
  // A path may be a file that the work has yet to make.
  const lacksProgram = check.spawnError !== undefined && !/^\S*\//.test(check.command)
  const seen = findings.map(({ text }) => text)
  if (fault === undefined && !lacksProgram && isFaultForAll(check, failure, seen)) return { label, probe: 'base' }
  if (fault?.points !== 'environment') return lacksProgram ? { label, probe: 'other' } : undefined
  const reading = check.measurements?.find(({ probe }) => probe === fault.probe)
  if (reading?.probe === 'port') return { label, probe: 'port', port: reading.port }
  if (reading?.probe === 'disk') return { label, probe: 'disk', folders: reading.places.map(({ path }) => path) }
  if (reading?.probe !== 'network') return { label, probe: 'other' }
  return { label, probe: 'network', hosts: reading.targets.map(({ host, port: number }) => ({ host, port: number })) }
}

/** Whether a later measurement still finds the machine at fault. */
export const isStillAtFault = ({ label }: MachineFault, reading: Measurement): boolean =>
  concludeOne(reading, label as Label)?.points === 'environment'
