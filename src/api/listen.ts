/**
 * Starts the API on a loopback port, for browsers, and on a Unix socket, for programs, whose peer the kernel names. Both addresses and the
 * token stand in the state folder, where clients of this user find them.
 */
import { mkdirSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createAdaptorServer, serve as listen } from '@hono/node-server'
import { AppError } from '../errors.ts'
import { identityOf } from '../platform/process.ts'
import { findSocketFolder } from '../platform/socket-folder.ts'
import { namesSocketPeers, socketPeerOf, type SocketPeer } from '../platform/socket-peer.ts'
import { createApp, type AppParts } from './app.ts'
import type { PersistedLogins } from './persisted-logins.ts'
import { timeouts } from './limits.ts'
import { readSecret } from './state-dir.ts'

/** The token of the owner. */
export const readToken = (stateDir: string): string => readSecret(stateDir, 'token')

interface Listening {
  fetch: ReturnType<typeof createApp>['fetch']
  maxConnections: number
  listening: (port: number) => void
}

const listenOn = ({ fetch, maxConnections, listening }: Listening, wanted: number) =>
  new Promise<ReturnType<typeof listen>>((resolve, reject) => {
    const options = { fetch, hostname: '127.0.0.1', port: wanted, serverOptions: timeouts }
    const created = listen(options, (info) => {
      listening(info.port)
      resolve(created)
    })
    created.maxConnections = maxConnections
    created.on('error', (error: Error) =>
      reject(new AppError('ENGINE_UNAVAILABLE', `the API cannot listen on loopback: ${error.message}`)),
    )
  })

const socketName = 'api.sock'

/** Where this user finds the socket; undefined where the system does not name peers, or no folder has a path that is short enough. */
const placeOfSocket = (stateDir: string, environment: Record<string, string | undefined>): string | undefined => {
  if (!namesSocketPeers()) return undefined
  const { folder } = findSocketFolder({
    ...{ beside: stateDir, name: socketName, uid: process.getuid?.(), runtimeFolder: environment.XDG_RUNTIME_DIR },
    make: (path) => void mkdirSync(path, { recursive: true, mode: 0o700 }),
  })
  return folder === undefined ? undefined : join(folder, socketName)
}

/** Whoever connects is looked at when it is accepted: later it may have ended, and its number may be another's. */
const listenAt = (path: string, { fetch, maxConnections }: Omit<Listening, 'listening'>, peers: Peers) =>
  new Promise<{ close: () => void }>((resolve, reject) => {
    rmSync(path, { force: true }) // of an engine that was killed
    const created = createAdaptorServer({ fetch, serverOptions: timeouts })
    created.maxConnections = maxConnections
    created.on('connection', (socket: Socket) => {
      peers.set(socket, socketPeerOf(socket) ?? { identity: undefined, user: undefined })
    })
    created.on('error', (error: Error) =>
      reject(new AppError('ENGINE_UNAVAILABLE', `the API cannot listen on the socket ${path}: ${error.message}`)),
    )
    created.listen(path, () => resolve(created))
  })

type Peers = WeakMap<Socket, SocketPeer>

export interface Api {
  url: string
  /** Undefined = there is none here. */
  socket: string | undefined
  close: () => void
}

/** Uses the previous port if it is free, so that an open page keeps working after a restart. */
export const startApi = async (
  parts: Omit<AppParts, 'port' | 'socket' | 'peerOf'>,
  keepsakes: PersistedLogins,
  maxConnections: number,
): Promise<Api> => {
  let port = 0
  const peers: Peers = new WeakMap()
  const socket = placeOfSocket(parts.context.stateDir, parts.context.environment)
  const app = createApp({ ...parts, port: () => port, socket, peerOf: (each) => peers.get(each) })
  const before = keepsakes.port()
  const listening = (given: number): void => {
    port = given
  }
  const options = { fetch: app.fetch, maxConnections, listening }
  const server = await listenOn(options, before).catch((error: unknown) => {
    if (before === 0) throw error
    return listenOn(options, 0)
  })
  // A page proves its login only to its own port, so on another port the old logins are useless.
  if (port !== before) parts.logins.forget()
  keepsakes.savePort(port)
  const local = socket === undefined ? undefined : await listenAt(socket, options, peers)
  const close = (): void => {
    server.close()
    local?.close()
  }
  return { url: `http://127.0.0.1:${port}`, socket, close }
}

/** What `engine.json` says, by which every program finds this engine. */
export const addressText = ({ url, socket }: Omit<Api, 'close'>, version: string): string =>
  JSON.stringify({ url, socket, version, identity: identityOf(process.pid) })
