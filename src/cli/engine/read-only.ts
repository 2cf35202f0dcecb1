/** Access for commands that only read: through the running engine, or by opening the store directly. No engine is started. */
import { dirname } from 'node:path'
import { requireRoom } from '../../api/full-disk.ts'
import { giveUpReserve } from '../../platform/disk-reserve.ts'
import { configuredDatabase } from '../../store/postgres-location.ts'
import type { Io } from '../io.ts'
import { createClient, type Client } from './client.ts'
import { checkStore, findEngine } from './connect.ts'
import { homeOf, requireStore, type Home } from './home.ts'

export interface ReadOnlyClient {
  client: Client
  /** True if an engine is running, so that later events can be followed. */
  live: boolean
  /** True if no engine can be running: the store is on this user's server, and no engine of the repository is connected. */
  isEngineGone: boolean
}

const readStore = async <T>(io: Io, home: Home, work: (reading: ReadOnlyClient) => Promise<T>): Promise<T> => {
  giveUpReserve(dirname(home.stateDir))
  const { openReader } = await import('../../api/reader.ts')
  const { environment, version } = io
  const reader = await openReader({ ...home, environment, version }).catch(async (error: unknown) => {
    // The server of the store does not start on a full disk, whatever its own words for that are.
    await requireRoom(home.stateDir)
    throw error
  })
  const { isEngineGone } = reader
  try {
    return await work({ client: createClient(reader.url, reader.token, reader.send), live: false, isEngineGone })
  } finally {
    await reader.close()
  }
}

/** Calls `work` with the API of this repository. Without an engine, `work` must not follow events, because no new ones arrive. */
export const readOnly = async <T>(io: Io, work: (reading: ReadOnlyClient) => Promise<T>): Promise<T> => {
  const home = await homeOf(io)
  const client = await findEngine(home)
  if (client !== undefined) {
    await checkStore(io, home, client)
    return work({ client, live: true, isEngineGone: false })
  }
  // A shared database may contain runs of other machines, so a missing local mark proves nothing.
  if (configuredDatabase(io.environment, home.repository.id) === undefined) requireStore(home)
  return readStore(io, home, work)
}
