/**
 * Opens the store of one repository: owner lock first, then the data, then the migrations. Without a database it is the
 * embedded one. The choice is remembered beside it: an engine that starts without the URL must not begin a second, empty
 * store.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import type { Db } from './db.ts'
import { takeOwnerLock } from './lock.ts'
import { migrate } from './migrate.ts'
import { openPglite, type PgliteDb } from './pglite.ts'
import type { DatabasePlace } from './postgres-place.ts'
import { loadTemplate } from './template.ts'

export interface StorePaths {
  /** `$UNSTUCK_HOME/<repo id>` */
  stateDir: string
  cacheDir: string
  /** PostgreSQL instead of the embedded store; absent = embedded. */
  database?: DatabasePlace | undefined
  /** Whether to seek the lead of those that share the database. */
  lead?: boolean
  /** Rung when somebody else changed the store (PostgreSQL). */
  changed?: (() => void) | undefined
}

export const lockPathOf = (stateDir: string): string => join(stateDir, 'store.lock')

/**
 * A first start loads the template and says so in a file beside the data when it is complete: data without that file is
 * what a kill in between left, and is made anew.
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

/** Says that the store lies in PostgreSQL; holds no URL. */
export const markOf = (stateDir: string): string => join(stateDir, 'store.postgres')

const openDatabase = async ({ stateDir, database, lead = false, changed }: StorePaths): Promise<Db | undefined> => {
  if (database === undefined) {
    if (!existsSync(markOf(stateDir))) return undefined
    throw new AppError(
      'CONFIG_INVALID',
      `the store of this repository lies in PostgreSQL; give --database-url or UNSTUCK_DATABASE_URL (to begin an embedded one instead, remove ${markOf(stateDir)})`,
    )
  }
  const { openPostgres } = await import('./postgres.ts')
  const db = await openPostgres({ place: database, lead, changed })
  writeFileSync(markOf(stateDir), `schema ${database.schema}\n`, { mode: 0o600 })
  return db
}

export const openStore = async (paths: StorePaths): Promise<Db> => {
  const { stateDir, cacheDir } = paths
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const lock = takeOwnerLock(lockPathOf(stateDir))
  try {
    const db = (await openDatabase(paths)) ?? (await openData(stateDir, cacheDir))
    try {
      await migrate(db)
    } catch (error) {
      // Its thread would keep the process alive, and hold the data after the lock was released.
      await db.close()
      throw error
    }
    return {
      ...db,
      close: async () => {
        await db.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}
