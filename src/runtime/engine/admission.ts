/**
 * Whether this machine has room for one more agent: free disk, free memory and load, measured before each claim. A shortage
 * never stops a run that has started.
 */
import type { Config } from '../../config/config.ts'
import type { MachineResources } from '../../platform/machine.ts'

const amount = (megabytes: number): string =>
  megabytes < 1024 ? `${Math.max(0, Math.floor(megabytes))} MB` : `${Math.round((megabytes / 1024) * 10) / 10} GB`

/** The first resource below its limit, in words for a person; undefined = a task may be claimed. Pure. */
export const shortageOf = (machine: MachineResources, limits: Config['admission']): string | undefined => {
  const { freeDiskMb, freeMemoryMb, loadPerCore } = machine
  if (freeDiskMb !== undefined && freeDiskMb < limits.minFreeDiskMb)
    return `waiting for disk: ${amount(freeDiskMb)} free of ${amount(limits.minFreeDiskMb)}`
  if (freeMemoryMb !== undefined && freeMemoryMb < limits.minFreeMemoryMb)
    return `waiting for memory: ${amount(freeMemoryMb)} free of ${amount(limits.minFreeMemoryMb)}`
  if (loadPerCore !== undefined && limits.maxLoadPerCore !== -1 && loadPerCore > limits.maxLoadPerCore)
    return `waiting for load: ${Math.round(loadPerCore * 10) / 10} per core, at most ${limits.maxLoadPerCore}`
  return undefined
}

/** The shortage without its numbers, by which the engine recognises that it continues; '' = none. */
export const shortageKind = (waiting: string | null): string => waiting?.split(':')[0] ?? ''
