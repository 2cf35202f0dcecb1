/**
 * Resources of the machine and limits of its processes: disk, memory, load, out-of-memory kills, open files. A fact that the system
 * does not report is undefined, never a guess.
 */
import { statfsSync } from 'node:fs'
import { availableParallelism, freemem, loadavg } from 'node:os'
import { join } from 'node:path'
import { isLinux, readOrUndefined } from './proc.ts'

/** Free resources; undefined where the system does not report them. */
export interface MachineResources {
  freeDiskMb: number | undefined
  freeMemoryMb: number | undefined
  loadPerCore: number | undefined
}

const megabyte = 1024 * 1024

const freeDisk = (folder: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return (bavail * bsize) / megabyte
  } catch {
    return undefined // a file system that reports nothing must not count as full
  }
}

/** On Linux `MemAvailable` includes caches that the kernel can free at once. */
const freeMemory = (): number => {
  const available = isLinux ? /^MemAvailable:\s+(\d+) kB/m.exec(readOrUndefined('/proc/meminfo') ?? '')?.[1] : undefined
  return available === undefined ? freemem() / megabyte : Number(available) / 1024
}

export const machineResources = (folder: string): MachineResources => ({
  freeDiskMb: freeDisk(folder),
  freeMemoryMb: freeMemory(),
  loadPerCore: (loadavg()[0] ?? 0) / availableParallelism(),
})

/** Space in a file system. Inodes are 0 of 0 where the file system creates them on demand. */
export interface DiskSpace {
  freeMb: number
  totalMb: number
  freeInodes: number
  inodes: number
}

export const diskSpaceAt = (folder: string): DiskSpace | undefined => {
  try {
    const { bavail, blocks, bsize, ffree, files } = statfsSync(folder)
    return {
      freeMb: (bavail * bsize) / megabyte,
      totalMb: (blocks * bsize) / megabyte,
      freeInodes: ffree,
      inodes: files,
    }
  } catch {
    return undefined // as above
  }
}

/** Folders with the kernel's counters for the control group of this process, version 2 first. */
const memoryGroups = (): string[] =>
  (readOrUndefined('/proc/self/cgroup') ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return [join('/sys/fs/cgroup', path)]
    return controllers?.split(',').includes('memory') === true ? [join('/sys/fs/cgroup/memory', path)] : []
  })

/**
 * Number of processes that the kernel killed because memory ran out: in these control groups, else on the whole system since boot.
 * Only the difference between two calls is meaningful.
 */
export const oomKills = (groups: readonly string[] = memoryGroups()): number | undefined => {
  const counters = [
    ...groups.flatMap((group) => [join(group, 'memory.events'), join(group, 'memory.oom_control')]),
    '/proc/vmstat',
  ]
  for (const path of counters) {
    const count = /^oom_kill (\d+)$/m.exec(readOrUndefined(path) ?? '')?.[1]
    if (count !== undefined) return Number(count)
  }
  return undefined
}

/** Limit of open files per process. */
export const fileLimit = (): { soft: number; hard: number } | undefined => {
  const found = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readOrUndefined('/proc/self/limits') ?? '')
  if (found === null) return undefined
  const amount = (text = ''): number => (text === 'unlimited' ? Infinity : Number(text))
  return { soft: amount(found[1]), hard: amount(found[2]) }
}
