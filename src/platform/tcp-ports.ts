/** TCP ports: which process listens on a local port, and whether another host answers. */
import { lookup } from 'node:dns/promises'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { isLinux, readOrUndefined } from './proc.ts'
import { processTable } from './process.ts'
import { defined } from '../domain/defined.ts'

/** A process that listens on a port. The fields are absent for another user's process, which cannot be inspected. */
export interface Listener {
  pid?: number
  program?: string
  /** Value of one variable of its environment, if it has it. */
  marker?: string
}

const listening = '0A'

/** Numbers of the sockets that listen on the TCP port, on any address. */
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
    return false // the process ended meanwhile, or belongs to another user
  }
}

const linkOrEmpty = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed between listing and reading
  }
}

/** The process that listens on a local TCP port: undefined = none; null = the system does not report it (macOS). */
export const listenerOn = (port: number, markerName: string): Listener | undefined | null => {
  if (!isLinux) return null
  const sockets = listeningSockets(port)
  if (sockets.size === 0) return undefined
  const pid = processTable().find((row) => holds(row.pid, sockets))?.pid
  if (pid === undefined) return {}
  const program = (readOrUndefined(`/proc/${pid}/comm`) ?? '').trim()
  const marker = (readOrUndefined(`/proc/${pid}/environ`) ?? '')
    .split('\0')
    .find((entry) => entry.startsWith(`${markerName}=`))
    ?.slice(markerName.length + 1)
  return { pid, program, ...defined({ marker }) }
}

/** Range of ports for outgoing connections; the IANA's range where the system does not report it. */
export const ephemeralPorts = (): { low: number; high: number } => {
  const text = isLinux ? readOrUndefined('/proc/sys/net/ipv4/ip_local_port_range') : undefined
  const [low = 49_152, high = 65_535] = (text ?? '').split(/\s+/).filter(Boolean).map(Number)
  return { low, high }
}

/** Why a TCP port does not answer; undefined when the name resolves and a connection opens. It sends nothing. */
export const connectFailure = async (host: string, port: number, timeoutMs: number): Promise<string | undefined> => {
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
