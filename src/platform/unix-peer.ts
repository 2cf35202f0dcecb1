/**
 * Which processes are at the other end of Unix connections. The kernel tells it over a netlink socket only, which Node cannot open, so `ss`
 * of iproute2 is asked. Linux only.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isLinux } from './proc.ts'

interface Row {
  inode: string
  peer: string
  pids: number[]
}

/** A line of `ss -xnpH`: kind, state, two queues, the local address with its inode, the other one with its inode, and the processes. */
const rowOf = (line: string): Row | undefined => {
  const found = /^\S+\s+\S+\s+\d+\s+\d+\s+.*?\s(\d+)\s+\S+\s+(\d+)\s*(users:.*)?$/.exec(line.trimEnd())
  if (found === null) return undefined
  const [, inode = '', peer = '', users = ''] = found
  return { inode, peer, pids: [...users.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid)) }
}

/** For each process of a server: those at the other ends of its connections, as `ss` prints them. */
export const peersIn = (output: string, servers: ReadonlySet<number>): Map<number, number[]> => {
  const rows = output.split('\n').flatMap((line) => rowOf(line) ?? [])
  const holders = new Map(rows.map(({ inode, pids }) => [inode, pids]))
  const found = new Map<number, number[]>()
  for (const { peer, pids } of rows)
    for (const pid of pids.filter((candidate) => servers.has(candidate)))
      found.set(pid, [...(found.get(pid) ?? []), ...(holders.get(peer) ?? [])])
  return found
}

/** Undefined where the system does not tell it. */
export const unixPeersOf = async (servers: ReadonlySet<number>): Promise<Map<number, number[]> | undefined> => {
  if (!isLinux) return undefined
  try {
    const { stdout } = await promisify(execFile)('ss', ['-xnpH'], { maxBuffer: 64 * 1024 * 1024 })
    return peersIn(stdout, servers)
  } catch {
    return undefined // iproute2 is not installed
  }
}
