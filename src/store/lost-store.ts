/**
 * A store that was there and is not any more. An empty one in its place would forget goals, answers and budgets in silence, and start work
 * again that is finished, so a person begins it with `unstuck store new`.
 */
import { existsSync } from 'node:fs'
import { AppError } from '../errors.ts'
import type { Db } from './db.ts'
import { hasStore } from './migrate.ts'
import type { DatabaseLocation } from './postgres-location.ts'
import { embeddedMarkerPath, postgresMarkerPath } from './store-markers.ts'

const lost = (what: string): AppError =>
  new AppError(
    'STORE_LOST',
    `the store of this repository is gone: ${what}. Its branches are untouched (git branch --list "*goal/g-*"). Put the database back from a backup, or begin a new store and have the work of its goal branches checked again: unstuck store rebuild (an empty one: unstuck store new). Nothing was changed`,
  )

export interface StorePlace {
  stateDir: string
  location: DatabaseLocation
}

const wasThere = ({ stateDir, location }: StorePlace): boolean =>
  existsSync(location.server === undefined ? postgresMarkerPath(stateDir) : embeddedMarkerPath(stateDir))

/** Throws STORE_LOST where opening the store would make a new database. Call it before the server starts. */
export const checkServerIsThere = (place: StorePlace): void => {
  const { server } = place.location
  if (server !== undefined && wasThere(place) && !server.hasData())
    throw lost(`the embedded PostgreSQL has no data in ${server.folder()}`)
}

/** Throws STORE_LOST where the database holds no store, although this repository had one there. */
export const checkStoreIsThere = async (place: StorePlace, db: Db): Promise<void> => {
  if (wasThere(place) && !(await hasStore(db)))
    throw lost(`the database has no schema ${place.location.schema} with its tables`)
}
