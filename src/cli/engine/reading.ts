/** For commands that only read: they use the engine that runs; without one they open the store themselves, read, and start nothing. */
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { databaseOf } from '../../store/postgres-place.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Io } from '../io.ts'
import { createClient, type Client } from './client.ts'
import { checkStore, findEngine } from './connect.ts'
import { placeOf, requireStore, type Place } from './place.ts'

/** What holds the store for longer is no other reader and no engine that is starting. */
const patienceMs = 30_000
const pollMs = 50

export interface Reading {
  client: Client
  /** An engine answers, so there is something to follow. */
  live: boolean
}

const isLocked = (error: unknown): boolean => error instanceof AppError && error.code === 'STORE_LOCKED'

const busy = ({ repository }: Place, error: unknown): AppError =>
  new AppError(
    'STORE_LOCKED',
    `the store of ${repositoryName(repository)} is in use, and no engine answers there (${(error as Error).message}); try again in a moment`,
  )

const readStore = async <T>(io: Io, place: Place, work: (reading: Reading) => Promise<T>): Promise<T> => {
  const { openReader } = await import('../../api/reader.ts')
  const { environment, version } = io
  const reader = await openReader({ ...place, environment, version })
  try {
    return await work({ client: createClient(reader.url, reader.token, reader.send), live: false })
  } finally {
    await reader.close()
  }
}

/** Calls back with the API of this repository. The store is let go of when that ends, so a follower must not wait in it. */
export const reading = async <T>(io: Io, work: (reading: Reading) => Promise<T>): Promise<T> => {
  const place = await placeOf(io)
  for (const began = performance.now(); ; await delay(pollMs)) {
    const client = await findEngine(place)
    if (client !== undefined) {
      await checkStore(io, place, client)
      return work({ client, live: true })
    }
    // A database may hold what was run from another machine; it says itself whether there is anything.
    if (databaseOf(io.environment, place.repository.id) === undefined) requireStore(place)
    try {
      return await readStore(io, place, work)
    } catch (error) {
      if (!isLocked(error)) throw error
      if (performance.now() - began > patienceMs || io.signal.aborted) throw busy(place, error)
    }
  }
}
