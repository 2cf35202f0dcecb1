/** Starts the API on a loopback port and writes its address and token to the state folder, where clients of this user find them. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve as listen } from '@hono/node-server'
import { AppError } from '../errors.ts'
import { identityOf } from '../platform/process.ts'
import { createApp, type AppParts } from './app.ts'
import type { PersistedLogins } from './persisted-logins.ts'
import { timeouts } from './limits.ts'
import { readSecret, writingIn } from './state-dir.ts'

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

/** Uses the previous port if it is free, so that an open page keeps working after a restart. */
export const startApi = async (
  parts: Omit<AppParts, 'port'>,
  keepsakes: PersistedLogins,
  maxConnections: number,
): Promise<{ url: string; close: () => void }> => {
  let port = 0
  const app = createApp({ ...parts, port: () => port })
  const before = keepsakes.port()
  const listening = (given: number): void => {
    port = given
    // A page proves its login only to its own port, so on another port the old logins are useless.
    if (given !== before) parts.logins.forget()
  }
  const options = { fetch: app.fetch, maxConnections, listening }
  const server = await listenOn(options, before).catch((error: unknown) => {
    if (before === 0) throw error
    return listenOn(options, 0)
  })
  keepsakes.savePort(port)
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

export const writeAddress = (stateDir: string, url: string, version: string): void => {
  const path = join(stateDir, 'engine.json')
  writingIn(stateDir, () => {
    writeFileSync(`${path}.new`, JSON.stringify({ url, version, identity: identityOf(process.pid) }), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  })
}
