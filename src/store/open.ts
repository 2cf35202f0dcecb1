/**
 * Opens the store of one repository: a schema on the user's own server, or on the one that a database URL names. The choice is remembered in
 * the state folder: an engine started without the URL must not begin a second, empty store.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import { setAside } from '../platform/damaged-file.ts'
import { firstRow, type Db } from './db.ts'
import { checkSchema, migrate, hasStore } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import { embeddedLocation, type DatabaseLocation } from './postgres-location.ts'
import { exclusiveKey } from './postgres-session.ts'
import { serverOf, type DatabaseRole } from './server/embedded-server.ts'
import { embeddedMarkerPath, postgresMarkerPath } from './store-markers.ts'

/**
 * A store that was there and is not any more. An empty one in its place would forget goals, answers and budgets in silence, and start work
 * again that is finished, so a person begins it with `unstuck store new`.
 */
const lost = (what: string): AppError =>
  new AppError(
    'STORE_LOST',
    `the store of this repository is gone: ${what}. Its branches are untouched (git branch --list "*goal/g-*"). Put the database back from a backup, or begin a new store and have the work of its goal branches checked again: unstuck store rebuild (an empty one: unstuck store new). Nothing was changed`,
  )

interface StorePlace {
  stateDir: string
  location: DatabaseLocation
}

const wasThere = ({ stateDir, location }: StorePlace): boolean =>
  existsSync(location.server === undefined ? postgresMarkerPath(stateDir) : embeddedMarkerPath(stateDir))

/** Throws STORE_LOST where opening the store would make a new database. Call it before the server starts. */
const checkServerIsThere = (place: StorePlace): void => {
  const { server } = place.location
  if (server !== undefined && wasThere(place) && !server.hasData())
    throw lost(`the embedded PostgreSQL has no data in ${server.folder()}`)
}

/** Throws STORE_LOST where the database holds no store, although this repository had one there. */
const checkStoreIsThere = async (place: StorePlace, db: Db): Promise<void> => {
  if (wasThere(place) && !(await hasStore(db)))
    throw lost(`the database has no schema ${place.location.schema} with its tables`)
}

export interface StorePaths {
  /** `$UNSTUCK_HOME/<repo id>` */
  stateDir: string
  environment: NodeJS.ProcessEnv
  /** The server of `UNSTUCK_DATABASE_URL`; absent = the embedded server. */
  database?: DatabaseLocation | undefined
  /** Whether to try to become the leader among the engines that share the database. */
  mayLead?: boolean
  /** Called when another process changed the store. */
  onForeignChange?: (() => void) | undefined
}

/** The last version whose store was a folder of files in the state folder. */
const lastWithFolder = '0.1.0'

/** Refuses to begin an empty store where there is one already. */
const checkEmbedded = (stateDir: string): void => {
  const folder = join(stateDir, 'store')
  if (existsSync(join(folder, 'PG_VERSION')))
    throw new AppError(
      'STORE_VERSION',
      `the store of this repository was written by Unstuck ${lastWithFolder} (${folder}), which is the last version that reads it; finish its goals with that version, then move the folder away to begin an empty store (nothing was changed)`,
    )
  if (!existsSync(postgresMarkerPath(stateDir))) return
  throw new AppError(
    'CONFIG_INVALID',
    `the store of this repository is in PostgreSQL; set --database-url or UNSTUCK_DATABASE_URL (to start an empty embedded store instead, remove ${postgresMarkerPath(stateDir)})`,
  )
}

const ownLocation = ({ stateDir, environment }: StorePaths, role: DatabaseRole): DatabaseLocation => {
  checkEmbedded(stateDir)
  return embeddedLocation(serverOf({ home: dirname(stateDir), environment }), basename(stateDir), role)
}

/** Closes the store where what is done with it fails: its open connections would keep this process alive. */
export const orClose = async <T>(db: Db, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    await db.close()
    throw error
  }
}

const checked = (db: Db, check: (db: Db) => Promise<void>): Promise<Db> =>
  orClose(db, async () => {
    await check(db)
    return db
  })

/** One engine of a repository runs on a host; another host with the same database has a state folder of its own. */
const engineName = (stateDir: string): string =>
  createHash('sha256')
    .update(`${hostname()} ${realpathSync(stateDir)}`)
    .digest('hex')

/** Whether an engine of this state folder is connected to the store. */
const isEngineConnected = async (db: Db, schema: string, stateDir: string): Promise<boolean> =>
  (await firstRow(db, {
    text: `select 1 from pg_locks where locktype = 'advisory' and granted
      and ((classid::bigint << 32) | objid::bigint) = ${exclusiveKey} limit 1`,
    values: [schema, engineName(stateDir)],
  })) !== undefined

/**
 * Opens the store of a repository to read it, also while an engine runs: nothing is created, migrated or written.
 */
export const openForReading = async (paths: StorePaths): Promise<{ db: Db; isEngineGone: boolean }> => {
  const location = paths.database ?? ownLocation(paths, 'unstuck_reader')
  const place = { stateDir: paths.stateDir, location }
  checkServerIsThere(place)
  const db = await checked(await openPostgres({ location, reading: true }), async (opened) => {
    await checkStoreIsThere(place, opened)
    await checkSchema(opened)
  })
  // A shared database may have engines of other machines.
  const isEngineGone = location.server !== undefined && !(await isEngineConnected(db, location.schema, paths.stateDir))
  return { db, isEngineGone }
}

/**
 * Opens the store for an engine and updates its schema. Throws `STORE_LOCKED` if another engine of this state folder uses it, and
 * `STORE_LOST` if there was a store and is none any more.
 */
export const openStore = async (paths: StorePaths): Promise<Db> => {
  const { stateDir, database, mayLead = false, onForeignChange } = paths
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const location = database ?? ownLocation(paths, 'unstuck')
  const exclusive = engineName(stateDir)
  // On a server of the user's own this engine is the only one of the schema: it leads, and nobody else writes.
  const among = database === undefined ? {} : { mayLead, onForeignChange }
  checkServerIsThere({ stateDir, location })
  const marker = database === undefined ? embeddedMarkerPath(stateDir) : postgresMarkerPath(stateDir)
  return checked(await openPostgres({ location, exclusive, ...among }), async (opened) => {
    await checkStoreIsThere({ stateDir, location }, opened)
    await migrate(opened)
    // That it is there is all that counts, so damaged content changes nothing.
    if (statSync(marker, { throwIfNoEntry: false })?.isFile() === false) setAside(stateDir, marker)
    writeFileSync(marker, `schema ${location.schema}\n`, { mode: 0o600 })
  })
}
