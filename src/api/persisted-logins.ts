/**
 * What a restarted engine restores, so that an open page keeps working: its port and the keys of its logins. Both are files of
 * the state folder. If one is missing or damaged, the engine takes a new port or asks for a new login.
 * Sessions are not stored, because they are sent with requests; a key is never sent, so it cannot have been intercepted.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDamage, setAside } from '../platform/damaged-file.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { replaceStateFile } from './state-dir.ts'

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
  if (typeof value !== 'object' || value === null) return false
  const { id, key, until } = value as Partial<StoredLogin>
  const named = typeof id === 'string' && secret.test(id)
  return named && typeof key === 'string' && secret.test(key) && typeof until === 'number'
}

const areStored = (value: unknown): value is StoredLogin[] => Array.isArray(value) && value.every(isStored)

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 65_536

/** Undefined = there is none, or it was damaged and moved aside. */
const read = <T>(stateDir: string, name: string, accepts: (value: unknown) => value is T): T | undefined => {
  const path = join(stateDir, name)
  if (!existsSync(path)) return undefined
  try {
    const value: unknown = JSON.parse(readRegularTextSync(path))
    if (accepts(value)) return value
  } catch (error) {
    if (!isDamage(error)) return undefined // it is written anew in any case
  }
  setAside(stateDir, path)
  return undefined
}

export const openPersistedLogins = (stateDir: string): PersistedLogins => ({
  port: () => read(stateDir, 'port.json', isPort) ?? 0,
  savePort: (port) => replaceStateFile(stateDir, 'port.json', JSON.stringify(port)),
  logins: () => read(stateDir, 'sessions.json', areStored) ?? [],
  saveLogins: (logins) => replaceStateFile(stateDir, 'sessions.json', JSON.stringify(logins)),
})
