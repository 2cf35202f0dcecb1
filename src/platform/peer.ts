/** Which process is at the other end of a connection over loopback. Linux only: macOS does not report it without privileges. */
import { readdirSync, readlinkSync, statSync } from 'node:fs'
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

const portOf = (address: string | undefined): number => Number.parseInt(address?.split(':')[1] ?? '', 16)

/** The row of the other end: its local port is our remote one. A dual-stack client is listed in tcp6. */
const rowOf = (ours: number, theirs: number): SocketRow | undefined => {
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6'])
    for (const line of (readOrUndefined(path) ?? '').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (portOf(fields[1]) === theirs && portOf(fields[2]) === ours)
        return { inode: fields[9] ?? '0', user: Number(fields[7]) }
    }
  return undefined
}

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed between listing and reading
  }
}

/** Undefined = the open files of this process cannot be listed. */
const holdsSocket = (pid: number, inode: string): boolean | undefined => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => linkOf(`/proc/${pid}/fd/${name}`) === `socket:[${inode}]`)
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

/** `ours` and `theirs` are the local and the remote port of the accepted connection. */
export const peerOf = (ours: number, theirs: number): Peer => {
  if (!isLinux) return { kind: 'unknown' }
  const row = rowOf(ours, theirs)
  if (row === undefined || row.inode === '0') return { kind: 'gone' }
  const seen = processTable().map(({ pid }) => ({ pid, holds: holdsSocket(pid, row.inode) }))
  const pids = seen.filter(({ holds }) => holds === true).map(({ pid }) => pid)
  if (pids.length > 0) return { kind: 'processes', pids }
  const hiding = seen.filter(({ pid, holds }) => holds === undefined && userOf(pid) === row.user)
  return { kind: 'hidden', suspects: hiding.map(({ pid }) => pid) }
}
