/**
 * Whether this machine may take on one more agent: free disk, memory and load, looked at before each claim. A run that has
 * begun is never stopped for it.
 */
import type { Config } from '../../config.ts'
import type { Machine } from '../../platform/machine.ts'

const amount = (megabytes: number): string =>
  megabytes < 1024 ? `${Math.max(0, Math.floor(megabytes))} MB` : `${Math.round((megabytes / 1024) * 10) / 10} GB`

/** What is short, in words for a person; undefined = new work may begin. Pure. */
export const shortage = (machine: Machine, limits: Config['admission']): string | undefined => {
  const { freeDiskMb, freeMemoryMb, loadPerCore } = machine
  if (freeDiskMb !== undefined && freeDiskMb < limits.minFreeDiskMb)
    return `waiting for disk: ${amount(freeDiskMb)} free of ${amount(limits.minFreeDiskMb)}`
  if (freeMemoryMb !== undefined && freeMemoryMb < limits.minFreeMemoryMb)
    return `waiting for memory: ${amount(freeMemoryMb)} free of ${amount(limits.minFreeMemoryMb)}`
  if (loadPerCore !== undefined && limits.maxLoadPerCore !== -1 && loadPerCore > limits.maxLoadPerCore)
    return `waiting for load: ${Math.round(loadPerCore * 10) / 10} per core, at most ${limits.maxLoadPerCore}`
  return undefined
}

/** The kind of a shortage: told once while it lasts, however its numbers change. */
export const kindOf = (waiting: string | null): string => waiting?.split(':')[0] ?? ''
