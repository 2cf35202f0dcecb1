/**
 * Facts about the operating system, all in this file. Linux reads /proc; macOS asks ps (written after its manual,
 * not run on a Mac yet). A process is identified by host, boot, pid and start time, so that a reused pid is never ours.
 */
import { execFileSync } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { readFileSync, readdirSync, readlinkSync, statfsSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism, freemem, homedir, hostname, loadavg } from 'node:os'
import { join } from 'node:path'

const linux = process.platform === 'linux'

/** What proves that a process is the one we started. `startTime` is opaque: compare it, do not read it. */
export interface ProcessIdentity {
  host: string
  bootId: string
  pid: number
  startTime: string
}

const readOrUndefined = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // the process ended between listing and reading, or is not ours to read
  }
}

const ps = (args: string[]): string => {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return '' // ps exits 1 when no process matches
  }
}

/** Identifies this boot of this machine; after a reboot every recorded pid is void. */
export const bootId = (): string =>
  linux
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

/** USER_HZ: what /proc counts in, the same on every Linux that Node runs on. */
const tickMs = 10

const readStat = (pid: number): Stat | undefined => {
  const text = readOrUndefined(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The command name stands in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    // User and system time, its own and that of its children that ended.
    cpuMs: fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs,
  }
}

/** Start time of a live process, or undefined when there is none (a zombie counts as gone). */
export const startTimeOf = (pid: number): string | undefined => {
  if (!linux) return ps(['-o', 'lstart=', '-p', String(pid)]) || undefined
  const stat = readStat(pid)
  return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat.startTime
}

export const identityOf = (pid: number): ProcessIdentity | undefined => {
  const startTime = startTimeOf(pid)
  return startTime === undefined ? undefined : { host: hostname(), bootId: bootId(), pid, startTime }
}

/** `elsewhere` = recorded on another host, about which nothing can be said from here. */
export const livenessOf = (identity: ProcessIdentity): 'alive' | 'dead' | 'elsewhere' => {
  if (identity.host !== hostname()) return 'elsewhere'
  if (identity.bootId !== bootId()) return 'dead'
  return startTimeOf(identity.pid) === identity.startTime ? 'alive' : 'dead'
}

/** One live process. `session` is 0 where the system does not tell it (macOS). */
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
  /** CPU time of the process and of its children that ended. */
  cpuMs: number
  /** It runs or waits for a processor: on a crowded machine it may use next to none and is at work all the same. */
  runnable: boolean
}

/** Undefined when the process is gone or the system does not tell. */
export const processorUseOf = (pid: number): ProcessorUse | undefined => {
  if (linux) {
    const stat = readStat(pid)
    return stat === undefined ? undefined : { cpuMs: stat.cpuMs, runnable: stat.state === 'R' }
  }
  const [state = '', time] = ps(['-o', 'stat=,time=', '-p', String(pid)]).split(/\s+/)
  return time === undefined ? undefined : { cpuMs: psTimeMs(time), runnable: state.startsWith('R') }
}

/** Every live process, zombies left out, in one pass. */
export const processTable = (): ProcessRow[] =>
  linux
    ? readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? linuxRow(Number(name)) : []))
    : ps(['-axo', 'pid=,ppid=,pgid=,stat=,lstart=']).split('\n').flatMap(psRow)

const macPidsWith = (wanted: string): number[] =>
  ps(['axeww', '-o', 'pid=,command='])
    .split('\n')
    .filter((line) => line.split(' ').includes(wanted))
    .map((line) => Number.parseInt(line, 10))

/** Every live process whose environment holds exactly `NAME=value` (tool children lead groups of their own, this finds them). */
export const processesWithEnvironment = (name: string, value: string, table = processTable()): number[] => {
  const wanted = `${name}=${value}`
  const others = table.map(({ pid }) => pid).filter((pid) => pid !== process.pid)
  if (!linux) {
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

/** What a machine has left; undefined where the system does not tell. */
export interface Machine {
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
    return undefined // a file system that does not tell is none that is short
  }
}

/** Linux counts caches that it would give back at once as available. */
const freeMemory = (): number => {
  const available = linux ? /^MemAvailable:\s+(\d+) kB/m.exec(readOrUndefined('/proc/meminfo') ?? '')?.[1] : undefined
  return available === undefined ? freemem() / megabyte : Number(available) / 1024
}

export const machineNow = (folder: string): Machine => ({
  freeDiskMb: freeDisk(folder),
  freeMemoryMb: freeMemory(),
  loadPerCore: (loadavg()[0] ?? 0) / availableParallelism(),
})

/** Room in the file system that holds a folder. Inodes are 0 of 0 where the file system makes them as it needs them. */
export interface Room {
  freeMb: number
  totalMb: number
  freeInodes: number
  inodes: number
}

export const roomAt = (folder: string): Room | undefined => {
  try {
    const { bavail, blocks, bsize, ffree, files } = statfsSync(folder)
    return {
      freeMb: (bavail * bsize) / megabyte,
      totalMb: (blocks * bsize) / megabyte,
      freeInodes: ffree,
      inodes: files,
    }
  } catch {
    return undefined // a file system that does not tell is none that is short
  }
}

/** Where the kernel counts for the control group of this process, version 2 first. */
const memoryGroups = (): string[] =>
  (readOrUndefined('/proc/self/cgroup') ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return [join('/sys/fs/cgroup', path)]
    return controllers?.split(',').includes('memory') === true ? [join('/sys/fs/cgroup/memory', path)] : []
  })

/**
 * Processes that the kernel has ended for want of memory: in these control groups, else on the whole system since it was
 * booted. Only the growth between two looks means something.
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

/** How many files each process may have open. */
export const fileLimit = (): { soft: number; hard: number } | undefined => {
  const found = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readOrUndefined('/proc/self/limits') ?? '')
  if (found === null) return undefined
  const amount = (text = ''): number => (text === 'unlimited' ? Infinity : Number(text))
  return { soft: amount(found[1]), hard: amount(found[2]) }
}

/** A process that listens on a port; its own words are missing where another user's processes cannot be looked at. */
export interface Listener {
  pid?: number
  program?: string
  /** Value of one variable of its environment, if it has it. */
  marker?: string
}

const listening = '0A'

/** Socket numbers of what listens on the TCP port, on whatever address. */
const listeningSockets = (port: number): Set<string> => {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => (readOrUndefined(path) ?? '').split('\n').slice(1))
  return new Set(
    rows.flatMap((row) => {
      const fields = row.trim().split(/\s+/)
      return fields[3] === listening && fields[1]?.endsWith(`:${wanted}`) === true ? (fields[9] ?? []) : []
    }),
  )
}

const holds = (pid: number, sockets: ReadonlySet<string>): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => {
      const socket = /^socket:\[(\d+)\]$/.exec(linkOrEmpty(`/proc/${pid}/fd/${name}`))?.[1]
      return socket !== undefined && sockets.has(socket)
    })
  } catch {
    return false // it ended meanwhile, or is another user's
  }
}

const linkOrEmpty = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed between listing and reading
  }
}

/** Who listens on a TCP port of this machine: undefined = nobody; null = the system does not tell (macOS). */
export const listenerOn = (port: number, markerName: string): Listener | undefined | null => {
  if (!linux) return null
  const sockets = listeningSockets(port)
  if (sockets.size === 0) return undefined
  const pid = processTable().find((row) => holds(row.pid, sockets))?.pid
  if (pid === undefined) return {}
  const program = (readOrUndefined(`/proc/${pid}/comm`) ?? '').trim()
  const marker = (readOrUndefined(`/proc/${pid}/environ`) ?? '')
    .split('\0')
    .find((entry) => entry.startsWith(`${markerName}=`))
    ?.slice(markerName.length + 1)
  return { pid, program, ...(marker === undefined ? {} : { marker }) }
}

/** Whether a TCP port answers: its name resolves and a connection opens, nothing is sent. Undefined = it does. */
export const reach = async (host: string, port: number, timeoutMs: number): Promise<string | undefined> => {
  const signal = AbortSignal.timeout(timeoutMs)
  const late = new Promise<string>((resolve) => {
    signal.addEventListener('abort', () => resolve(`no answer within ${timeoutMs / 1000} s`))
  })
  const tried = async (): Promise<string | undefined> => {
    const { address } = await lookup(host)
    const socket = connect({ host: address, port, signal })
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(undefined))
      socket.once('error', (error) => resolve(error.message))
    }).finally(() => socket.destroy()) as Promise<string | undefined>
  }
  return Promise.race([tried().catch((error: unknown) => String(error instanceof Error ? error.message : error)), late])
}

/** `$UNSTUCK_HOME`, else the XDG state folder. All stores, logs, workspaces and snapshots live below it. */
export const unstuckHome = (environment: NodeJS.ProcessEnv): string =>
  environment.UNSTUCK_HOME ?? join(environment.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'unstuck')
