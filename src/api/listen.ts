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
import { localNames } from './auth.ts'
import { timeouts } from './limits.ts'
import { createLogins, type Logins } from './logins.ts'
import { openPersistedLogins, type PersistedLogins } from './persisted-logins.ts'
import { siblingsOfOne } from './siblings.ts'
import { readSecret } from './state-dir.ts'

/** The token of the owner. */
export const readToken = (stateDir: string): string => readSecret(stateDir, 'token')

/** What answers the requests of a listener. */
export type Fetch = ReturnType<typeof createApp>['fetch']

interface Listening {
  fetch: Fetch
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

/** A port on loopback and a Unix socket, for one app or for those of several repositories. */
export interface ApiListener {
  /** 0 until it listens. */
  port: () => number
  /** Undefined = there is none here. */
  socket: string | undefined
  /** The process that opened a connection over the socket; undefined for one over TCP. */
  peerOf: AppParts['peerOf']
  /** Uses the port `wanted` if it is free; 0 = the system assigns one. */
  listen: (fetch: Fetch, wanted: number, maxConnections: number) => Promise<void>
  close: () => void
}

export const createApiListener = (stateDir: string, environment: Record<string, string | undefined>): ApiListener => {
  let port = 0
  const peers: Peers = new WeakMap()
  const socket = placeOfSocket(stateDir, environment)
  const closing: (() => void)[] = []
  return {
    ...{ socket, port: () => port, peerOf: (each) => peers.get(each) },
    listen: async (fetch, wanted, maxConnections) => {
      const options = { fetch, maxConnections, listening: (given: number) => void (port = given) }
      const server = await listenOn(options, wanted).catch((error: unknown) => {
        if (wanted === 0) throw error
        return listenOn(options, 0)
      })
      closing.push(() => server.close())
      if (socket === undefined) return
      const local = await listenAt(socket, options, peers)
      closing.push(() => local.close())
    },
    close: () => {
      for (const close of closing) close()
    },
  }
}

export interface Api {
  url: string
  /** Undefined = there is none here. */
  socket: string | undefined
  close: () => void
}

/** What an app has, except how it is reached and who is logged in. */
export type ApiParts = Omit<AppParts, 'names' | 'port' | 'socket' | 'peerOf' | 'logins' | 'runsLive' | 'siblings'>

/** Uses the previous port if it is free, so that an open page keeps working after a restart. */
export const startApi = async (parts: ApiParts, maxConnections: number): Promise<Api> => {
  const { stateDir, environment, clock } = parts.context
  const keepsakes = openPersistedLogins(stateDir)
  const logins = createLogins(clock.now, keepsakes)
  const listener = createApiListener(stateDir, environment)
  const { port, socket, peerOf, close } = listener
  const siblings = siblingsOfOne(parts)
  const app = createApp({ ...parts, logins, names: localNames, port, socket, peerOf, siblings })
  await listenAsBefore(listener, { fetch: app.fetch, keepsakes, logins, maxConnections })
  return { url: `http://${localNames[0]}:${port()}`, socket, close }
}

export interface Before {
  fetch: Fetch
  keepsakes: PersistedLogins
  logins: Logins
  maxConnections: number
}

/** A page proves its login only to its own port, so on another port the old logins are useless. */
export const listenAsBefore = async (
  { listen, port }: ApiListener,
  { fetch, keepsakes, logins, maxConnections }: Before,
): Promise<void> => {
  const before = keepsakes.port()
  await listen(fetch, before, maxConnections)
  if (port() !== before) logins.forget()
  keepsakes.savePort(port())
}

/** What `engine.json` says, by which every program finds this engine. `shared`: its process serves other repositories as well. */
export const addressText = ({ url, socket }: Pick<Api, 'url' | 'socket'>, version: string, shared = false): string =>
  JSON.stringify({ url, socket, version, identity: identityOf(process.pid), ...(shared ? { shared } : {}) })
