/** Which process is at the other end of a connection over loopback. Linux only: macOS does not report it without privileges. */
import { endianness } from 'node:os'
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isLinux, readOrUndefined } from './proc.ts'
import { processTable } from './process.ts'

/**
 * `processes`: all that hold the socket. `gone`: the other end is closed already. `hidden`: the kernel lists the socket, but no process
 * that can be inspected holds it; `suspects` are the processes of its user that hide their files. `unknown`: not reported here.
 */
export type Peer =
  | { kind: 'processes'; pids: number[] }
  | { kind: 'hidden'; suspects: number[] }
  | { kind: 'gone' }
  | { kind: 'unknown' }

interface SocketRow {
  inode: string
  user: number
}

/** One end of a connection over IPv4; a dual-stack socket reports the same address behind `::ffff:`. */
export interface End {
  address: string
  port: number
}

/** As the kernel lists it: the bytes of the address in the order of this machine, as one number. Undefined for another form. */
const listedEnd = ({ address, port }: End): string | undefined => {
  const parts = address
    .replace(/^::ffff:/i, '')
    .split('.')
    .map(Number)
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return undefined
  const bytes = endianness() === 'LE' ? parts.toReversed() : parts
  return `${Buffer.from(bytes).toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase()
}

/**
 * The row of the other end, whose local end is our remote one. Addresses count as well as ports: a caller chooses both, and from
 * 127.0.0.2 could take the port that a browser of the owner has at 127.0.0.1. In tcp6 the same address stands at the end of a longer one.
 */
const rowOf = (ours: string, theirs: string): SocketRow | undefined => {
  for (const [path, prefix] of tables)
    for (const line of (readOrUndefined(path) ?? '').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[1] === prefix + theirs && fields[2] === prefix + ours)
        return { inode: fields[9] ?? '0', user: Number(fields[7]) }
    }
  return undefined
}

const mapped = `${'0'.repeat(16)}${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}`
const tables = [
  ['/proc/net/tcp', ''],
  ['/proc/net/tcp6', mapped],
] as const

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed between listing and reading
  }
}

const holds = (folder: string, inode: string): boolean =>
  readdirSync(folder).some((name) => linkOf(join(folder, name)) === `socket:[${inode}]`)

/** Every thread may have a table of open files of its own. One that has ended meanwhile holds nothing. */
const threadHolds = (pid: number, inode: string): boolean =>
  readdirSync(`/proc/${pid}/task`).some((thread) => {
    try {
      return holds(`/proc/${pid}/task/${thread}/fd`, inode)
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  })

/** Undefined = the open files of this process cannot be listed. */
const holdsSocket = (pid: number, inode: string, everyThread: boolean): boolean | undefined => {
  try {
    return everyThread ? threadHolds(pid, inode) : holds(`/proc/${pid}/fd`, inode)
  } catch {
    return undefined
  }
}

/** The user as the kernel notes it in the status file; the owner of the folder of a process that hides itself is root. */
const userOf = (pid: number): number | undefined => {
  const text = /^Uid:\s+(\d+)/m.exec(readOrUndefined(`/proc/${pid}/status`) ?? '')?.[1]
  if (text !== undefined) return Number(text)
  try {
    return statSync(`/proc/${pid}`).uid
  } catch {
    return undefined // it has ended
  }
}

interface Seen {
  pid: number
  /** Undefined = its open files cannot be listed. */
  holds: boolean | undefined
}

/**
 * A caller that hangs up while its processes are searched is gone: its socket is listed when the search begins and has no holder
 * when it ends. So the list is read again after a search without a result. The second search finds a socket that was handed on during the
 * first one, and looks at the files of every thread, which takes longer.
 */
export const searchPeer = (
  read: () => SocketRow | undefined,
  search: (inode: string, everyThread: boolean) => Seen[],
  userOfPid: (pid: number) => number | undefined,
): Peer => {
  const row = read()
  if (row === undefined || row.inode === '0') return { kind: 'gone' }
  let seen: Seen[] = []
  for (let times = 0; times < 2; times += 1) {
    seen = search(row.inode, times > 0)
    const pids = seen.filter(({ holds }) => holds === true).map(({ pid }) => pid)
    if (pids.length > 0) return { kind: 'processes', pids }
    if (read()?.inode !== row.inode) return { kind: 'gone' }
  }
  const hiding = seen.filter(({ pid, holds }) => holds === undefined && userOfPid(pid) === row.user)
  return { kind: 'hidden', suspects: hiding.map(({ pid }) => pid) }
}

/** Reads the socket at the other end; undefined = not reported here. */
const readerOf = (ours: End, theirs: End): (() => SocketRow | undefined) | undefined => {
  const [here, there] = [listedEnd(ours), listedEnd(theirs)]
  return !isLinux || here === undefined || there === undefined ? undefined : () => rowOf(here, there)
}

/** `ours` and `theirs` are the local and the remote end of the accepted connection. */
export const peerOf = (ours: End, theirs: End): Peer => {
  const read = readerOf(ours, theirs)
  if (read === undefined) return { kind: 'unknown' }
  const search = (inode: string, everyThread: boolean): Seen[] =>
    processTable().map(({ pid }) => ({ pid, holds: holdsSocket(pid, inode, everyThread) }))
  return searchPeer(read, search, userOf)
}

/**
 * What `inspect` finds about the processes at the other end, or about the suspects where it is hidden. A process that ends while it is
 * inspected shows nothing, which must not count as harmless: then the other end is `gone`.
 */
export const inspectPeer = <T>(
  { ours, theirs }: { ours: End; theirs: End },
  inspect: (pids: readonly number[], isHidden: boolean) => T | undefined,
): T | 'gone' | undefined => {
  const peer = peerOf(ours, theirs)
  if (peer.kind === 'unknown' || peer.kind === 'gone') return peer.kind === 'gone' ? 'gone' : undefined
  const isHidden = peer.kind === 'hidden'
  const found = inspect(isHidden ? peer.suspects : peer.pids, isHidden)
  if (found !== undefined) return found
  const row = readerOf(ours, theirs)?.()
  return row === undefined || row.inode === '0' ? 'gone' : undefined
}
