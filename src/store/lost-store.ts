/**
 * A store that was there and is not any more. An empty one in its place would forget goals, answers and budgets in silence, and start work
 * again that is finished, so a person begins it with `unstuck store new`.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { firstRow, sql, type Db } from './db.ts'
import type { DatabaseLocation } from './postgres-location.ts'

/** The file that records that the store is on the user's own server. */
export const embeddedMarkerPath = (stateDir: string): string => join(stateDir, 'store.complete')

/** The file that records that the store is on another server; it contains no URL. */
export const postgresMarkerPath = (stateDir: string): string => join(stateDir, 'store.postgres')

/** The files are written when a store was opened, so each is a proof that there was one. */
const markers = [embeddedMarkerPath, postgresMarkerPath]

export const forgetStore = (stateDir: string): void => {
  for (const marker of markers) rmSync(marker(stateDir), { force: true })
}

const lost = (what: string): AppError =>
  new AppError(
    'STORE_LOST',
    `the store of this repository is gone: ${what}. Its branches are untouched (git branch --list "unstuck/*"). Put the database back from a backup, or begin an empty store: unstuck store new (nothing was changed)`,
  )

export interface StorePlace {
  stateDir: string
  location: DatabaseLocation
}

const wasThere = ({ stateDir, location }: StorePlace): boolean =>
  existsSync(location.server === undefined ? postgresMarkerPath(stateDir) : embeddedMarkerPath(stateDir))

/** Throws STORE_LOST where opening the store would begin a new database. Call it before the server starts. */
export const checkServerIsThere = (place: StorePlace): void => {
  const { server } = place.location
  if (server !== undefined && wasThere(place) && server.url('unstuck') === undefined)
    throw lost(`the embedded PostgreSQL has no data in ${server.folder()}`)
}

/** Throws STORE_LOST where the database holds no store, although this repository had one there. */
export const checkStoreIsThere = async (place: StorePlace, db: Db): Promise<void> => {
  if (!wasThere(place)) return
  const { found } = (await firstRow<{ found: boolean }>(
    db,
    sql`select to_regclass('migration') is not null as found`,
  )) ?? {
    found: false,
  }
  if (!found) throw lost(`the database has no schema ${place.location.schema} with its tables`)
}
