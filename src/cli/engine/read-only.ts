/** Access for commands that only read: through the running engine, or by opening the store directly. No engine is started. */
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { configuredDatabase } from '../../store/postgres-location.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Io } from '../io.ts'
import { createClient, type Client } from './client.ts'
import { checkStore, findEngine } from './connect.ts'
import { homeOf, requireStore, type Home } from './home.ts'

/** Longest wait for the store. Other readers and an engine that is starting hold its lock for less. */
const lockWaitMs = 30_000
const pollMs = 50

export interface ReadOnlyClient {
  client: Client
  /** True if an engine is running, so that later events can be followed. */
  live: boolean
  /** True if no engine can be running: the store is in a file of this machine, and nothing but this command has it. */
  isEngineGone: boolean
}

const isLocked = (error: unknown): boolean => error instanceof AppError && error.code === 'STORE_LOCKED'

const busy = ({ repository }: Home, error: unknown): AppError =>
  new AppError(
    'STORE_LOCKED',
    `the store of ${repositoryName(repository)} is in use, but no engine is responding (${(error as Error).message}); try again in a moment`,
  )

const readStore = async <T>(io: Io, home: Home, work: (reading: ReadOnlyClient) => Promise<T>): Promise<T> => {
  const { openReader } = await import('../../api/reader.ts')
  const isEngineGone = configuredDatabase(io.environment, home.repository.id) === undefined
  const { environment, version } = io
  const reader = await openReader({ ...home, environment, version })
  try {
    return await work({ client: createClient(reader.url, reader.token, reader.send), live: false, isEngineGone })
  } finally {
    await reader.close()
  }
}

/** Calls `work` with the API of this repository. Without an engine the store stays locked until `work` ends, so `work` must not follow anything. */
export const readOnly = async <T>(io: Io, work: (reading: ReadOnlyClient) => Promise<T>): Promise<T> => {
  const home = await homeOf(io)
  for (const began = performance.now(); ; await delay(pollMs)) {
    const client = await findEngine(home)
    if (client !== undefined) {
      await checkStore(io, home, client)
      return work({ client, live: true, isEngineGone: false })
    }
    // A shared database may contain runs of other machines, so a missing local mark proves nothing.
    if (configuredDatabase(io.environment, home.repository.id) === undefined) requireStore(home)
    try {
      return await readStore(io, home, work)
    } catch (error) {
      if (!isLocked(error)) throw error
      if (performance.now() - began > lockWaitMs || io.signal.aborted) throw busy(home, error)
    }
  }
}
