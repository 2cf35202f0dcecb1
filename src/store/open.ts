/**
 * Opens the store of one repository: first the owner lock, then the data, then the migrations. Without a database URL
 * it is the embedded store. The choice is remembered in the state folder: an engine started without the URL must not
 * begin a second, empty store.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import type { Db } from './db.ts'
import { ownerOf, takeOwnerLock, type OwnerLock } from './lock.ts'
import { checkSchema, migrate } from './migrate.ts'
import { openPglite, type PgliteDb } from './pglite.ts'
import type { DatabaseLocation } from './postgres-location.ts'
import { loadTemplate } from './template.ts'

export interface StorePaths {
  /** `$UNSTUCK_HOME/<repo id>` */
  stateDir: string
  cacheDir: string
  /** PostgreSQL instead of the embedded store; absent = embedded. */
  database?: DatabaseLocation | undefined
  /** Whether to try to become the leader among the engines that share the database. */
  mayLead?: boolean
  /** Called when another process changed the store (PostgreSQL). */
  onForeignChange?: (() => void) | undefined
}

export const lockPathOf = (stateDir: string): string => join(stateDir, 'store.lock')

/**
 * A first start loads the template and then writes a file next to the data. Data without that file was left by a kill
 * in between and is made from scratch.
 */
const openData = async (stateDir: string, cacheDir: string): Promise<PgliteDb> => {
  const dataDir = join(stateDir, 'store')
  const complete = join(stateDir, 'store.complete')
  if (existsSync(complete)) return openPglite({ dataDir })
  rmSync(dataDir, { recursive: true, force: true })
  const db = await openPglite({ dataDir, template: await loadTemplate(cacheDir) })
  writeFileSync(complete, '')
  return db
}

/** The file that records that the store is in PostgreSQL; it contains no URL. */
export const postgresMarkerPath = (stateDir: string): string => join(stateDir, 'store.postgres')

/** Refuses to open an embedded store for a repository whose store is in PostgreSQL. */
const checkEmbedded = (stateDir: string): void => {
  if (!existsSync(postgresMarkerPath(stateDir))) return
  throw new AppError(
    'CONFIG_INVALID',
    `the store of this repository is in PostgreSQL; set --database-url or UNSTUCK_DATABASE_URL (to start an empty embedded store instead, remove ${postgresMarkerPath(stateDir)})`,
  )
}

const openDatabase = async ({
  stateDir,
  database,
  mayLead = false,
  onForeignChange,
}: StorePaths): Promise<Db | undefined> => {
  if (database === undefined) {
    checkEmbedded(stateDir)
    return undefined
  }
  const { openPostgres } = await import('./postgres.ts')
  const db = await openPostgres({ location: database, mayLead, onForeignChange })
  writeFileSync(postgresMarkerPath(stateDir), `schema ${database.schema}\n`, { mode: 0o600 })
  return db
}

/** Milliseconds; a command that only reads holds the lock for seconds at most. */
const readerMs = 30_000

/** Whether a command that only reads has the lock, or had it a moment ago. Any other error stays one, however often it is tried. */
const isLockOfReader = (error: unknown, path: string): boolean => {
  if (!(error instanceof AppError) || error.code !== 'STORE_LOCKED') return false
  const owner = ownerOf(path)
  return owner === undefined || (owner.liveness === 'alive' && owner.holder.reading === true)
}

/**
 * An engine that starts while a command reads waits for it, instead of taking it for another engine. The command may also be faster at
 * the lock of an engine that was killed.
 */
export const lockForEngine = async (path: string, take = takeOwnerLock): Promise<OwnerLock> => {
  for (const began = performance.now(); performance.now() - began < readerMs; await delay(20)) {
    try {
      return take(path)
    } catch (error) {
      if (!isLockOfReader(error, path)) throw error
    }
  }
  return take(path)
}

const checked = async (db: Db, check: (db: Db) => Promise<void>): Promise<Db> => {
  try {
    await check(db)
    return db
  } catch (error) {
    // The database process would keep this one alive, and keep using the data after the lock was released.
    await db.close()
    throw error
  }
}

const withLock = (db: Db, lock: OwnerLock): Db => ({
  ...db,
  close: async () => {
    await db.close()
    lock.release()
  },
})

const readOnly = 'set session characteristics as transaction read only'

/**
 * Opens the store of a repository without a running engine, to read it: nothing is created, migrated or written. A
 * database needs no owner lock, because it allows many readers.
 */
export const openForReading = async ({
  stateDir,
  database,
}: Pick<StorePaths, 'stateDir' | 'database'>): Promise<Db> => {
  if (database !== undefined) {
    const { openPostgres } = await import('./postgres.ts')
    return checked(await openPostgres({ location: database, reading: true }), checkSchema)
  }
  checkEmbedded(stateDir)
  const lock = takeOwnerLock(lockPathOf(stateDir), true)
  try {
    const db = await openPglite({ dataDir: join(stateDir, 'store') })
    await checked(db, async () => {
      await db.script(readOnly)
      await checkSchema(db)
    })
    return withLock(db, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Opens the store for an engine and updates its schema. Throws `STORE_LOCKED` if another process owns it. */
export const openStore = async (paths: StorePaths): Promise<Db> => {
  const { stateDir, cacheDir } = paths
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const lock = await lockForEngine(lockPathOf(stateDir))
  try {
    const db = (await openDatabase(paths)) ?? (await openData(stateDir, cacheDir))
    return withLock(await checked(db, migrate), lock)
  } catch (error) {
    lock.release()
    throw error
  }
}
