/**
 * Control groups (cgroup v2) below the group of this process, where its user may create them: in a systemd user session, in a unit
 * with `Delegate=yes`, or as root in a container with write access. No controller is enabled, so a group limits nothing; it
 * only records which processes were started in it or below it.
 */
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { isLinux, readOrUndefined } from './proc.ts'

/** Field 4 is the mounted part of the hierarchy, field 5 the mount point; the type follows a lone hyphen. */
const mountLine = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m

const findOwn = (): string | undefined => {
  const path = /^0::(\/.*)$/m.exec(readOrUndefined('/proc/self/cgroup') ?? '')?.[1]
  const [, mounted, place] = mountLine.exec(readOrUndefined('/proc/self/mountinfo') ?? '') ?? []
  if (path === undefined || mounted === undefined || place === undefined) return undefined
  // A group outside the mounted part or outside our namespace cannot be reached.
  const inside = mounted === '/' ? path : path.startsWith(`${mounted}/`) ? path.slice(mounted.length) : undefined
  return inside === undefined || inside.startsWith('/..') ? undefined : join(place, inside)
}

let found: { own: string | undefined } | undefined

/** Folder of this process's own group; undefined when it cannot be reached. */
export const ownGroup = (): string | undefined => (found ??= { own: isLinux ? findOwn() : undefined }).own

const folderOf = (name: string): string | undefined => {
  const own = ownGroup()
  return own === undefined ? undefined : join(own, name)
}

/** Creates the group and returns the file through which a process joins it; undefined = no group can be created here. */
export const makeGroup = (name: string): string | undefined => {
  const folder = folderOf(name)
  if (folder === undefined) return undefined
  try {
    mkdirSync(folder, { recursive: true })
    return join(folder, 'cgroup.procs')
  } catch {
    return undefined // most users have no permission
  }
}

const foldersBelow = (folder: string): string[] => {
  try {
    const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [...below.flatMap((entry) => foldersBelow(join(folder, entry.name))), folder]
  } catch {
    return [] // it does not exist, or was removed meanwhile
  }
}

/** Names of all entries below our own group: groups, also those of others, and the kernel's files. */
export const groupNames = (): string[] => {
  const own = ownGroup()
  try {
    return own === undefined ? [] : readdirSync(own)
  } catch {
    return []
  }
}

export const pidsInGroup = (name: string): Set<number> => {
  const folder = folderOf(name)
  const folders = folder === undefined ? [] : foldersBelow(folder)
  const lines = folders.flatMap((path) => (readOrUndefined(join(path, 'cgroup.procs')) ?? '').split('\n'))
  return new Set(lines.filter((line) => line !== '').map(Number))
}

/** Removes a group, unless it still has processes. */
export const removeGroup = (name: string): void => {
  const folder = folderOf(name)
  try {
    for (const path of folder === undefined ? [] : foldersBelow(folder)) rmdirSync(path)
  } catch {
    // Only an empty folder in the kernel's file system remains.
  }
}
