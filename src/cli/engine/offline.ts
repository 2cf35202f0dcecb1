/** For doctor and report when no engine runs: opens the store itself, under the owner lock, and lets go of it at once. */
import { cacheDirOf, openStateDir } from '../../api/state-dir.ts'
import type { Db } from '../../store/db.ts'
import { databaseOf } from '../../store/postgres-place.ts'
import type { Repository } from '../../workspace/contract.ts'
import type { Shadow } from '../../workspace/shadow.ts'
import { requireStore, type Place } from './place.ts'
import type { Io } from '../io.ts'

export interface Offline {
  db: Db
  repository: Repository
  shadow: Shadow
  stateDir: string
}

export const withStore = async <T>(io: Io, place: Place, work: (offline: Offline) => Promise<T>): Promise<T> => {
  requireStore(place)
  const { repository, stateDir } = place
  openStateDir(stateDir)
  const { openStore } = await import('../../store/open.ts')
  const { openShadow } = await import('../../workspace/shadow.ts')
  const db = await openStore({
    stateDir,
    cacheDir: cacheDirOf(io.environment),
    database: databaseOf(io.environment, repository.id),
  })
  try {
    return await work({ db, repository, stateDir, shadow: await openShadow(stateDir, repository) })
  } finally {
    await db.close()
  }
}
