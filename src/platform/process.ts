/**
 * Processes as the operating system reports them: on Linux from /proc, on macOS from ps (written after its manual, not yet run on a
 * Mac). A process is identified by host, boot, pid and start time, so that a reused pid is never mistaken for ours.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { isLinux, readOrUndefined } from './proc.ts'

/** Proves that a process is the one we started. `startTime` is opaque: only compare it. */
export interface ProcessIdentity {
  host: string
  bootId: string
  pid: number
  startTime: string
}

const ps = (args: string[]): string => {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return '' // ps exits 1 when no process matches
  }
}

/** Identifies this boot of this machine; after a reboot no recorded pid is valid. */
export const bootId = (): string =>
  isLinux
    ? (readOrUndefined('/proc/sys/kernel/random/boot_id') ?? 'unknown').trim()
    : execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim()

interface Stat {
  state: string
  parent: number
  group: number
  session: number
  startTime: string
  cpuMs: number
}

/** Unit of the times in /proc (USER_HZ), the same on every Linux that Node runs on. */
const tickMs = 10

const readStat = (pid: number): Stat | undefined => {
  const text = readOrUndefined(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The command name is in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    // User and system time of the process and of its ended children.
    cpuMs: fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs,
  }
}

/** Start time of a live process; undefined when it has ended. A zombie counts as ended. */
export const startTimeOf = (pid: number): string | undefined => {
  if (!isLinux) return ps(['-o', 'lstart=', '-p', String(pid)]) || undefined
  const stat = readStat(pid)
  return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat.startTime
}

/** Undefined when the process has ended or the system does not report it. */
export const parentPidOf = (pid: number): number | undefined => (isLinux ? readStat(pid)?.parent : undefined)

export const identityOf = (pid: number): ProcessIdentity | undefined => {
  const startTime = startTimeOf(pid)
  return startTime === undefined ? undefined : { host: hostname(), bootId: bootId(), pid, startTime }
}

export const isOfThisBoot = (identity: ProcessIdentity): boolean =>
  identity.host === hostname() && identity.bootId === bootId()

/** Program name for people; empty when the process has ended. */
export const programNameOf = (pid: number): string =>
  (isLinux ? (readOrUndefined(`/proc/${pid}/comm`) ?? '') : ps(['-o', 'comm=', '-p', String(pid)])).trim()

/** The words of a process's command line; empty where the system does not tell them. */
export const argumentsOf = (pid: number): string[] =>
  isLinux ? (readOrUndefined(`/proc/${pid}/cmdline`) ?? '').split('\0').filter((word) => word !== '') : []

/** The working folder of a process, without links; undefined where the system does not tell it, as for a process of another user. */
export const workingFolderOf = (pid: number): string | undefined => {
  try {
    return isLinux ? readlinkSync(`/proc/${pid}/cwd`) : undefined
  } catch {
    return undefined // it has ended, or belongs to another user
  }
}

/**
 * Validates a record from a file. As targets of a signal, pid 0 is a whole group and -1 every process of the user; and a missing
 * start time would equal that of a process that does not exist.
 */
const namesOneProcess = (identity: Partial<ProcessIdentity> | null): boolean =>
  Number.isSafeInteger(identity?.pid) && Number(identity?.pid) > 0 && typeof identity?.startTime === 'string'

/** `elsewhere` = recorded on another host, whose processes are unknown here. A damaged record counts as dead. */
export const livenessOf = (identity: ProcessIdentity): 'alive' | 'dead' | 'elsewhere' => {
  if (!namesOneProcess(identity)) return 'dead'
  if (identity.host !== hostname()) return 'elsewhere'
  if (identity.bootId !== bootId()) return 'dead'
  return startTimeOf(identity.pid) === identity.startTime ? 'alive' : 'dead'
}

/** A live process. `session` is 0 where the system does not report it (macOS). */
export interface ProcessRow {
  pid: number
  parent: number
  group: number
  session: number
  startTime: string
}

const linuxRow = (pid: number): ProcessRow[] => {
  const stat = readStat(pid)
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return []
  return [{ pid, parent: stat.parent, group: stat.group, session: stat.session, startTime: stat.startTime }]
}

const psRow = (line: string): ProcessRow[] => {
  const fields = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*\S)\s*$/.exec(line)
  if (fields === null || fields[4]?.startsWith('Z') === true) return []
  return [
    {
      pid: Number(fields[1]),
      parent: Number(fields[2]),
      group: Number(fields[3]),
      session: 0,
      startTime: fields[5] ?? '',
    },
  ]
}

/** `[[dd-]hh:]mm:ss.cc`, as ps prints it on macOS. */
const psTimeMs = (text: string): number => {
  const [clock = '', days = '0'] = text.split('-').reverse()
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return Math.round((Number(days) * 86_400 + seconds) * 1000)
}

export interface ProcessorUse {
  /** CPU time of the process and of its ended children, in milliseconds. */
  cpuMs: number
  /** It runs or waits for a processor. On a busy machine a working process may get almost no CPU time. */
  runnable: boolean
}

/** Undefined when the process has ended or the system does not report its use. */
export const processorUseOf = (pid: number): ProcessorUse | undefined => {
  if (isLinux) {
    const stat = readStat(pid)
    return stat === undefined ? undefined : { cpuMs: stat.cpuMs, runnable: stat.state === 'R' }
  }
  const [state = '', time] = ps(['-o', 'stat=,time=', '-p', String(pid)]).split(/\s+/)
  return time === undefined ? undefined : { cpuMs: psTimeMs(time), runnable: state.startsWith('R') }
}

/** All live processes without zombies, read in one pass. */
export const processTable = (): ProcessRow[] =>
  isLinux
    ? readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? linuxRow(Number(name)) : []))
    : ps(['-axo', 'pid=,ppid=,pgid=,stat=,lstart=']).split('\n').flatMap(psRow)

const macPidsWith = (wanted: string): number[] =>
  ps(['axeww', '-o', 'pid=,command='])
    .split('\n')
    .filter((line) => line.split(' ').includes(wanted))
    .map((line) => Number.parseInt(line, 10))

/** Pids of live processes with exactly `NAME=value` in their environment. This also finds children that lead groups of their own. */
export const processesWithEnvironment = (name: string, value: string, table = processTable()): number[] => {
  const wanted = `${name}=${value}`
  const others = table.map(({ pid }) => pid).filter((pid) => pid !== process.pid)
  if (!isLinux) {
    const carriers = new Set(macPidsWith(wanted))
    return others.filter((pid) => carriers.has(pid))
  }
  return others.filter((pid) => {
    const text = readOrUndefined(`/proc/${pid}/environ`)
    return text !== undefined && text.includes(wanted) && text.split('\0').includes(wanted)
  })
}

/** Live descendants of a process, children before grandchildren, without the process itself. */
export const descendantsOf = (root: number, table = processTable()): number[] => {
  const found: number[] = []
  let layer = [root]
  while (layer.length > 0) {
    const wanted = new Set(layer)
    layer = table.filter(({ parent }) => wanted.has(parent)).map(({ pid }) => pid)
    found.push(...layer)
  }
  return found
}
