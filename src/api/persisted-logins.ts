/**
 * What a restarted engine restores, so that an open page keeps working: its port and the keys of its logins. Both are files of
 * the state folder, replaced by a rename. If one is missing or damaged, the engine takes a new port or asks for a new login.
 * Sessions are not stored, because they are sent with requests; a key is never sent, so it cannot have been intercepted.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { writingIn } from './state-dir.ts'

export interface StoredLogin {
  id: string
  /** 32 bytes as base64url. */
  key: string
  until: number
}

export interface PersistedLogins {
  /** 0 = none is stored: the system assigns one. */
  port(): number
  savePort(port: number): void
  logins(): StoredLogin[]
  saveLogins(logins: readonly StoredLogin[]): void
}

const secret = /^[\w-]{43}$/

const isStored = (value: unknown): value is StoredLogin => {
  const { id, key, until } = value as Partial<StoredLogin>
  const named = typeof id === 'string' && secret.test(id)
  return named && typeof key === 'string' && secret.test(key) && typeof until === 'number'
}

const read = (path: string): unknown => {
  try {
    return JSON.parse(readRegularTextSync(path))
  } catch {
    return undefined // missing or damaged: as on the first start
  }
}

const write = (path: string, value: unknown): void => {
  writingIn(dirname(path), () => {
    writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  })
}

export const openPersistedLogins = (stateDir: string): PersistedLogins => {
  const portFile = join(stateDir, 'port.json')
  const loginsFile = join(stateDir, 'sessions.json')
  return {
    port: () => {
      const port = read(portFile)
      return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? Number(port) : 0
    },
    savePort: (port) => write(portFile, port),
    logins: () => {
      const found = read(loginsFile)
      return Array.isArray(found)
        ? found.filter((value) => typeof value === 'object' && value !== null && isStored(value))
        : []
    },
    saveLogins: (logins) => write(loginsFile, logins),
  }
}
