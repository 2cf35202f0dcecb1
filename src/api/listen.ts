/** Puts the API on a loopback port, and leaves the address and the token where clients of this user find them. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve as listen } from '@hono/node-server'
import { AppError } from '../errors.ts'
import { identityOf } from '../platform/process.ts'
import { createApp, type AppParts } from './app.ts'
import type { Keepsakes } from './keepsakes.ts'

/** The owner's token, made at the first start, readable by its owner only. */
export const readToken = (stateDir: string): string => {
  const path = join(stateDir, 'token')
  if (!existsSync(path)) {
    // Complete or not at all: after a crash an empty file would be a token that no client can give.
    writeFileSync(`${path}.new`, randomBytes(32).toString('base64url'), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return readFileSync(path, 'utf8').trim()
}

/** Cookies are shared by all ports of an address: each repository's engine has its own name for them. */
export const cookieOf = (repositoryId: string): string =>
  `unstuck_${repositoryId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-16)}`

const listenOn = (fetch: ReturnType<typeof createApp>['fetch'], wanted: number, listening: (port: number) => void) =>
  new Promise<ReturnType<typeof listen>>((resolve, reject) => {
    const created = listen({ fetch, hostname: '127.0.0.1', port: wanted }, (info) => {
      listening(info.port)
      resolve(created)
    })
    created.on('error', (error: Error) =>
      reject(new AppError('ENGINE_UNAVAILABLE', `the API cannot listen on loopback: ${error.message}`)),
    )
  })

/** Takes up the port of before, so that an open page and its cookie go on. */
export const startApi = async (
  parts: Omit<AppParts, 'port'>,
  keepsakes: Keepsakes,
): Promise<{ url: string; close: () => void }> => {
  let port = 0
  const app = createApp({ ...parts, port: () => port })
  const before = keepsakes.port()
  const listening = (given: number): void => {
    port = given
    // The program that has our old port now may have received the session cookies of pages that are still open.
    if (given !== before) parts.logins.forget()
  }
  const server = await listenOn(app.fetch, before, listening).catch((error: unknown) => {
    if (before === 0) throw error
    return listenOn(app.fetch, 0, listening)
  })
  keepsakes.keepPort(port)
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

export const writeAddress = (stateDir: string, url: string, version: string): void => {
  const path = join(stateDir, 'engine.json')
  writeFileSync(`${path}.new`, JSON.stringify({ url, version, identity: identityOf(process.pid) }), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
