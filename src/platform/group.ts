/**
 * A control group (cgroup v2) below the one that this process is in, where its user may make one: in a systemd user session, a
 * unit with `Delegate=yes`, or as root in a container that can write there. No controller is switched on, so a group
 * limits nothing; it only says who was started in it. What is below it counts as in it.
 */
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { linux, readOrUndefined } from './proc.ts'

/** Field 4 is what of the hierarchy is mounted, field 5 where; the type stands behind a lone hyphen. */
const mountLine = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m

const findOwn = (): string | undefined => {
  const path = /^0::(\/.*)$/m.exec(readOrUndefined('/proc/self/cgroup') ?? '')?.[1]
  const [, mounted, place] = mountLine.exec(readOrUndefined('/proc/self/mountinfo') ?? '') ?? []
  if (path === undefined || mounted === undefined || place === undefined) return undefined
  // Outside of what is mounted or of our namespace: then there is no way to it.
  const inside = mounted === '/' ? path : path.startsWith(`${mounted}/`) ? path.slice(mounted.length) : undefined
  return inside === undefined || inside.startsWith('/..') ? undefined : join(place, inside)
}

let found: { own: string | undefined } | undefined

/** The folder of the group that this process began in. */
export const ownGroup = (): string | undefined => (found ??= { own: linux ? findOwn() : undefined }).own

const folderOf = (name: string): string | undefined => {
  const own = ownGroup()
  return own === undefined ? undefined : join(own, name)
}

/** The file that takes a process into the group; undefined = none can be made here. */
export const makeGroup = (name: string): string | undefined => {
  const folder = folderOf(name)
  if (folder === undefined) return undefined
  try {
    mkdirSync(folder, { recursive: true })
    return join(folder, 'cgroup.procs')
  } catch {
    return undefined // most users may not
  }
}

const foldersBelow = (folder: string): string[] => {
  try {
    const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [...below.flatMap((entry) => foldersBelow(join(folder, entry.name))), folder]
  } catch {
    return [] // there is none, or it went meanwhile
  }
}

/** Names of all groups below our own, ours and those of others; files of the kernel are among them. */
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

/** Keeps a group that still has processes in it. */
export const removeGroup = (name: string): void => {
  const folder = folderOf(name)
  try {
    for (const path of folder === undefined ? [] : foldersBelow(folder)) rmdirSync(path)
  } catch {
    // an empty folder of the system's own memory is all that is left
  }
}
