/**
 * The probes of the machine after a failed check; `recovery/probe.ts` decides what their results mean. Each is quick and bounded. A
 * failed probe yields no measurement, and a missing measurement never assigns blame.
 */
import type { MachineFault } from '../../domain/machine-fault.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { measurementsFor } from '../../recovery/probe.ts'
import type { FileSystemSpace, MeasurementRequest, Measurement } from '../../recovery/probes/measurement.ts'
import { join } from 'node:path'
import { absentFiles } from '../../recovery/probes/absent-files.ts'
import type { MachineView } from '../core/context.ts'
import { registriesOf } from './registries.ts'
import { requirementsOf } from './requirements.ts'
import type { ProbeRequest } from './check-request.ts'

const megabytesFree = ({ machine }: ProbeRequest): number | undefined => machine.now('/').freeMemoryMb

const roomsOf = (machine: MachineView, folders: readonly { name: string; path: string }[]): FileSystemSpace[] =>
  folders.flatMap((folder) => {
    const room = machine.room(folder.path)
    return room === undefined ? [] : [{ ...folder, ...room }]
  })

const readDisk = ({ machine, workspace, environment }: ProbeRequest): Measurement => {
  const folders = [
    { name: 'the workspace', path: workspace },
    { name: 'the temporary folder', path: environment.TMPDIR ?? '/tmp' },
    ...(environment.HOME === undefined ? [] : [{ name: 'the home folder', path: environment.HOME }]),
  ]
  return { probe: 'disk', places: roomsOf(machine, folders) }
}

const readMemory = (request: ProbeRequest): Measurement | undefined => {
  const now = request.machine.oomKills()
  const { killsBefore } = request
  if (now === undefined || killsBefore === undefined) return undefined
  return { probe: 'memory', killed: Math.max(0, now - killsBefore), freeMb: megabytesFree(request) }
}

const readPort = ({ machine, marker }: ProbeRequest, port: number): Measurement | undefined => {
  const listener = machine.listener(port)
  if (listener === null) return undefined
  if (listener === undefined) return { probe: 'port', port, owner: null }
  const { marker: run, ...owner } = listener
  if (run === undefined) return { probe: 'port', port, owner }
  const of = run === marker || marker.startsWith(`${run}-`) ? 'this very run' : `run ${run} of Unstuck`
  return { probe: 'port', port, owner: { ...owner, of } }
}

const reachMs = 3_000
const mostTargets = 3

const readNetwork = async (request: ProbeRequest, hosts: readonly string[]): Promise<Measurement> => {
  const asked = registriesOf(request, hosts)
    .slice(0, mostTargets)
    .map(async (registry) => ({
      ...registry,
      trouble: await request.machine.reach(registry.host, registry.port, reachMs),
    }))
  return { probe: 'network', targets: await Promise.all(asked) }
}

/** Looks again at what was at fault. Undefined = the system does not report it. */
export const lookAgain = async (machine: MachineView, fault: MachineFault): Promise<Measurement | undefined> => {
  if (fault.probe === 'port') {
    const listener = machine.listener(fault.port)
    return listener === null ? undefined : { probe: 'port', port: fault.port, owner: listener ?? null }
  }
  if (fault.probe === 'other' || fault.probe === 'base') return undefined
  if (fault.probe === 'disk')
    return {
      probe: 'disk',
      places: roomsOf(
        machine,
        fault.folders.map((path) => ({ name: path, path })),
      ),
    }
  const asked = fault.hosts.map(async ({ host, port }) => {
    const trouble = await machine.reach(host, port, reachMs)
    return { host, port, from: '', trouble }
  })
  return { probe: 'network', targets: await Promise.all(asked) }
}

const read = async (request: ProbeRequest, question: MeasurementRequest): Promise<Measurement | undefined> => {
  const { machine, ports, workspace } = request
  switch (question.probe) {
    case 'disk':
      return readDisk(request)
    case 'memory':
      return readMemory(request)
    case 'port':
      return readPort(request, question.port)
    case 'network':
      return readNetwork(request, question.hosts)
    case 'packages': {
      const { probe, ...about } = question
      return { probe, ...(await ports.git.inspectInstalled(workspace, about)) }
    }
    case 'runtime':
      return { probe: 'runtime', requirements: await requirementsOf(request) }
    case 'checkout': {
      const ignored = await ports.git.ignoredEntries(request.repository)
      const isHere = (path: string): boolean => ports.files.existsSync(join(workspace, path))
      return { probe: 'checkout', absent: absentFiles(question.lines, { ignored, workspace, isHere }) }
    }
    case 'files': {
      const limit = machine.fileLimit()
      return limit === undefined ? undefined : { probe: 'files', ...limit }
    }
  }
}

/** The measurements for a failed check, in the order of the probes. */
export const probeFailure = async (request: ProbeRequest, failed: ObservedCheck): Promise<Measurement[]> => {
  const readings: Measurement[] = []
  for (const question of measurementsFor(failed)) {
    const reading = await read(request, question)
    if (reading !== undefined) readings.push(reading)
  }
  return readings
}
