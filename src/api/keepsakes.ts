/**
 * What a restarted engine takes up again, so that an open page goes on: its port and the sessions of its logins. Both are
 * files of the state folder, written whole or not at all; without them, or with broken ones, there is a new port and a
 * new login, never an error. Holds digests of sessions, never a session.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface StoredSession {
  /** SHA-256 as hex. */
  digest: string
  until: number
}

export interface Keepsakes {
  /** 0 = none: the system gives one. */
  port(): number
  keepPort(port: number): void
  sessions(): StoredSession[]
  keepSessions(sessions: readonly StoredSession[]): void
}

const isStored = (value: unknown): value is StoredSession => {
  const { digest, until } = value as Partial<StoredSession>
  return typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest) && typeof until === 'number'
}

const read = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // not there, or not ours to understand: as at the first start
  }
}

const write = (path: string, value: unknown): void => {
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

export const createKeepsakes = (stateDir: string): Keepsakes => {
  const portFile = join(stateDir, 'port.json')
  const sessionsFile = join(stateDir, 'sessions.json')
  return {
    port: () => {
      const port = read(portFile)
      return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? Number(port) : 0
    },
    keepPort: (port) => write(portFile, port),
    sessions: () => {
      const found = read(sessionsFile)
      return Array.isArray(found)
        ? found.filter((value) => typeof value === 'object' && value !== null && isStored(value))
        : []
    },
    keepSessions: (sessions) => write(sessionsFile, sessions),
  }
}
