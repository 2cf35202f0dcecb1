/**
 * Which process connected a Unix socket. The kernel notes it at `connect` (SO_PEERCRED, on macOS LOCAL_PEERPID), whatever table of open
 * files the socket is in later and whoever uses it. Node has no call for it, so the system's is made through koffi.
 */
import { closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type Koffi from 'koffi'
import { isLinux, readOrUndefined } from './proc.ts'
import { identityOf, livenessOf, parentPidOf, type ProcessIdentity } from './process.ts'

/** The file descriptor, level, name, value and length of `getsockopt`. */
type GetOption = (...args: [number, number, number, Uint8Array, [number]]) => number

const isDarwin = process.platform === 'darwin'

/** Undefined where koffi has no build for this platform, or was not installed. */
const loadGetOption = (): GetOption | undefined => {
  if (!isLinux && !isDarwin) return undefined
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi
    return koffi
      .load(null)
      .func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)') as GetOption
  } catch {
    return undefined // an optional package
  }
}

let loaded: { call: GetOption | undefined } | undefined
const getOption = (): GetOption | undefined => (loaded ??= { call: loadGetOption() }).call

/** Whether the system names the peers of Unix sockets here. */
export const namesSocketPeers = (): boolean => getOption() !== undefined

/** `socket(7)` of Linux, `sys/un.h` of macOS. */
const options = {
  linux: { level: 1, credentials: 17, descriptor: 77 },
  darwin: { level: 0, pid: 2 },
} as const

const numbers = (fd: number, level: number, name: number, count: number): number[] | undefined => {
  const bytes = Buffer.alloc(4 * count)
  if (getOption()?.(fd, level, name, bytes, [bytes.length]) !== 0) return undefined
  return Array.from({ length: count }, (_, index) => bytes.readInt32LE(4 * index))
}

/** False = the process that connected has ended. Its number may be another's by now. Kernels before 6.5 do not tell. */
const hasNotEnded = (fd: number): boolean => {
  const [descriptor] = numbers(fd, options.linux.level, options.linux.descriptor, 1) ?? []
  if (descriptor === undefined) return true
  try {
    return !/^Pid:\s+-1$/m.test(readOrUndefined(`/proc/self/fdinfo/${descriptor}`) ?? '')
  } finally {
    closeSync(descriptor)
  }
}

export interface SocketPeer {
  /** Undefined = it had ended, or is in another namespace. */
  identity: ProcessIdentity | undefined
  /** Undefined on macOS, where the folder of the socket must suffice. */
  user: number | undefined
}

/** To be asked when the connection is accepted. Undefined where the system does not name peers. */
export const socketPeerOf = (socket: Socket): SocketPeer | undefined => {
  const { fd } = (socket as unknown as { _handle?: { fd?: number } })._handle ?? {}
  if (fd === undefined || fd < 0 || getOption() === undefined) return undefined
  const { linux, darwin } = options
  const [pid = 0, user] = isLinux
    ? (numbers(fd, linux.level, linux.credentials, 3) ?? [])
    : (numbers(fd, darwin.level, darwin.pid, 1) ?? [])
  const identity = pid > 0 ? identityOf(pid) : undefined
  // Looked at last: a number that was given to another process in between names that one.
  return { identity: isLinux && !hasNotEnded(fd) ? undefined : identity, user }
}

export const isStillThere = ({ identity }: SocketPeer): boolean =>
  identity !== undefined && livenessOf(identity) === 'alive'

/** The processes that trace a process or one of its parents: they can act in its name. */
export const tracersOf = (pid: number): number[] => {
  const tracers: number[] = []
  for (let at: number | undefined = pid, depth = 0; at !== undefined && at > 1 && depth < 100; depth += 1) {
    const tracer = Number(/^TracerPid:\s+(\d+)/m.exec(readOrUndefined(`/proc/${at}/status`) ?? '')?.[1] ?? 0)
    if (tracer > 0) tracers.push(tracer)
    at = parentPidOf(at)
  }
  return tracers
}
